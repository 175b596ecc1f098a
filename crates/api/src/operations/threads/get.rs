use std::borrow::Cow;

use riverrun_event::{ErrorCode, ThreadId};
use riverrun_fold::read_model::{self, ThreadRead};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, Serializer};

use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, not_found, schema};

pub struct GetThread;

/// Show what is happening in a thread now.
///
/// It is the Agent Runtime standard's read model. The runner continues by itself after a restart, so resuming a thread
/// is reading it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GetThreadRequest {
    /// The session.
    #[schemars(schema_with = "schema::id")]
    session_id: String,
    /// The thread. Default: `main`.
    thread_id: Option<ThreadId>,
}

/// A thread with its turns, pending requests, queue, tool calls and processes.
pub struct ThreadView(ThreadRead);

impl Serialize for ThreadView {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl JsonSchema for ThreadView {
    fn schema_name() -> Cow<'static, str> {
        "Thread".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let list = json_schema!({ "type": "array", "items": { "type": "object" } });
        json_schema!({
            "type": "object",
            "description": "A thread with its turns, pending requests, queue, tool calls and processes.",
            "properties": {
                "threadId": { "type": "string" },
                "status": { "type": "string" },
                "nativeStatus": { "type": "string", "description": "Our own word, where the standard's differs." },
                "title": { "type": "string" },
                "activeTurnId": { "type": "string", "description": "Absent while no turn is active." },
                "lastOutcome": { "type": "string", "description": "`unknown` until a turn ended." },
                "turns": list,
                "truncated": { "type": "boolean", "description": "Older turns are sealed and are read on demand." },
                "pendingRequests": list,
                "queuedTurns": list,
                "incidents": list,
                "toolCalls": list,
                "processes": list,
                "evidenceSummary": { "type": "object" },
            },
            "required": [
                "threadId", "status", "lastOutcome", "turns", "truncated", "pendingRequests", "queuedTurns",
                "incidents", "toolCalls", "processes", "evidenceSummary",
            ],
        })
    }
}

impl Operation for GetThread {
    const ABOUT: About = About {
        name: "thread.get",
        aliases: &["resume_thread", "get_thread_read"],
        id: "getThread",
        group: OperationGroup::Sessions,
        method: HttpMethod::Get,
        path: "",
        scope: KeyScope::Read,
        pages: true,
        repeats: Repeats::Harmless,
        statuses: &[(200, "The thread.")],
        errors: &[ErrorCode::NotFound],
        http_names: &[],
    };
    type Request = GetThreadRequest;
    type Response = ThreadView;

    async fn run(context: &RequestContext, request: GetThreadRequest) -> Result<ThreadView, ApiError> {
        let wanted = request.thread_id.as_ref().map_or("main", ThreadId::as_str);
        let hub = context.hub(&request.session_id).await?;
        let state = context.services().sessions().state_at(&hub.key, hub.head()).await?;
        let threads = read_model::read_models(&state).thread_read_model;
        let thread = threads.into_iter().find(|thread| thread.thread_id.as_str() == wanted);
        thread.map(ThreadView).ok_or_else(not_found)
    }
}
