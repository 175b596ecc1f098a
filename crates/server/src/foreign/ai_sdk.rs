//! The chat transport of Vercel's AI SDK: messages, approvals inside them, reconnecting, stopping.

use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use riverrun_dialect::Dialect;
use riverrun_dialect::ai_sdk::request::{ChatRequest, Trigger, decode};
use riverrun_fold::Turn;
use riverrun_log::SessionKey;
use riverrun_runner::{Busy, CancelMode, Decision, Submit};

use super::chat_agent::{chosen, session_of};
use super::decisions::{Answer, decide_all};
use super::start::{Seen, Started, start, stream};
use super::{Asking, Refusal, enter, json};
use crate::app::App;
use crate::deliver::CatchUp;
use crate::edge::{Caller, Scope, not_found};
use crate::runner::Asked;

const DIALECT: Dialect = Dialect::AiSdk;

pub async fn send(State(app): State<App>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Write, request, async |asking| serve(&app, asking).await).await
}

async fn serve(app: &App, asking: Asking) -> Result<Response, Refusal> {
    let chat = decode(&asking.body)?;
    let caller = &asking.caller;
    let key = SessionKey::new(caller.tenant().clone(), session_of(&chat.id));
    caller.require_session(&key.session)?;
    if !chat.approvals().is_empty() {
        return go_on(app, caller, &key, &chat).await;
    }
    if chat.trigger == Trigger::Regenerate
        && let Some(last) = last_turn(app, &key, |turn| turn.status.is_terminal()).await?
    {
        let again = app.answered(Asked::Retry, app.runner().retry(&key, &last.turn, None).await)?;
        let seen = Seen { event: Some(again.first.previous()), ..Seen::default() };
        return Ok(stream(app, caller, &last, DIALECT, seen).await?);
    }
    let (started, _) = start(app, caller, Some(key.session), submit(app, &chat)).await?;
    Ok(stream(app, caller, &started, DIALECT, Seen::default()).await?)
}

fn submit(app: &App, chat: &ChatRequest) -> Submit {
    let member = |name: &str| chat.extra.iter().find(|(known, _)| known == name).map(|(_, raw)| raw);
    Submit {
        agent: chosen(app, member),
        input: Some(chat.turn_input()),
        // Who writes on while an answer or a question stands open has moved on.
        busy: Busy::Interrupt,
        source: Some(DIALECT.name().to_owned()),
        ..Submit::default()
    }
}

/// The answers to approvals come inside the last message; the same message goes on.
async fn go_on(
    app: &App,
    caller: &Caller,
    key: &SessionKey,
    chat: &ChatRequest,
) -> Result<Response, Refusal> {
    let answers = chat.approvals().iter().map(|approval| Answer {
        action: approval.id.clone(),
        decision: if approval.approved { Decision::Approve } else { Decision::Reject },
        message: approval.reason.clone(),
    });
    let resumed = decide_all(app, caller, key, answers.collect()).await?;
    let hub = app.hubs().get(key).await?.ok_or_else(not_found)?;
    let started = Started { hub, turn: resumed.turn };
    let seen = Seen { event: Some(resumed.before), ..Seen::default() };
    Ok(stream(app, caller, &started, DIALECT, seen).await?)
}

/// The whole message so far and what comes; 204 if no turn is open.
pub async fn reconnect(State(app): State<App>, Path(chat): Path<String>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Read, request, async |asking| {
        let key = SessionKey::new(asking.caller.tenant().clone(), session_of(&chat));
        asking.caller.require_session(&key.session)?;
        match last_turn(&app, &key, |turn| !turn.status.is_terminal()).await? {
            // A replay would end where the turn once waited for a decision.
            Some(open) => {
                let seen = Seen { catch_up: CatchUp::Snapshot, ..Seen::default() };
                Ok(stream(&app, &asking.caller, &open, DIALECT, seen).await?)
            }
            None => Ok(StatusCode::NO_CONTENT.into_response()),
        }
    })
    .await
}

/// Cancels the open turn; it is no error that there is none.
pub async fn stop(State(app): State<App>, Path(chat): Path<String>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Write, request, async |asking| {
        let key = SessionKey::new(asking.caller.tenant().clone(), session_of(&chat));
        asking.caller.require_session(&key.session)?;
        let Some(open) = last_turn(&app, &key, |turn| !turn.status.is_terminal()).await? else {
            return Ok(json("{\"stopped\":false}".to_owned()));
        };
        let cancelled = app.runner().cancel(&key, &open.turn, CancelMode::Immediate, None).await;
        app.answered(Asked::Cancel, cancelled)?;
        Ok(json("{\"stopped\":true}".to_owned()))
    })
    .await
}

/// The newest turn of this kind. None also if there is no such session.
async fn last_turn(
    app: &App,
    key: &SessionKey,
    is_meant: impl Fn(&Turn) -> bool,
) -> Result<Option<Started>, Refusal> {
    let Some(hub) = app.hubs().get(key).await? else { return Ok(None) };
    let state = app.state_at(key, hub.head()).await?;
    let turn = state.turns.iter().rev().find(|turn| is_meant(turn)).map(|turn| turn.turn_id.clone());
    Ok(turn.map(|turn| Started { hub, turn }))
}
