//! Anthropic's message threads: a request that continues a message brings only what is new, and the log has the rest.
//!
//! ```text
//!   create      m1                      a session of its own, as without a thread
//!   continue    m1 ── m2                m2 names m1: the same session, with the tools and the system prompt of m1
//! ```
//!
//! A service that holds threads itself gets `thread` passed on, with its own id of the message. One that speaks the
//! dialect without threads is never sent a part of a conversation: the request is refused in the form on which the
//! official SDKs send the whole conversation instead.

use http::HeaderMap;
use riverrun_dialect::Dialect;
use riverrun_dialect::anthropic::{thread, turn_of};
use riverrun_dialect::request::{MessageThread, ModelCall};
use riverrun_event::{Item, Payload, SessionId, TurnId};
use riverrun_fold::{State, Status, TurnState};
use riverrun_runner::Submit;
use serde_json::Value;

use crate::app::App;
use crate::edge::{Caller, not_found};
use crate::gateway::turn::{Started, find, project, start, state};
use crate::gateway::{Refusal, branch, model_call};

const DIALECT: Dialect = Dialect::Anthropic;

/// Makes the turn of a request with `thread`.
pub(in crate::gateway) async fn submit(
    app: &App,
    caller: &Caller,
    call: ModelCall,
    kind: &MessageThread,
    headers: &HeaderMap,
    named: Option<(SessionId, TurnId)>,
) -> Result<Started, Refusal> {
    let is_spoken = model_call::is_spoken(app, &call.model, DIALECT);
    let holder = model_call::thread_holder(app, &call.model);
    if is_spoken && holder.is_none() {
        return Err(thread::unsupported(&call.model).into());
    }
    match kind {
        MessageThread::Create => {
            let mut submit = model_call::routed(app, &call, DIALECT, headers)?;
            submit.turn_id = named.as_ref().map(|(_, turn)| turn.clone());
            let (started, _) = start(app, caller, named.map(|(session, _)| session), submit).await?;
            Ok(started)
        }
        MessageThread::Continue(id) => continue_from(app, caller, call, id, headers, named, holder).await,
    }
}

async fn continue_from(
    app: &App,
    caller: &Caller,
    mut call: ModelCall,
    id: &str,
    headers: &HeaderMap,
    named: Option<(SessionId, TurnId)>,
    holder: Option<String>,
) -> Result<Started, Refusal> {
    let before = message(app, caller, id).await?;
    // Of two requests that continue the same message only one can be the next of its session.
    let _one_by_one = before.hub.branching.lock().await;
    let hub = &before.hub;
    let turn = app
        .sessions()
        .turn_at(&hub.key, hub.head(), &before.turn)
        .await?
        .ok_or_else(|| thread::not_found(id))?;
    let now = state(app, &before).await?;
    if !is_retry(app, &before, named.as_ref()).await? {
        check_next(&now, &turn)?;
    }
    let asked = turn.request.as_ref().ok_or_else(|| thread::not_found(id))?;
    thread::inherit(&mut call, asked).ok_or_else(|| thread::not_found(id))?;
    if holder.is_none() {
        check_results(&now, &turn, &call)?;
    }
    let mut submit = model_call::routed(app, &call, DIALECT, headers)?;
    if let Some(provider) = holder {
        let theirs = service_id(app, &before, &provider).await?.ok_or_else(|| thread::not_found(id))?;
        pass_on(&mut submit, &theirs);
    }
    submit.turn_id = named.as_ref().map(|(_, turn)| turn.clone());
    let session = branch::session_behind(app, caller, &before, named).await?;
    let (started, _) = start(app, caller, Some(session), submit).await?;
    Ok(started)
}

/// The turn of a message of this tenant.
async fn message(app: &App, caller: &Caller, id: &str) -> Result<Started, Refusal> {
    let turn = turn_of(id).ok_or_else(|| thread::not_found(id))?;
    match find(app, caller, &turn).await {
        Ok(started) => Ok(started),
        Err(problem) if problem.status() == 404 => Err(thread::not_found(id).into()),
        Err(problem) => Err(problem.into()),
    }
}

/// True if this very request was submitted before.
async fn is_retry(app: &App, before: &Started, named: Option<&(SessionId, TurnId)>) -> Result<bool, Refusal> {
    let Some((_, turn)) = named else { return Ok(false) };
    Ok(app.log().turn(&before.hub.key, turn).await?.is_some())
}

/// A message is continued once. A continuation that failed was none.
fn check_next(now: &State, turn: &TurnState) -> Result<(), Refusal> {
    if !turn.status.is_terminal() {
        return Err(thread::in_flight().into());
    }
    let line = now.threads.iter().find(|line| line.thread_id == turn.thread_id);
    let last = line.and_then(|line| line.last_turn_id.as_ref()).filter(|last| **last != turn.turn_id);
    let Some(last) = last else { return Ok(()) };
    let status = now.turns.iter().find(|known| known.turn_id == *last).map(|known| known.status);
    match status {
        Some(status) if !status.is_terminal() => Err(thread::in_flight().into()),
        Some(Status::Failed | Status::Cancelled) => Ok(()),
        Some(_) | None => Err(thread::already_continued().into()),
    }
}

/// Results at the beginning of a continuation answer calls of the message before it.
fn check_results(now: &State, turn: &TurnState, call: &ModelCall) -> Result<(), Refusal> {
    let is_of = |task: &&riverrun_fold::TaskState| task.turn_id.as_ref() == Some(&turn.turn_id);
    let calls = |id: &str| {
        let mut items = now.tasks.iter().filter(is_of).flat_map(|task| &task.output);
        items.any(|item| matches!(item, Item::ToolCall(call) if call.call_id == id))
    };
    let messages = call.verbatim.iter().find(|(name, _)| name == "messages");
    let results = messages.map(|(_, messages)| thread::first_results(messages)).unwrap_or_default();
    match results.into_iter().find(|(id, _)| !calls(id)) {
        Some((id, path)) => Err(thread::orphan(&id, &path).into()),
        None => Ok(()),
    }
}

/// The service's own id of a message that it made.
async fn service_id(app: &App, before: &Started, provider: &str) -> Result<Option<String>, Refusal> {
    if app.log().turn(&before.hub.key, &before.turn).await?.is_none() {
        return Err(not_found().into());
    }
    let mut found = None;
    project(app, before, DIALECT, |event, _| {
        if let (Ok(Payload::ModelCompleted(completed)), true) =
            (&event.payload, event.scope.turn_id.as_ref() == Some(&before.turn))
            && completed.provider.as_deref() == Some(provider)
        {
            found.clone_from(&completed.response_id);
        }
    })
    .await?;
    Ok(found)
}

fn pass_on(submit: &mut Submit, theirs: &str) {
    let verbatim = submit.settings.as_mut().and_then(|settings| settings.verbatim.as_mut());
    if let Some(Value::Object(thread)) = verbatim.and_then(|verbatim| verbatim.get_mut("thread")) {
        thread.insert("previous_message_id".to_owned(), theirs.into());
    }
}
