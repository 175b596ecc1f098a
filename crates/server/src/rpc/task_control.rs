//! Tasks by their id: listed, cancelled, tried again. The methods `tasks/…` speak of tasks in AgentLin's words.

use std::sync::Arc;
use std::time::Duration;

use riverrun_dialect::{OffsetUnit, task};
use riverrun_event::{ErrorCode, Input, TaskId, TurnId};
use riverrun_fold::Status;
use serde::Deserialize;
use serde_json::{Value, json};

use super::carry::{Desk, text};
use super::params;
use crate::app::App;
use crate::derived_ids::derived;
use crate::edge::{Caller, Problem, decode_text, invalid, not_found};
use crate::route::{self, Kept, NewSessionBody, Once, Verb};
use riverrun_api::operations::turns::SubmittedTurn;
use riverrun_session::Hub;

/// The longest that the answer to a cancel waits for the end.
const END: Duration = Duration::from_secs(5);

/// AgentLin's methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tasks {
    Create,
    CreateSubscribe,
    List,
    Get,
    Cancel,
    Pause,
    Resume,
    Resubscribe,
    PushSet,
    PushGet,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct OfTask {
    #[serde(alias = "task_id", alias = "id")]
    task_id: String,
    #[serde(alias = "session_id")]
    session_id: Option<String>,
    reason: Option<String>,
}

/// The same with AgentLin's names, by which its callers are told what is wrong.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LinTask {
    #[serde(alias = "taskId", alias = "id")]
    task_id: String,
    #[serde(alias = "sessionId")]
    session_id: Option<String>,
    reason: Option<String>,
}

impl From<LinTask> for OfTask {
    fn from(of: LinTask) -> Self {
        let LinTask { task_id, session_id, reason } = of;
        Self { task_id, session_id, reason }
    }
}

fn of_task(params: &str) -> Result<OfTask, Problem> {
    params::read::<LinTask>(params).map(OfTask::from)
}

impl OfTask {
    /// What is said beside the task's name.
    fn body(&self) -> String {
        without_null(json!({ "reason": self.reason })).to_string()
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct TaskQuery {
    #[serde(alias = "session_id")]
    session_id: String,
    status: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    session_id: String,
    status: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Create {
    session_id: Option<String>,
    /// Names the request; the same again is the same task.
    request_id: Option<TurnId>,
    agent: Option<String>,
    input: Input,
    metadata: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Resubscribe {
    #[serde(alias = "id")]
    task_id: String,
    session_id: Option<String>,
    after: Option<Value>,
}

impl Desk {
    pub(super) async fn tasks(
        &mut self,
        method: Tasks,
        caller: &Caller,
        params: &str,
    ) -> Result<String, Problem> {
        match method {
            Tasks::Create => {
                let (hub, turn) = create_task(&self.app, caller, params::read(params)?).await?;
                Ok(created(&hub, &turn).to_string())
            }
            Tasks::CreateSubscribe => {
                let (hub, turn) = create_task(&self.app, caller, params::read(params)?).await?;
                let follow = follow(&hub, &turn.turn_id, turn.cursor.clone().into());
                let answer = self.follow(caller, params::read(&follow.to_string())?).await?;
                Ok(merged(created(&hub, &turn), &answer))
            }
            Tasks::List => listed(&self.app, caller, params::read(params)?).await,
            Tasks::Get => {
                let of = of_task(params)?;
                let session = of.session_id.as_deref();
                route::task_json(&self.app, caller, &of.task_id, session, OffsetUnit::default()).await
            }
            Tasks::Cancel => end(&self.app, caller, of_task(params)?).await,
            Tasks::Pause => pause(&self.app, caller, of_task(params)?, Verb::Pause).await,
            Tasks::Resume => pause(&self.app, caller, of_task(params)?, Verb::Resume).await,
            Tasks::Resubscribe => {
                let again: Resubscribe = params::read(params)?;
                let hub = hub_of(&self.app, caller, &again.task_id, again.session_id.as_deref()).await?;
                let turn = route::turn_of(&self.app, &hub, &again.task_id).await?;
                let after = again.after.unwrap_or_else(|| Value::from(0));
                let follow = follow(&hub, &turn, after);
                self.follow(caller, params::read(&follow.to_string())?).await
            }
            Tasks::PushSet | Tasks::PushGet => {
                let detail = "nothing is pushed from here; follow the session, from any cursor";
                Err(Problem::new(ErrorCode::PushUnsupported, detail))
            }
        }
    }
}

async fn create_task(
    app: &App,
    caller: &Caller,
    create: Create,
) -> Result<(Arc<Hub>, SubmittedTurn), Problem> {
    // Everything is checked before a session is made for it.
    let body = json!({
        "input": create.input, "agent": create.agent, "turnId": create.request_id, "metadata": create.metadata,
    });
    let body = decode_text(&without_null(body).to_string())?;
    if let Some(agent) = &create.agent {
        app.agents().check(agent)?;
    }
    let session = match create.session_id {
        Some(session) => session,
        None => {
            // The same request again finds the session that the first one made.
            let words = create.request_id.as_ref().map(TurnId::as_str);
            let id = words.map(|id| derived(caller, &["tasks/create", caller.key_id().as_str(), id]).0);
            let new = NewSessionBody { session_id: id, ..NewSessionBody::default() };
            let (record, _) = route::create(app, caller, new).await?;
            record.key.session.to_string()
        }
    };
    let hub = app.hub(caller, &session).await?;
    let turn = route::submit_turn(app, &hub, body).await?;
    Ok((hub, turn))
}

fn without_null(mut value: Value) -> Value {
    if let Value::Object(members) = &mut value {
        members.retain(|_, value| !value.is_null());
    }
    value
}

fn created(hub: &Hub, turn: &SubmittedTurn) -> Value {
    json!({
        "task_id": turn.task_id, "session_id": hub.session(), "turn_id": turn.turn_id,
        "status": agentlins(&turn.status), "output": [], "cursor": turn.cursor,
    })
}

/// AgentLin's word for where a turn stands. What joined a turn that runs is worked on.
fn agentlins(status: &str) -> &'static str {
    match serde_json::from_value(Value::from(status)) {
        Ok(status) => task::status(status),
        Err(_) => task::status(Status::Running),
    }
}

fn merged(mut task: Value, subscription: &str) -> String {
    if let (Value::Object(task), Ok(Value::Object(more))) =
        (&mut task, serde_json::from_str::<Value>(subscription))
    {
        task.extend(more);
    }
    task.to_string()
}

fn follow(hub: &Hub, turn: &TurnId, after: Value) -> Value {
    json!({ "sessionId": hub.session(), "turn": turn, "dialect": "task", "after": after })
}

/// The session that a task is in.
async fn hub_of(app: &App, caller: &Caller, task: &str, session: Option<&str>) -> Result<Arc<Hub>, Problem> {
    let task = TaskId::new(task).map_err(|_| not_found())?;
    match session {
        Some(session) => app.hub(caller, session).await,
        None => route::newest_with(app, caller, &task).await,
    }
}

/// The tasks of a session as AgentLin's objects.
async fn listed(app: &App, caller: &Caller, query: List) -> Result<String, Problem> {
    let wanted = query.status.as_deref();
    if let Some(status) = wanted.filter(|status| !task::STATUSES.contains(status)) {
        let shown: String = status.chars().take(40).collect();
        let reason = format!("`{shown}` is no status; it may be {}", task::STATUSES.join(", "));
        return Err(invalid("status", &reason));
    }
    let hub = app.hub(caller, &query.session_id).await?;
    let state = app.sessions().state_at(&hub.key, hub.head()).await?;
    let wanted = state.tasks.iter().filter(|known| wanted.is_none_or(|it| it == task::status(known.status)));
    let objects = wanted.filter_map(|known| task::object(&state, &known.task_id, OffsetUnit::default()));
    let (objects, truncated) = (objects.collect::<Vec<_>>().join(","), state.sealed_turns > 0);
    Ok(format!("{{\"tasks\":[{objects}],\"truncated\":{truncated}}}"))
}

pub(super) async fn list(app: &App, caller: &Caller, query: TaskQuery) -> Result<String, Problem> {
    let hub = app.hub(caller, &query.session_id).await?;
    Ok(route::task_list(app, &hub, query.status.as_deref()).await?.to_string())
}

pub(super) async fn cancel(app: &App, caller: &Caller, of: OfTask, once: &Once) -> Result<String, Problem> {
    let hub = hub_of(app, caller, &of.task_id, of.session_id.as_deref()).await?;
    if let Some(answer) = kept(app, &hub, Verb::Cancel, &of, once).await? {
        return Ok(answer);
    }
    let status = route::cancel_task(app, &hub, &of.task_id, of.reason, once.request()).await?;
    Ok(json!({ "task_id": of.task_id, "status": status }).to_string())
}

/// The same in AgentLin's words, which have none for a task that is being cancelled: it answers when the task has
/// ended, so that who asks next reads the same. Once the wish is in the log the task cannot end otherwise.
async fn end(app: &App, caller: &Caller, of: OfTask) -> Result<String, Problem> {
    let hub = hub_of(app, caller, &of.task_id, of.session_id.as_deref()).await?;
    must_be_open(app, &hub, &of.task_id).await?;
    let (task_id, once) = (of.task_id.clone(), Once::unnamed());
    if kept(app, &hub, Verb::Cancel, &of, &once).await?.is_none() {
        route::cancel_task(app, &hub, &of.task_id, of.reason, None).await?;
    }
    // Nothing that runs can hold up the end for long; who waits is not held up by a server that goes.
    let _ = tokio::time::timeout(END, has_ended(app, &hub, &task_id)).await;
    Ok(json!({ "task_id": task_id, "status": task::status(Status::Cancelled) }).to_string())
}

/// Resolves when the task has ended.
async fn has_ended(app: &App, hub: &Hub, task: &str) {
    loop {
        let head = hub.head();
        let Ok(state) = app.sessions().state_at(&hub.key, head).await else { return };
        let known = state.tasks.iter().find(|known| known.task_id.as_str() == task);
        if known.is_none_or(|known| known.status.is_terminal()) {
            return;
        }
        hub.woken(head).await;
    }
}

async fn must_be_open(app: &App, hub: &Hub, task: &str) -> Result<(), Problem> {
    let state = app.sessions().state_at(&hub.key, hub.head()).await?;
    let known = state.tasks.iter().find(|known| known.task_id.as_str() == task);
    let status = match known {
        Some(known) if !known.status.is_terminal() => return Ok(()),
        Some(known) => task::status(known.status),
        // One that left the state ended before.
        None => route::turn_of(app, hub, task).await.map(|_| "long ago")?,
    };
    Err(Problem::new(ErrorCode::TurnEnded, format!("task `{task}` has ended: {status}")))
}

pub(super) async fn retry(app: &App, caller: &Caller, of: OfTask, once: &Once) -> Result<String, Problem> {
    let hub = hub_of(app, caller, &of.task_id, of.session_id.as_deref()).await?;
    if let Some(answer) = kept(app, &hub, Verb::Retry, &of, once).await? {
        return Ok(answer);
    }
    Ok(text(&route::retry_task(app, &hub, &of.task_id, once.request()).await?))
}

/// Halts a task, or lets it go on, and shows it.
async fn pause(app: &App, caller: &Caller, of: OfTask, verb: Verb) -> Result<String, Problem> {
    let hub = hub_of(app, caller, &of.task_id, of.session_id.as_deref()).await?;
    if kept(app, &hub, verb, &of, &Once::unnamed()).await?.is_none() {
        route::pause_run(app, &hub, &of.task_id, verb, &of.body(), &Once::unnamed()).await?;
    }
    let session = Some(hub.session().as_str());
    route::task_json(app, caller, &of.task_id, session, OffsetUnit::default()).await
}

/// Does it with a task that a caller keeps; None if the task is run here.
async fn kept(app: &App, hub: &Hub, verb: Verb, of: &OfTask, once: &Once) -> Result<Option<String>, Problem> {
    let id = TaskId::new(&of.task_id).map_err(|_| not_found())?;
    if !route::keeps(app, hub, &id).await? {
        return Ok(None);
    }
    let view = Kept::find(app, hub, &of.task_id).await?.carry_out(verb, &of.body(), once).await?;
    Ok(Some(text(&view)))
}
