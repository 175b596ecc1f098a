//! `GET /v1/models`: what can be asked for. OpenAI's, Anthropic's and Google's clients all ask at this address; a
//! header says which of them it is.

use axum::extract::{Path, Request, State};
use axum::response::Response;
use http::HeaderMap;
use riverrun_dialect::request::RequestFailure;
use riverrun_dialect::responses::models::{OpenAiModel, model, models};
use riverrun_dialect::{Dialect, anthropic};

use super::{enter, gemini, json};
use crate::app::App;
use crate::edge::{Params, Scope};

pub async fn list(State(app): State<App>, request: Request) -> Response {
    if is_google(&request) {
        return gemini::list(State(app), request).await;
    }
    let dialect = asked_in(request.headers());
    enter(&app, dialect, Scope::Read, request, async |asking| {
        let names = app.agents().models();
        if dialect == Dialect::Anthropic {
            let params = Params::parse(asking.query.as_deref(), &["limit", "after_id", "before_id"])?;
            let page = anthropic::models::ModelPageQuery {
                limit: params.limit(
                    "limit",
                    anthropic::models::ModelPageQuery::DEFAULT,
                    anthropic::models::ModelPageQuery::MOST,
                )?,
                after: params.get("after_id").map(str::to_owned),
                before: params.get("before_id").map(str::to_owned),
            };
            return Ok(json(anthropic::models::models(&names, &page)?));
        }
        let all: Vec<OpenAiModel<'_>> = names.iter().map(|name| described(name)).collect();
        Ok(json(models(&all)))
    })
    .await
}

pub async fn one(State(app): State<App>, Path(name): Path<String>, request: Request) -> Response {
    if is_google(&request) {
        return gemini::one(State(app), Path(name), request).await;
    }
    let dialect = asked_in(request.headers());
    enter(&app, dialect, Scope::Read, request, async |_| {
        require(&app, &name)?;
        Ok(json(match dialect {
            Dialect::Anthropic => anthropic::models::model(&name),
            _ => model(&described(&name)),
        }))
    })
    .await
}

fn asked_in(headers: &HeaderMap) -> Dialect {
    if headers.contains_key("anthropic-version") { Dialect::Anthropic } else { Dialect::Responses }
}

fn is_google(request: &Request) -> bool {
    ["x-goog-api-key", "x-goog-api-client"].iter().any(|name| request.headers().contains_key(*name))
}

/// 404 if no such model can be asked for. A gateway takes every name behind its provider's, and a route every name that
/// begins as it says; the list has those that are known.
pub(super) fn require(app: &App, name: &str) -> Result<(), RequestFailure> {
    let names = app.agents().models();
    if names.iter().any(|known| known == name) || is_open(app, name) && app.agents().check(name).is_ok() {
        return Ok(());
    }
    let shown: String = name.chars().take(80).collect();
    let message = format!("The model '{shown}' does not exist; there are: {}", names.join(", "));
    Err(RequestFailure::new(404, "model_not_found", message).param("model"))
}

/// True for a name that is served without being listed.
fn is_open(app: &App, name: &str) -> bool {
    name.contains('/') || !app.agents().registry.agents.contains_key(name)
}

fn described(name: &str) -> OpenAiModel<'_> {
    let owner = name.split_once('/').map_or("riverrun", |(owner, _)| owner);
    OpenAiModel { id: name, created: 0, owned_by: owner }
}
