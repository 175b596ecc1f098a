//! Tasks by their id: listed, cancelled, tried again. The methods `tasks/…` speak of tasks in AgentLin's words.

use std::sync::Arc;

use riverrun_dialect::IndexUnit;
use riverrun_event::{ErrorCode, Input, TaskId, TurnId};
use riverrun_fold::read_model;
use serde::Deserialize;
use serde_json::{Value, json};

use super::carry::{Desk, text};
use super::params;
use crate::app::App;
use crate::edge::{Caller, Problem, decode_text, not_found};
use crate::route::{self, CancelBody, NewSessionBody};
use crate::session::Hub;

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

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct TaskQuery {
    #[serde(alias = "session_id")]
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
            Tasks::List => task_list(&self.app, caller, params::read(params)?).await,
            Tasks::Get => {
                let of: OfTask = params::read(params)?;
                let session = of.session_id.as_deref();
                route::task_json(&self.app, caller, &of.task_id, session, IndexUnit::default()).await
            }
            Tasks::Cancel => cancel_task(&self.app, caller, params::read(params)?).await,
            Tasks::Pause | Tasks::Resume => {
                let of: OfTask = params::read(params)?;
                find(&self.app, caller, &of.task_id, of.session_id.as_deref()).await?;
                let detail = "a task here waits only for a decision; cancel it with `turn.cancel`, mode `after_turn`, and retry it later";
                Err(Problem::new(ErrorCode::NotPausable, detail))
            }
            Tasks::Resubscribe => {
                let again: Resubscribe = params::read(params)?;
                let found = find(&self.app, caller, &again.task_id, again.session_id.as_deref()).await?;
                let after = again.after.unwrap_or_else(|| Value::from(0));
                let follow = follow(&found.hub, &found.turn, after);
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
) -> Result<(Arc<Hub>, route::TurnView), Problem> {
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
            let (record, _) = route::create(app, caller, NewSessionBody::default()).await?;
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

fn created(hub: &Hub, turn: &route::TurnView) -> Value {
    json!({
        "task_id": turn.task_id, "session_id": hub.session(), "turn_id": turn.turn_id,
        "status": turn.status, "output": [], "cursor": turn.cursor,
    })
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

/// Where a task is.
struct Found {
    hub: Arc<Hub>,
    turn: TurnId,
    is_root: bool,
}

async fn find(app: &App, caller: &Caller, task: &str, session: Option<&str>) -> Result<Found, Problem> {
    let task = TaskId::new(task).map_err(|_| not_found())?;
    let hub = match session {
        Some(session) => app.hub(caller, session).await?,
        None => route::newest_with(app, caller, &task).await?,
    };
    let records = app.log().find_task(caller.tenant(), &task).await?;
    let record = records.into_iter().find(|record| record.key == hub.key).ok_or_else(not_found)?;
    Ok(Found { hub, turn: record.fact.turn, is_root: record.fact.parent.is_none() })
}

/// The tasks of open turns and of the newest finished ones.
pub(super) async fn task_list(app: &App, caller: &Caller, query: TaskQuery) -> Result<String, Problem> {
    let hub = app.hub(caller, &query.session_id).await?;
    let state = app.state_at(&hub.key, hub.head()).await?;
    let mut tasks = Vec::new();
    for task in read_model::read_models(&state).task_snapshot.tasks {
        let task = serde_json::to_value(task).map_err(|_| not_found())?;
        if query.status.as_deref().is_none_or(|status| task["status"] == status) {
            tasks.push(task);
        }
    }
    Ok(json!({ "tasks": tasks }).to_string())
}

/// Cancels the turn of a root task, or closes a sub-agent.
pub(super) async fn cancel_task(app: &App, caller: &Caller, of: OfTask) -> Result<String, Problem> {
    let found = find(app, caller, &of.task_id, of.session_id.as_deref()).await?;
    if !found.is_root {
        route::end(app, &found.hub, &of.task_id, of.reason).await?;
        return Ok(json!({ "task_id": of.task_id, "status": "cancelling" }).to_string());
    }
    let body = CancelBody { reason: of.reason, ..CancelBody::default() };
    let cancelled = route::cancel_turn(app, &found.hub, found.turn.as_str(), body).await?;
    if cancelled.status != "cancelling" && cancelled.status != "cancelled" {
        let detail = format!("task `{}` has ended: {}", of.task_id, cancelled.status);
        return Err(Problem::new(ErrorCode::TurnEnded, detail));
    }
    Ok(json!({ "task_id": of.task_id, "status": cancelled.status }).to_string())
}

pub(super) async fn retry_task(app: &App, caller: &Caller, of: OfTask) -> Result<String, Problem> {
    let found = find(app, caller, &of.task_id, of.session_id.as_deref()).await?;
    if !found.is_root {
        let detail = "a sub-agent is tried again by its parent; retry the root task";
        return Err(Problem::new(ErrorCode::UnsupportedOperation, detail).field("taskId"));
    }
    Ok(text(&route::retry_turn(app, &found.hub, found.turn.as_str(), None).await?))
}
