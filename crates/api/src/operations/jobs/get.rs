use riverrun_event::ErrorCode;
use schemars::JsonSchema;
use serde::Deserialize;

use super::JobDetails;
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, not_found, schema};

pub struct GetJob;

/// Show a job with its items.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GetJobRequest {
    /// The session.
    #[schemars(schema_with = "schema::id")]
    session_id: String,
    /// The job.
    job_id: String,
}

impl Operation for GetJob {
    const ABOUT: About = About {
        name: "job.get",
        aliases: &["get_job"],
        id: "getJob",
        group: OperationGroup::Jobs,
        method: HttpMethod::Get,
        path: "/v1/sessions/{session}/jobs/{job}",
        scope: KeyScope::Read,
        pages: false,
        repeats: Repeats::Harmless,
        statuses: &[(200, "The job.")],
        errors: &[ErrorCode::NotFound],
        http_names: &[],
    };
    type Request = GetJobRequest;
    type Response = JobDetails;

    async fn run(context: &RequestContext, request: GetJobRequest) -> Result<JobDetails, ApiError> {
        let hub = context.hub(&request.session_id).await?;
        let known = context.services().sessions().state_at(&hub.key, hub.head()).await?.jobs;
        known.find(&request.job_id).map(JobDetails::new).ok_or_else(not_found)
    }
}
