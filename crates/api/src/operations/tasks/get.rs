use std::borrow::Cow;
use std::sync::Arc;

use riverrun_dialect::{IndexUnit, task};
use riverrun_event::{ErrorCode, RawJson, TaskId};
use riverrun_session::{Hub, TaskPlace};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, Identity, KeyScope, RequestContext, Services, not_found, schema};

pub struct GetTask;

/// Show a task with its output.
///
/// The output of its children is inside. Ids that callers chose may be those of tasks in several sessions: the newest
/// one answers unless the session is given.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GetTaskRequest {
    /// The task.
    #[schemars(schema_with = "schema::id")]
    task_id: String,
    /// The session of the task. Default: the newest that has a task of this id.
    #[schemars(with = "Option<schema::IdText>")]
    session_id: Option<String>,
    #[serde(default)]
    index_unit: TextUnit,
}

/// The unit of offsets in text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum TextUnit {
    #[default]
    CodePoint,
    Utf16,
    Utf8,
}

impl From<TextUnit> for IndexUnit {
    fn from(unit: TextUnit) -> Self {
        match unit {
            TextUnit::CodePoint => IndexUnit::CodePoint,
            TextUnit::Utf16 => IndexUnit::Utf16,
            TextUnit::Utf8 => IndexUnit::Utf8,
        }
    }
}

/// A task in the `task` dialect: its id, its status and its output.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct TaskObject(RawJson);

impl JsonSchema for TaskObject {
    fn schema_name() -> Cow<'static, str> {
        "Task".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "description": "A task in the `task` dialect.",
            "properties": {
                "task_id": schema::id(generator),
                "status": { "type": "string" },
                "output": { "type": "array", "items": { "type": "object" } },
            },
            "required": ["task_id", "status", "output"],
        })
    }
}

impl Operation for GetTask {
    const ABOUT: About = About {
        name: "task.get",
        aliases: &["get_task"],
        id: "getTask",
        group: OperationGroup::Tasks,
        method: HttpMethod::Get,
        path: "/v1/tasks/{task}",
        scope: KeyScope::Read,
        pages: true,
        repeats: Repeats::Harmless,
        statuses: &[(200, "The task.")],
        errors: &[ErrorCode::NotFound],
        http_names: &[("sessionId", "session"), ("indexUnit", "index_unit")],
    };
    type Request = GetTaskRequest;
    type Response = TaskObject;

    async fn run(context: &RequestContext, request: GetTaskRequest) -> Result<TaskObject, ApiError> {
        let (services, unit) = (context.services(), request.index_unit.into());
        let id = TaskId::new(&request.task_id).map_err(|_| not_found())?;
        let hub = match request.session_id {
            Some(session) => context.hub(&session).await?,
            None => newest_session_with(services, context.identity(), &id).await?,
        };
        let object = task_object(services, &hub, &id, unit).await?;
        let object = RawJson::parse(object).expect("the dialect writes JSON");
        Ok(TaskObject(object))
    }
}

/// `{task_id, status, output}`, with the children's output inside.
pub async fn task_object(
    services: &Services,
    hub: &Hub,
    id: &TaskId,
    unit: IndexUnit,
) -> Result<String, ApiError> {
    let object = match services.sessions().place_of_task(&hub.key, hub.head(), id).await? {
        Some(TaskPlace::Here(state)) => task::object(&state, id, unit),
        Some(TaskPlace::Sealed(turn)) => task::object_of_sealed(&turn, id, unit),
        None => None,
    };
    object.ok_or_else(not_found)
}

/// The newest session with a task of this id that the caller may know of.
pub async fn newest_session_with(
    services: &Services,
    identity: &Identity,
    task: &TaskId,
) -> Result<Arc<Hub>, ApiError> {
    let found = services.log().find_task(identity.tenant(), task).await?;
    let mine = found.iter().find(|record| identity.require_session(&record.key.session).is_ok());
    services.hub(identity, mine.ok_or_else(not_found)?.key.session.as_str()).await
}
