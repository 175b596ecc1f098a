//! What each command takes. The members are those of the event's payload.

use riverrun_event::{RawJson, TaskId, ThreadId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::verb::Verb;
use crate::edge::{Problem, decode_text};

/// Members that name where a new task belongs; the rest tells what it is.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Belonging {
    pub task_id: Option<TaskId>,
    pub parent_task_id: Option<TaskId>,
    pub thread_id: Option<ThreadId>,
}

const BELONGING: [&str; 3] = ["taskId", "parentTaskId", "threadId"];

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FirstStatus {
    Draft,
    Accepted,
    Queued,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Visibility {
    Foreground,
    Background,
    Internal,
    Hidden,
    Unknown,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Phase {
    Planning,
    Working,
    Verifying,
    Delivering,
    Waiting,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Delivery {
    Pending,
    Delivered,
    Queued,
    Failed,
    ParentMissing,
    NotApplicable,
}

/// The standard's edges; those of parent and child follow from the tasks themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    Blocks,
    BlockedBy,
    SourceTask,
    SourceAttempt,
    SpawnedSubagent,
    AssignedThread,
    ProducedArtifact,
    ConsumedArtifact,
    Evidence,
}

impl Kind {
    /// True if the edge leads to another task of the session.
    pub fn leads_to_task(self) -> bool {
        match self {
            Kind::Blocks | Kind::BlockedBy | Kind::SourceTask | Kind::SpawnedSubagent => true,
            Kind::SourceAttempt
            | Kind::AssignedThread
            | Kind::ProducedArtifact
            | Kind::ConsumedArtifact
            | Kind::Evidence => false,
        }
    }
}

macro_rules! bodies {
    ($($(#[$about:meta])* $name:ident { $($field:ident: $type:ty,)* })*) => {$(
        $(#[$about])*
        #[derive(Debug, Default, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields, default)]
        struct $name { $(#[serde(skip_serializing_if = "Option::is_none")] $field: Option<$type>,)* }
    )*};
}

bodies! {
    New {
        title: String, objective: String, agent: String, kind: String, task_family: String,
        visibility: Visibility, status: FirstStatus, priority: String, requested_by: RawJson, owner: RawJson,
        assignee: RawJson, scope: RawJson, constraints: RawJson, acceptance: Vec<RawJson>,
    }
    Changed {
        title: String, objective: String, agent: String, kind: String, task_family: String,
        visibility: Visibility, priority: String, owner: RawJson, assignee: RawJson, scope: RawJson,
        constraints: RawJson, acceptance: Vec<RawJson>, reason: String,
    }
    Reason { reason: String, }
    Progress {
        phase: Phase, message: String, fraction: f64, counters: RawJson, output_refs: RawJson,
        delivery_state: Delivery, acceptance: RawJson,
    }
    Completed { reason: String, final_output: RawJson, completion_summary: String, output_refs: RawJson, usage: RawJson, }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Failed {
    error: Failure,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Failure {
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    category: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retryable: Option<bool>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Link {
    pub kind: Kind,
    pub target_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// The payload of the command's event.
pub(super) fn payload(verb: Verb, text: &str) -> Result<Map<String, Value>, Problem> {
    match verb {
        Verb::Update => checked::<Changed>(text),
        Verb::Start | Verb::Pause | Verb::Resume | Verb::Cancel | Verb::Retry | Verb::Archive => {
            checked::<Reason>(text)
        }
        Verb::Progress => checked::<Progress>(text),
        Verb::Complete => checked::<Completed>(text),
        Verb::Fail => checked::<Failed>(text),
        Verb::Link | Verb::Unlink => checked::<Link>(text),
    }
}

pub(super) fn link(text: &str) -> Result<Link, Problem> {
    decode_text(text)
}

pub(super) fn reason(text: &str) -> Result<Option<String>, Problem> {
    Ok(decode_text::<Reason>(text)?.reason)
}

/// Where a new task belongs, and what it is.
pub(super) fn new_task(text: &str) -> Result<(Belonging, Map<String, Value>), Problem> {
    let mut members: Map<String, Value> = decode_text(text)?;
    let of: Map<String, Value> = BELONGING.iter().filter_map(|name| members.remove_entry(*name)).collect();
    let belonging = decode_text(&Value::Object(of).to_string())?;
    Ok((belonging, checked::<New>(&Value::Object(members).to_string())?))
}

fn checked<T: serde::de::DeserializeOwned + Serialize>(text: &str) -> Result<Map<String, Value>, Problem> {
    let body: T = decode_text(text)?;
    match serde_json::to_value(body) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) | Err(_) => Ok(Map::new()),
    }
}
