//! `ListTasks`: the tasks of a context, newest first, however old they are.

use std::sync::Arc;

use riverrun_dialect::a2a::{asked, final_status};
use riverrun_event::{Sequence, Timestamp, TurnId};
use riverrun_fold::{ActionStatus, State, TurnState};
use riverrun_log::TurnRecord;
use serde_json::{Map, Value, json as object};

use super::task::{History, task};
use super::wrong;
use crate::app::App;
use crate::edge::{Caller, Problem};
use crate::gateway::Refusal;
use crate::gateway::chat_agent::session_of;
use crate::gateway::turn::Started;
use riverrun_session::Hub;

/// As many as the protocol gives to a client that names no number, and as many as it gives at most.
const PAGE: (u64, u64) = (50, 100);

/// The states of the protocol; tasks here are never in the last two.
const STATES: [&str; 8] = [
    "TASK_STATE_SUBMITTED",
    "TASK_STATE_WORKING",
    "TASK_STATE_INPUT_REQUIRED",
    "TASK_STATE_COMPLETED",
    "TASK_STATE_CANCELED",
    "TASK_STATE_FAILED",
    "TASK_STATE_REJECTED",
    "TASK_STATE_AUTH_REQUIRED",
];

/// What a client asks for.
struct Query<'a> {
    status: Option<&'a str>,
    size: usize,
    /// Behind the last task of the page before.
    before: Option<Sequence>,
    changed_after: Option<Timestamp>,
    history: History,
    with_artifacts: bool,
}

impl<'a> Query<'a> {
    fn read(params: &'a Map<String, Value>) -> Result<Self, Problem> {
        let text = |name: &str| params.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        let size = match params.get("pageSize") {
            None | Some(Value::Null) => PAGE.0,
            Some(size) => size
                .as_u64()
                .filter(|size| (1..=PAGE.1).contains(size))
                .ok_or_else(|| wrong(&format!("`pageSize` must be 1 to {}", PAGE.1)))?,
        };
        let status = text("status").filter(|status| *status != "TASK_STATE_UNSPECIFIED");
        if let Some(unknown) = status.filter(|status| !STATES.contains(status)) {
            let shown: String = unknown.chars().take(40).filter(|c| !c.is_control()).collect();
            return Err(wrong(&format!("`status` is `{shown}`; it may be one of {}", STATES.join(", "))));
        }
        let before = text("pageToken").map(|token| {
            let place = token.parse().ok().and_then(Sequence::new);
            place.ok_or_else(|| wrong("`pageToken` is none of this server's; begin again without it"))
        });
        let changed_after = text("statusTimestampAfter").map(|time| {
            Timestamp::parse(time).map_err(|error| wrong(&format!("`statusTimestampAfter`: {error}")))
        });
        let history = match params.get("historyLength") {
            None | Some(Value::Null) => History::NONE,
            length => History::read(length)?,
        };
        Ok(Self {
            status,
            size: usize::try_from(size).unwrap_or(usize::MAX),
            before: before.transpose()?,
            changed_after: changed_after.transpose()?,
            history,
            with_artifacts: params.get("includeArtifacts") == Some(&Value::Bool(true)),
        })
    }
}

/// There is no list of all contexts.
pub(super) async fn list(app: &App, caller: &Caller, params: &Map<String, Value>) -> Result<Value, Refusal> {
    let context = params.get("contextId").and_then(Value::as_str).filter(|id| !id.is_empty());
    let context = context.ok_or_else(|| wrong("`contextId` must name a context"))?;
    let query = Query::read(params)?;
    let hub = app.hub(caller, session_of(context).as_str()).await?;
    let now = app.sessions().state_at(&hub.key, hub.head()).await?;
    let mut fitting = app.log().turns(&hub.key, None, usize::MAX).await?;
    fitting.retain(|record| query.status.is_none_or(|status| state_of(record, &now) == status));
    if let Some(after) = query.changed_after {
        let turns = app.sessions().turns_before(&hub, None, usize::MAX).await?;
        let is_newer = |id: &TurnId| {
            turns.iter().any(|turn| turn.turn_id == *id && changed_at(turn).is_some_and(|time| time > after))
        };
        fitting.retain(|record| is_newer(&record.fact.turn));
    }
    let total = fitting.len();
    fitting.retain(|record| query.before.is_none_or(|before| record.fact.first < before));
    let next = fitting.get(query.size).and_then(|_| fitting.get(query.size - 1));
    let next = next.map(|last| last.fact.first.to_string()).unwrap_or_default();
    fitting.truncate(query.size);
    let mut tasks = Vec::new();
    for record in &fitting {
        tasks.push(told(app, &hub, record, &query).await?);
    }
    Ok(object!({"tasks": tasks, "nextPageToken": next, "pageSize": tasks.len(), "totalSize": total}))
}

/// A task that has ended and whose artifacts nobody wants is told without a look into the log.
async fn told(app: &App, hub: &Arc<Hub>, record: &TurnRecord, query: &Query<'_>) -> Result<Value, Problem> {
    let (turn, context) = (&record.fact.turn, hub.session().as_str());
    if !query.with_artifacts
        && let Some(known) = app.sessions().turn_at(&hub.key, hub.head(), turn).await?
        && let Some(status) = final_status(context, &known)
    {
        let mut task = object!({"id": turn.as_str(), "contextId": context, "status": status});
        query.history.put(&mut task, asked(context, &known).into_iter().collect());
        return Ok(task);
    }
    let started = Started { hub: hub.clone(), turn: turn.clone() };
    let (mut task, _) = task(app, &started, query.history).await?;
    if let (Some(members), false) = (task.as_object_mut(), query.with_artifacts) {
        members.remove("artifacts");
    }
    Ok(task)
}

fn state_of(record: &TurnRecord, now: &State) -> &'static str {
    let waits = now.actions.iter().any(|action| {
        action.status == ActionStatus::Pending && action.turn_id.as_ref() == Some(&record.fact.turn)
    });
    match record.fact.status.as_str() {
        "completed" => "TASK_STATE_COMPLETED",
        "cancelled" => "TASK_STATE_CANCELED",
        "failed" => "TASK_STATE_FAILED",
        _ if waits => "TASK_STATE_INPUT_REQUIRED",
        "queued" | "accepted" => "TASK_STATE_SUBMITTED",
        _ => "TASK_STATE_WORKING",
    }
}

fn changed_at(turn: &TurnState) -> Option<Timestamp> {
    turn.ended_at.or(turn.started_at).or(turn.submitted_at)
}
