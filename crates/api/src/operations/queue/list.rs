use riverrun_event::{ErrorCode, ThreadId};
use schemars::JsonSchema;
use serde::Deserialize;

use super::QueuedTurns;
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, RunnerCommand, schema};

pub struct ListQueue;

/// List the turns that wait for their thread.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListQueueRequest {
    /// The session.
    #[schemars(schema_with = "schema::id")]
    session_id: String,
    /// Only turns of this thread.
    thread_id: Option<ThreadId>,
}

impl Operation for ListQueue {
    const ABOUT: About = About {
        name: "queue.list",
        aliases: &[],
        id: "listQueue",
        group: OperationGroup::Turns,
        method: HttpMethod::Get,
        path: "/v1/sessions/{session}/queue",
        scope: KeyScope::Read,
        pages: true,
        repeats: Repeats::Harmless,
        statuses: &[(200, "The queue, first what starts next.")],
        errors: &[ErrorCode::NotFound],
        http_names: &[("threadId", "thread")],
    };
    type Request = ListQueueRequest;
    type Response = QueuedTurns;

    async fn run(context: &RequestContext, request: ListQueueRequest) -> Result<QueuedTurns, ApiError> {
        let hub = context.hub(&request.session_id).await?;
        let services = context.services();
        let queue = services.runner().queue(&hub.key, request.thread_id.as_ref()).await;
        Ok(QueuedTurns { queue: services.answered(RunnerCommand::Queue, queue)? })
    }
}
