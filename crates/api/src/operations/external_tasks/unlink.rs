use riverrun_event::ErrorCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ChangedTask;
use super::command::{link_command, payload};
use super::link::TaskLinkKind;
use super::verb::Verb;
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, schema};

pub struct UnlinkTasks;

/// Remove an edge from the task graph.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UnlinkTasksRequest {
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

impl Operation for UnlinkTasks {
    const ABOUT: About = About {
        name: "task.unlink",
        aliases: &["unlink_tasks"],
        id: "unlinkTasks",
        group: OperationGroup::Tasks,
        method: HttpMethod::Post,
        path: "/v1/sessions/{session}/tasks/{task}/unlink",
        scope: KeyScope::Write,
        pages: false,
        repeats: Repeats::AnswerStoredWithEvents,
        statuses: &[(200, "The edge is removed.")],
        errors: &[ErrorCode::NotFound, ErrorCode::TaskStatus],
        http_names: &[],
    };
    type Request = UnlinkTasksRequest;
    type Response = ChangedTask;

    async fn run(context: &RequestContext, request: UnlinkTasksRequest) -> Result<ChangedTask, ApiError> {
        let of = (&*request.session_id, &*request.task_id);
        let edge = (request.kind, &*request.target_id);
        link_command(context, of, Verb::Unlink, (edge, payload(&request))).await
    }
}
