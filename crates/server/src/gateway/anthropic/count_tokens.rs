//! `POST /v1/messages/count_tokens`: the service counts, and nobody else knows.

use axum::extract::{Request, State};
use axum::response::Response;
use http::HeaderMap;
use riverrun_dialect::request::RequestFailure;
use riverrun_dialect::{Dialect, anthropic, responses};

use crate::app::App;
use crate::edge::Scope;
use crate::gateway::{Refusal, enter, json, model_call};

pub async fn count(State(app): State<App>, request: Request) -> Response {
    enter(&app, Dialect::Anthropic, Scope::Write, request, async |asking| {
        answer(&app, &asking.body, &asking.headers).await
    })
    .await
}

/// Nothing is recorded: there is no turn. The service's own answer goes through, and its refusal too.
async fn answer(app: &App, body: &[u8], headers: &HeaderMap) -> Result<Response, Refusal> {
    let (name, members) = anthropic::request::decode_count(body)?;
    app.agents().check(&name)?;
    let verbatim = model_call::verbatim(&members, Dialect::Anthropic, headers);
    match app.agents().registry.count_tokens(&name, Dialect::Anthropic.name(), verbatim).await {
        Some(Ok(counted)) => Ok(json(counted.get().to_owned())),
        Some(Err(error)) => Err(responses::error::failure_of(&error).into()),
        None => Err(not_countable(&name)),
    }
}

fn not_countable(name: &str) -> Refusal {
    let shown: String = name.chars().take(80).filter(|c| !c.is_control()).collect();
    let message = format!(
        "the tokens for `{shown}` cannot be counted: only a model of a service that speaks Anthropic's Messages can \
         be asked (`PROVIDER/MODEL`); the usage of an answer has its tokens"
    );
    RequestFailure::new(400, "unsupported_value", message).param("model").into()
}
