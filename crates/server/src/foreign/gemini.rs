//! Gemini's `generateContent` and `streamGenerateContent`. A `continuationToken` goes on with the turn that it names.

use axum::extract::{Path, Request, State};
use axum::response::Response;
use riverrun_dialect::gemini::{read_token, request::decode};
use riverrun_dialect::request::Failure;
use riverrun_dialect::{Answer, Dialect};

use super::start::{Place, Started, find, finished, ids, start, stream_from, told};
use super::{Asking, Refusal, call, enter, json};
use crate::app::App;
use crate::edge::Scope;

const DIALECT: Dialect = Dialect::Gemini;

/// `POST /v1/models/MODEL:generateContent`, `…:streamGenerateContent`.
pub async fn generate(State(app): State<App>, Path(path): Path<String>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Write, request, async |asking| serve(&app, &path, asking).await).await
}

async fn serve(app: &App, path: &str, asking: Asking) -> Result<Response, Refusal> {
    let (model, is_stream) = asked(path)?;
    let call = decode(model, is_stream, &asking.body)?;
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
            let mut submit = call::routed(app, &call, DIALECT, &asking.headers)?;
            let named = ids(caller, DIALECT.name(), &asking.headers)?;
            submit.turn_id = named.as_ref().map(|(_, turn)| turn.clone());
            let (started, _) = start(app, caller, named.map(|(session, _)| session), submit).await?;
            (started, Place::Start)
        }
    };
    if is_stream {
        return Ok(stream_from(app, caller, &started, DIALECT, place).await?);
    }
    finished(app, caller, &started).await?;
    whole(app, &started).await
}

async fn whole(app: &App, started: &Started) -> Result<Response, Refusal> {
    match told(app, started, DIALECT).await? {
        Answer::Whole(body) | Answer::Open(body) => Ok(json(body)),
        Answer::Failed(failure) => Err(failure.into()),
        Answer::None => Err(Failure::new(500, "internal", "the turn ended without an answer").into()),
    }
}

/// The model, and whether a stream is asked for.
fn asked(path: &str) -> Result<(&str, bool), Failure> {
    match path.rsplit_once(':') {
        Some((model, "streamGenerateContent")) => Ok((model, true)),
        Some((model, "generateContent")) => Ok((model, false)),
        Some(_) | None => {
            let message = "only `:generateContent` and `:streamGenerateContent` are served here";
            Err(Failure::new(404, "not_found", message))
        }
    }
}

fn lost_token(why: &str) -> Refusal {
    let message = format!("`continuationToken` cannot be gone on with: {why}; send the request without it");
    Failure::new(400, "invalid_continuation_token", message).param("continuationToken").into()
}
