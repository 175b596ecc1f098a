use riverrun_event::ErrorCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ChangedTask;
use super::command::{link_command, payload};
use super::verb::Verb;
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, schema};

pub struct LinkTasks;

/// Add an edge to the task graph.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LinkTasksRequest {
    /// The session.
    #[serde(skip_serializing)]
    #[schemars(schema_with = "schema::id")]
    session_id: String,
    /// The task.
    #[serde(skip_serializing)]
    #[schemars(schema_with = "schema::id")]
    task_id: String,
    /// What the edge means.
    kind: TaskLinkKind,
    /// The other end: a task of the session, or what else the kind leads to.
    #[schemars(schema_with = "schema::id")]
    target_id: String,
    /// Why, for those who read the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl Operation for LinkTasks {
    const ABOUT: About = About {
        name: "task.link",
        aliases: &["link_tasks"],
        id: "linkTasks",
        group: OperationGroup::Tasks,
        method: HttpMethod::Post,
        path: "/v1/sessions/{session}/tasks/{task}/link",
        scope: KeyScope::Write,
        pages: false,
        repeats: Repeats::AnswerStoredWithEvents,
        statuses: &[(200, "The edge is durable.")],
        errors: &[ErrorCode::NotFound, ErrorCode::TaskStatus],
        http_names: &[],
    };
    type Request = LinkTasksRequest;
    type Response = ChangedTask;

    async fn run(context: &RequestContext, request: LinkTasksRequest) -> Result<ChangedTask, ApiError> {
        let of = (&*request.session_id, &*request.task_id);
        let edge = (request.kind, &*request.target_id);
        link_command(context, of, Verb::Link, (edge, payload(&request))).await
    }
}

/// The standard's edges; those of parent and child follow from the tasks themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskLinkKind {
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

impl TaskLinkKind {
    /// Whether the edge leads to another task of the session.
    pub(super) fn leads_to_task(self) -> bool {
        match self {
            Self::Blocks | Self::BlockedBy | Self::SourceTask | Self::SpawnedSubagent => true,
            Self::SourceAttempt
            | Self::AssignedThread
            | Self::ProducedArtifact
            | Self::ConsumedArtifact
            | Self::Evidence => false,
        }
    }
}
