//! The chat transport of Vercel's AI SDK: messages, what is decided and put out inside them, edits, reconnecting,
//! stopping.

use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use riverrun_dialect::Dialect;
use riverrun_dialect::ai_sdk::request::{ChatRequest, Trigger, decode, turn_of};
use riverrun_dialect::request::ListedMessage;
use riverrun_event::TurnId;
use riverrun_fold::TurnState;
use riverrun_log::SessionKey;
use riverrun_runner::{Busy, CancelMode, CommandError, Decision, Settings, Submit, Submitted};

use super::chat_agent::{chosen, session_of};
use super::conversation::{self, is_last_of_thread, state_before, turn_asked_by};
use super::decisions::{Answer, decide_all};
use super::turn::{Seen, Started, start, stream, stream_from};
use super::{Asking, Refusal, enter, json, model_call};
use crate::app::App;
use crate::edge::{Caller, Scope, not_found};
use crate::route::random_id;
use riverrun_api::RunnerCommand;
use riverrun_session::CatchUp;

const DIALECT: Dialect = Dialect::AiSdk;

pub async fn send(State(app): State<App>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Write, request, async |asking| serve(&app, asking).await).await
}

async fn serve(app: &App, asking: Asking) -> Result<Response, Refusal> {
    let chat = decode(&asking.body)?;
    let caller = &asking.caller;
    let key = SessionKey::new(caller.tenant().clone(), session_of(&chat.id));
    caller.require_session(&key.session)?;
    let state = state_before(app, &key, None).await?;
    let answers = answers(&state, &chat);
    if !answers.is_empty() {
        return go_on(app, caller, &key, answers).await;
    }
    // Nothing is new: whoever sends a message of ours again gets it as it stands.
    let last = chat.messages.last().filter(|last| last.role == "assistant");
    if let Some(turn) =
        last.and_then(|last| told(&state, &last.id)).filter(|_| chat.trigger == Trigger::Submit)
    {
        let hub = app.hubs().get(&key).await?.ok_or_else(not_found)?;
        let seen = Seen { catch_up: CatchUp::Snapshot, ..Seen::default() };
        return Ok(stream(app, caller, &Started { hub, turn }, DIALECT, seen).await?);
    }
    if let Some(turn) = to_retry(&state, &chat) {
        let hub = app.hubs().get(&key).await?.ok_or_else(not_found)?;
        let again = app.answered(RunnerCommand::Retry, app.runner().retry(&key, &turn, None).await)?;
        let seen = Seen { event: Some(again.first.previous()), ..Seen::default() };
        return Ok(stream(app, caller, &Started { hub, turn }, DIALECT, seen).await?);
    }
    let (started, _) = ask(app, caller, &key, &state, &chat).await?;
    Ok(stream(app, caller, &started, DIALECT, Seen::default()).await?)
}

/// Submits what is new behind the messages that the client shows before it.
async fn ask(
    app: &App,
    caller: &Caller,
    key: &SessionKey,
    state: &riverrun_fold::State,
    chat: &ChatRequest,
) -> Result<(Started, Submitted), Refusal> {
    let turn = TurnId::from_bytes(random_id(app)?);
    let mut submit = submit(app, chat);
    submit.turn_id = Some(turn.clone());
    let earlier = chat.earlier();
    // The id of a message that is there already, or an answer that is wanted anew: what stood behind it is gone.
    let is_edit = chat.message_id.is_some() || chat.trigger == Trigger::Regenerate;
    let turn_of = |message: &ListedMessage| {
        told(state, &message.id).or_else(|| Some(turn_asked_by(state, &message.id)?.turn_id.clone()))
    };
    let place = conversation::place(state, &earlier, turn_of, is_edit);
    let left = if place.is_new_thread() { state.turns.as_slice() } else { &[] };
    conversation::put(&mut submit, place, &earlier, &turn);
    // What still runs in the thread that the client left is nobody's any more.
    for left in left.iter().filter(|turn| !turn.status.is_terminal()) {
        let cancelled = app.runner().cancel(key, &left.turn_id, CancelMode::Immediate, None).await;
        if !matches!(cancelled, Err(CommandError::TurnEnded { .. })) {
            app.answered(RunnerCommand::Cancel, cancelled)?;
        }
    }
    Ok(start(app, caller, Some(key.session.clone()), submit).await?)
}

/// The turn that a message of ours tells, if the state has it.
fn told(state: &riverrun_fold::State, message: &str) -> Option<TurnId> {
    let id = turn_of(message)?;
    state.turns.iter().any(|turn| turn.turn_id == id).then_some(id)
}

/// The turn whose answer is wanted anew, if it is its thread's last, has ended, and was asked the same.
fn to_retry(state: &riverrun_fold::State, chat: &ChatRequest) -> Option<TurnId> {
    if chat.trigger != Trigger::Regenerate {
        return None;
    }
    let named = chat.message_id.as_deref().and_then(|id| told(state, id));
    let named = named.and_then(|id| state.turns.iter().find(|turn| turn.turn_id == id));
    let by_input = || chat.input_id().and_then(|id| turn_asked_by(state, id));
    // A client that sends only what is new may mean the last one.
    let last = || state.turns.last().filter(|_| chat.message_id.is_none() && chat.earlier().is_empty());
    let turn = named.or_else(by_input).or_else(last)?;
    let is_same = turn.input.as_ref() == Some(&chat.turn_input());
    (is_same && turn.status.is_terminal() && is_last_of_thread(state, turn)).then(|| turn.turn_id.clone())
}

fn submit(app: &App, chat: &ChatRequest) -> Submit {
    let member = |name: &str| chat.extra.iter().find(|(known, _)| known == name).map(|(_, raw)| raw);
    let settings = Settings {
        instructions: chat.instructions(),
        tools: chat.tools.iter().map(model_call::tool).collect(),
        client_tools: (!chat.tools.is_empty()).then(|| "wait".to_owned()),
        ..Settings::default()
    };
    Submit {
        agent: chosen(app, member),
        input: Some(chat.turn_input()),
        // Who writes on while an answer or a question stands open has moved on.
        busy: Busy::Interrupt,
        settings: (settings != Settings::default()).then_some(settings),
        request: conversation::asked(DIALECT.name(), chat.input_id()),
        source: Some(DIALECT.name().to_owned()),
        ..Submit::default()
    }
}

/// Approvals and outputs of the client's tools come inside the last message.
fn answers(state: &riverrun_fold::State, chat: &ChatRequest) -> Vec<Answer> {
    let approvals = chat.approvals().iter().map(|approval| Answer {
        action: approval.id.clone(),
        decision: if approval.approved { Decision::Approve } else { Decision::Reject },
        message: approval.reason.clone(),
    });
    approvals.chain(conversation::answers(state, chat.outputs())).collect()
}

/// The same message goes on.
async fn go_on(
    app: &App,
    caller: &Caller,
    key: &SessionKey,
    answers: Vec<Answer>,
) -> Result<Response, Refusal> {
    let resumed = decide_all(app, caller, key, answers).await?;
    let hub = app.hubs().get(key).await?.ok_or_else(not_found)?;
    let place = resumed.place(&hub);
    Ok(stream_from(app, caller, &Started { hub, turn: resumed.turn }, DIALECT, place).await?)
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
        app.answered(RunnerCommand::Cancel, cancelled)?;
        Ok(json("{\"stopped\":true}".to_owned()))
    })
    .await
}

/// The newest turn of this kind. None also if there is no such session.
async fn last_turn(
    app: &App,
    key: &SessionKey,
    is_meant: impl Fn(&TurnState) -> bool,
) -> Result<Option<Started>, Refusal> {
    let Some(hub) = app.hubs().get(key).await? else { return Ok(None) };
    let state = app.sessions().state_at(key, hub.head()).await?;
    let turn = state.turns.iter().rev().find(|turn| is_meant(turn)).map(|turn| turn.turn_id.clone());
    Ok(turn.map(|turn| Started { hub, turn }))
}
