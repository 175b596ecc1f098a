//! Messages: a task begins, or gets the answer that it waits for.

use futures_util::StreamExt;
use riverrun_dialect::Framing;
use riverrun_event::{ActionId, ErrorCode, Input, Part, RawJson, TurnId};
use riverrun_runner::{Busy, Decision, Submit};
use serde_json::{Map, Value};

use super::{DIALECT, no_push, wrong};
use crate::app::App;
use crate::derived_ids::derived;
use crate::edge::{Caller, KeyScope, Problem, not_found};
use crate::gateway::Refusal;
use crate::gateway::chat_agent::session_of;
use crate::gateway::decisions::{Answer, decide_all};
use crate::gateway::turn::{Place, Started, find, start, subscribe};

/// Begins a task, or answers the question that one waits for. The same message again finds its task.
pub(super) async fn send(
    app: &App,
    caller: &Caller,
    params: &Map<String, Value>,
) -> Result<(Started, Place), Refusal> {
    caller.require(KeyScope::Write)?;
    let message = params.get("message").filter(|message| message.is_object());
    let message = message.ok_or_else(|| wrong("`message` must be an object"))?;
    if params.get("configuration").is_some_and(|given| given["taskPushNotificationConfig"].is_object()) {
        return Err(no_push());
    }
    let parts = message["parts"].as_array().filter(|parts| !parts.is_empty());
    let parts = parts.ok_or_else(|| wrong("`message.parts` must have at least one part"))?;
    if let Some(task) = message["taskId"].as_str().filter(|id| !id.is_empty()) {
        let turn = TurnId::new(task).map_err(|_| not_found())?;
        let started = find(app, caller, &turn).await?;
        let place = decide(app, caller, &started, parts).await?;
        return Ok((started, place));
    }
    let context = message["contextId"].as_str().filter(|id| !id.is_empty());
    let id = message["messageId"].as_str().filter(|id| !id.is_empty());
    let id = id.ok_or_else(|| wrong("`message.messageId` is needed"))?;
    let (session, turn) = derived(caller, &["a2a", context.unwrap_or_default(), id]);
    let metadata = message["metadata"].as_object().or_else(|| params.get("metadata")?.as_object());
    let chosen = metadata.and_then(|metadata| metadata.get("agent")?.as_str().map(str::to_owned));
    let input = Input::Parts(parts.iter().map(part).collect::<Result<_, _>>()?);
    if crate::route::is_blank_input(&input) {
        return Err(wrong("`message.parts` are blank; say what the task is about").into());
    }
    let submit = Submit {
        turn_id: Some(turn),
        agent: chosen.or_else(|| app.agents().chat_agent.clone()),
        input: Some(input),
        busy: Busy::Queue,
        source: Some(DIALECT.name().to_owned()),
        ..Submit::default()
    };
    let session = context.map_or(session, session_of);
    let (started, _) = start(app, caller, Some(session), submit).await?;
    Ok((started, Place::Start))
}

fn part(part: &Value) -> Result<Part, Problem> {
    if let Some(text) = part["text"].as_str() {
        return Ok(Part::plain(text.to_owned()));
    }
    let media_type = part["mediaType"].as_str().map(str::to_owned);
    if let Some(url) = part["url"].as_str() {
        let url = Some(url.to_owned());
        return Ok(Part::File(riverrun_event::FileBlock { url, media_type, ..Default::default() }));
    }
    if part["data"].is_null() {
        return Err(wrong("a part must have `text`, `url` or `data`"));
    }
    Ok(Part::plain(part["data"].to_string()))
}

/// The first question of the task: a data part decides it, a word does, and any other text is its answer.
async fn decide(app: &App, caller: &Caller, started: &Started, parts: &[Value]) -> Result<Place, Refusal> {
    let state = crate::gateway::turn::state(app, started).await?;
    let pending = state.actions.iter().find(|action| {
        action.status == riverrun_fold::ActionStatus::Pending
            && action.turn_id.as_ref() == Some(&started.turn)
    });
    let pending = pending.ok_or_else(|| {
        let detail = "this task waits for nothing; send a message without `taskId`";
        Problem::new(ErrorCode::UnsupportedOperation, detail)
    })?;
    let data = parts.iter().find_map(|part| part["data"].as_object());
    let text = parts.iter().find_map(|part| part["text"].as_str()).unwrap_or_default();
    let word = data.and_then(|data| data.get("decision")?.as_str()).unwrap_or(text.trim());
    let decision = match word.to_ascii_lowercase().as_str() {
        "approve" | "approved" | "yes" => Decision::Approve,
        "reject" | "rejected" | "no" => Decision::Reject,
        _ => Decision::Respond(RawJson::of(&text).unwrap_or_default()),
    };
    let named = data.and_then(|data| data.get("actionId")?.as_str()).and_then(|id| ActionId::new(id).ok());
    let action = named.unwrap_or_else(|| pending.action_id.clone()).to_string();
    let answer = Answer { action, decision, message: None };
    let resumed = decide_all(app, caller, &started.hub.key, vec![answer]).await?;
    Ok(resumed.place(&started.hub))
}

/// Resolves when the task has ended or waits for somebody, behind `place`.
pub(super) async fn settled(
    app: &App,
    caller: &Caller,
    started: &Started,
    place: Place,
) -> Result<(), Problem> {
    let mut stream = subscribe(app, caller, started, DIALECT, Framing::Messages, place).await?;
    while let Some(batch) = stream.next().await {
        if batch.is_err() {
            return Err(Problem::new(ErrorCode::Draining, "the server goes down; the task goes on"));
        }
    }
    Ok(())
}
