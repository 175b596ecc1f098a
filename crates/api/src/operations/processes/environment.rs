use riverrun_event::ErrorCode;
use riverrun_fold::read_model::{self, ProcessesRead, Standing};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::MAX_WRITE;
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, schema};

pub struct GetEnvironment;

/// Show where the session's work runs, and its processes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GetEnvironmentRequest {
    /// The session.
    #[schemars(schema_with = "schema::id")]
    session_id: String,
}

/// The processes from the log, and the machine of this server.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Environment {
    arch: &'static str,
    /// The working directory, or `unavailable`.
    cwd: String,
    os: &'static str,
    #[schemars(with = "ProcessesRead")]
    processes: Value,
    resource_limits: ResourceLimits,
    /// `not_applicable`: commands are started without one.
    shell: &'static str,
    standing: Standing,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct ResourceLimits {
    /// The most bytes that one write to a process may have.
    stdin_bytes: usize,
}

impl Operation for GetEnvironment {
    const ABOUT: About = About {
        name: "environment.get",
        aliases: &["get_execution_environment"],
        id: "getEnvironment",
        group: OperationGroup::Processes,
        method: HttpMethod::Get,
        path: "/v1/sessions/{session}/environment",
        scope: KeyScope::Read,
        pages: false,
        repeats: Repeats::Harmless,
        statuses: &[(200, "The execution environment.")],
        errors: &[ErrorCode::NotFound],
        http_names: &[],
    };
    type Request = GetEnvironmentRequest;
    type Response = Environment;

    async fn run(context: &RequestContext, request: GetEnvironmentRequest) -> Result<Environment, ApiError> {
        let hub = context.hub(&request.session_id).await?;
        let state = context.services().sessions().state_at(&hub.key, hub.head()).await?;
        let known = read_model::read_models(&state).execution_environment_snapshot;
        let cwd = std::env::current_dir();
        Ok(Environment {
            arch: std::env::consts::ARCH,
            cwd: cwd.map_or_else(|_| "unavailable".to_owned(), |cwd| cwd.display().to_string()),
            os: std::env::consts::OS,
            processes: serde_json::to_value(known.processes).unwrap_or_default(),
            resource_limits: ResourceLimits { stdin_bytes: MAX_WRITE },
            shell: "not_applicable",
            standing: known.standing,
        })
    }
}
