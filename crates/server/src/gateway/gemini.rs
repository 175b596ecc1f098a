//! Gemini's `generateContent`, `streamGenerateContent` and `countTokens`, and its list of models. A
//! `continuationToken` goes on with the turn that it names.

use axum::extract::{Path, Request, State};
use axum::response::Response;
use riverrun_dialect::gemini::models::{GeminiModel, model, models};
use riverrun_dialect::gemini::{read_token, request};
use riverrun_dialect::request::RequestFailure;
use riverrun_dialect::{Dialect, WholeAnswer, responses};

use super::turn::{Place, Started, find, finished, ids, start, stream_from, told};
use super::{Asking, Refusal, enter, first_frames, json, model_call};
use crate::app::App;
use crate::edge::{Params, Scope};
use crate::gateway::models::require;

const DIALECT: Dialect = Dialect::Gemini;

/// As many as the API gives to a client that names no number, and as many as it gives at most.
const PAGE: (usize, usize) = (50, 1000);

/// `GET /v1beta/models`, and `/v1/models` of Google's clients. A page goes on behind the model that its token names.
pub async fn list(State(app): State<App>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Read, request, async |asking| {
        let params = Params::parse(asking.query.as_deref(), &["pageSize", "pageToken"])?;
        let limit = params.limit("pageSize", PAGE.0, PAGE.1)?;
        let names = app.agents().models();
        let from = match params.get("pageToken").filter(|token| !token.is_empty()) {
            None => 0,
            Some(token) => 1 + names.iter().position(|name| name == token).ok_or_else(lost_page)?,
        };
        let rest = &names[from..];
        let page = &rest[..rest.len().min(limit)];
        let next = page.last().filter(|_| page.len() < rest.len());
        let page: Vec<GeminiModel<'_>> = page.iter().map(|name| described(&app, name)).collect();
        Ok(json(models(&page, next.map(String::as_str))))
    })
    .await
}

/// `GET /v1beta/models/MODEL`.
pub async fn one(State(app): State<App>, Path(name): Path<String>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Read, request, async |_| {
        require(&app, &name)?;
        Ok(json(model(&described(&app, &name))))
    })
    .await
}

fn described<'a>(app: &App, name: &'a str) -> GeminiModel<'a> {
    GeminiModel { id: name, counts: model_call::service(app, name) == Some(DIALECT.name()) }
}

/// `POST /v1/models/MODEL:generateContent`, `…:streamGenerateContent`, `…:countTokens`.
pub async fn generate(State(app): State<App>, Path(path): Path<String>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Write, request, async |asking| match path.rsplit_once(':') {
        Some((model, "streamGenerateContent")) => serve(&app, model, true, asking).await,
        Some((model, "generateContent")) => serve(&app, model, false, asking).await,
        Some((model, "countTokens")) => count(&app, model, &asking).await,
        Some(_) | None => {
            let message =
                "only `:generateContent`, `:streamGenerateContent` and `:countTokens` are served here";
            Err(RequestFailure::new(404, "not_found", message).into())
        }
    })
    .await
}

/// A count is its service's own, or there is none: a guess would be taken for one.
async fn count(app: &App, model: &str, asking: &Asking) -> Result<Response, Refusal> {
    require(app, model)?;
    if model_call::service(app, model) != Some(DIALECT.name()) {
        let message = format!(
            "the tokens of `{model}` cannot be counted here: only a service that speaks Gemini's API counts them; \
             what a turn used is in `usageMetadata` of its answer"
        );
        return Err(RequestFailure::new(501, "not_provided", message).into());
    }
    let theirs = model_call::model_name(app, model).unwrap_or_default();
    let body = request::decode_count(&theirs, &asking.body)?;
    match app.agents().registry.count_tokens(model, DIALECT.name(), body).await {
        Some(Ok(counted)) => Ok(json(counted.get().to_owned())),
        Some(Err(error)) => Err(responses::error::failure_of(&error).into()),
        None => Err(RequestFailure::new(501, "not_provided", "this service counts no tokens").into()),
    }
}

async fn serve(app: &App, model: &str, is_stream: bool, asking: Asking) -> Result<Response, Refusal> {
    let call = request::decode(model, is_stream, &asking.body)?;
    let caller = &asking.caller;
    let (started, place) = match call.continuation.as_deref() {
        Some(token) => {
            let (turn, cursor) = read_token(token).ok_or_else(|| lost_token("it is none of ours"))?;
            let started =
                find(app, caller, &turn).await.map_err(|problem| match problem.code().http_status() {
                    404 => lost_token("its turn is not here"),
                    _ => problem.into(),
                })?;
            (started, Place::Behind(cursor))
        }
        None => {
            let mut submit = model_call::routed(app, &call, DIALECT, &asking.headers)?;
            let named = ids(caller, DIALECT.name(), &asking.headers)?;
            submit.turn_id = named.as_ref().map(|(_, turn)| turn.clone());
            let (started, _) = start(app, caller, named.map(|(session, _)| session), submit).await?;
            (started, Place::Start)
        }
    };
    if is_stream && matches!(place, Place::Start) && model_call::is_service(app, model) {
        return first_frames::stream_or_refuse(app, caller, &started, DIALECT).await;
    }
    if is_stream {
        return Ok(stream_from(app, caller, &started, DIALECT, place).await?);
    }
    finished(app, caller, &started).await?;
    whole(app, &started).await
}

async fn whole(app: &App, started: &Started) -> Result<Response, Refusal> {
    match told(app, started, DIALECT).await? {
        WholeAnswer::Whole(body) | WholeAnswer::Open(body) => Ok(json(body)),
        WholeAnswer::Failed(failure) => Err(failure.into()),
        WholeAnswer::None => {
            Err(RequestFailure::new(500, "internal", "the turn ended without an answer").into())
        }
    }
}

fn lost_page() -> RequestFailure {
    let message = "`pageToken` names no place in this list; begin again without it";
    RequestFailure::new(400, "invalid_value", message).param("pageToken")
}

fn lost_token(why: &str) -> Refusal {
    let message = format!("`continuationToken` cannot be gone on with: {why}; send the request without it");
    RequestFailure::new(400, "invalid_continuation_token", message).param("continuationToken").into()
}
