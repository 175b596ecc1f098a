//! Chat Completions and Messages: the caller brings the conversation with each request, and a session holds one turn.

use axum::extract::{Request, State};
use axum::response::Response;
use riverrun_dialect::request::{ModelCall, RequestFailure};
use riverrun_dialect::{Dialect, WholeAnswer, anthropic, chat};
use riverrun_log::seeded::{self, Bug};

use super::anthropic::message_threads;
use super::turn::{Seen, finished, ids, start, stream, told};
use super::{Asking, Refusal, enter, first_frames, json, model_call};
use crate::app::App;
use crate::edge::Scope;

pub async fn chat(State(app): State<App>, request: Request) -> Response {
    let decode = chat::request::decode;
    enter(&app, Dialect::Chat, Scope::Write, request, async |asking| {
        serve(&app, asking, Dialect::Chat, decode).await
    })
    .await
}

pub async fn messages(State(app): State<App>, request: Request) -> Response {
    let decode = anthropic::request::decode;
    enter(&app, Dialect::Anthropic, Scope::Write, request, async |asking| {
        serve(&app, asking, Dialect::Anthropic, decode).await
    })
    .await
}

async fn serve(
    app: &App,
    asking: Asking,
    dialect: Dialect,
    decode: fn(&[u8]) -> Result<ModelCall, RequestFailure>,
) -> Result<Response, Refusal> {
    let call = decode(&asking.body)?;
    let caller = &asking.caller;
    let named = ids(caller, dialect.name(), &asking.headers)?;
    let (is_stream, is_service) = (call.stream, model_call::is_service(app, &call.model));
    let thread = call.thread.clone().filter(|_| !seeded::is_on(Bug::ThreadDropped));
    let started = match thread {
        Some(thread) => message_threads::submit(app, caller, call, &thread, &asking.headers, named).await?,
        None => {
            let mut submit = model_call::routed(app, &call, dialect, &asking.headers)?;
            submit.turn_id = named.as_ref().map(|(_, turn)| turn.clone());
            start(app, caller, named.map(|(session, _)| session), submit).await?.0
        }
    };
    if is_stream && is_service {
        return first_frames::stream_or_refuse(app, caller, &started, dialect).await;
    }
    if is_stream {
        return Ok(stream(app, caller, &started, dialect, Seen::default()).await?);
    }
    finished(app, caller, &started).await?;
    match told(app, &started, dialect).await? {
        WholeAnswer::Whole(body) | WholeAnswer::Open(body) => Ok(json(body)),
        WholeAnswer::Failed(failure) => Err(failure.into()),
        WholeAnswer::None => {
            Err(RequestFailure::new(500, "internal", "the turn ended without an answer").into())
        }
    }
}
