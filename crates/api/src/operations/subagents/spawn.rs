use riverrun_event::{ErrorCode, Input, RunId, TaskId, TurnId};
use riverrun_runner::Spawn;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::cursor_after;
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, RunnerCommand, check_input, schema};

pub struct SpawnSubagent;

/// Start a sub-agent under a task that has not ended.
///
/// The task's model reads the sub-agent's answer before it continues.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SpawnSubagentRequest {
    /// The session.
    #[schemars(schema_with = "schema::id")]
    session_id: String,
    /// The root task of a running or waiting turn, or one of its sub-agents.
    #[schemars(with = "schema::IdText")]
    parent_task_id: TaskId,
    /// The name of a configured agent.
    agent: String,
    /// What it is to do, as its model reads it.
    #[schemars(regex(pattern = "\\S"))]
    input: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SpawnedSubagent {
    subagent_id: TaskId,
    task_id: TaskId,
    run_id: RunId,
    turn_id: TurnId,
    parent_task_id: TaskId,
    /// `running`.
    status: String,
    /// A reader that begins here sees everything that the sub-agent does.
    #[schemars(schema_with = "schema::cursor")]
    cursor: String,
}

impl Operation for SpawnSubagent {
    const ABOUT: About = About {
        name: "subagent.spawn",
        aliases: &["spawn_subagent"],
        id: "spawnSubagent",
        group: OperationGroup::Subagents,
        method: HttpMethod::Post,
        path: "/v1/sessions/{session}/subagents",
        scope: KeyScope::Write,
        pages: false,
        repeats: Repeats::AnswerStored,
        statuses: &[(202, "The sub-agent is durable and works.")],
        errors: &[
            ErrorCode::NotFound,
            ErrorCode::UnknownAgent,
            ErrorCode::TurnEnded,
            ErrorCode::SubagentLimit,
        ],
        http_names: &[],
    };
    type Request = SpawnSubagentRequest;
    type Response = SpawnedSubagent;

    async fn run(
        context: &RequestContext,
        request: SpawnSubagentRequest,
    ) -> Result<SpawnedSubagent, ApiError> {
        let hub = context.hub(&request.session_id).await?;
        let SpawnSubagentRequest { parent_task_id, agent, input, .. } = request;
        let services = context.services();
        services.agents().check(&agent)?;
        check_input(services, &Input::Text(input.clone()))?;
        let spawn = Spawn { parent: parent_task_id.clone(), agent, input };
        let spawned = services.runner().spawn_subagent(&hub.key, spawn, context.request_key()).await;
        let spawned = services.answered(RunnerCommand::Subagent, spawned)?;
        Ok(SpawnedSubagent {
            subagent_id: spawned.task_id.clone(),
            task_id: spawned.task_id,
            run_id: spawned.run_id,
            turn_id: spawned.turn_id,
            parent_task_id,
            status: spawned.status,
            cursor: cursor_after(&hub, spawned.first.previous()).to_string(),
        })
    }
}
