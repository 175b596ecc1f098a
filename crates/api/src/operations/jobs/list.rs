use riverrun_event::ErrorCode;
use riverrun_fold::JobStatus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::JobSummary;
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, invalid, schema};

pub struct ListJobs;

/// List the newest jobs with counts of their items.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListJobsRequest {
    /// The session.
    #[schemars(schema_with = "schema::id")]
    session_id: String,
    /// Only jobs with this status.
    #[schemars(extend("enum" = ["pending", "running", "completed", "failed", "cancelled"]))]
    status: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct JobList {
    /// The oldest first.
    jobs: Vec<JobSummary>,
    /// Older jobs are in the log only.
    truncated: bool,
}

impl Operation for ListJobs {
    const ABOUT: About = About {
        name: "job.list",
        aliases: &["list_jobs"],
        id: "listJobs",
        group: OperationGroup::Jobs,
        method: HttpMethod::Get,
        path: "/v1/sessions/{session}/jobs",
        scope: KeyScope::Read,
        pages: false,
        repeats: Repeats::Harmless,
        statuses: &[(200, "The jobs.")],
        errors: &[ErrorCode::NotFound],
        http_names: &[],
    };
    type Request = ListJobsRequest;
    type Response = JobList;

    async fn run(context: &RequestContext, request: ListJobsRequest) -> Result<JobList, ApiError> {
        let wanted = request.status.as_deref().map(status).transpose()?;
        let hub = context.hub(&request.session_id).await?;
        let known = context.services().sessions().state_at(&hub.key, hub.head()).await?.jobs;
        let jobs = known.entries.iter().filter(|job| wanted.is_none_or(|status| job.status == status));
        Ok(JobList { jobs: jobs.map(JobSummary::new).collect(), truncated: known.dropped > 0 })
    }
}

fn status(word: &str) -> Result<JobStatus, ApiError> {
    let status = JobStatus::parse(word).filter(|status| *status != JobStatus::Reported);
    status.ok_or_else(|| invalid("status", &"it may be pending, running, completed, failed or cancelled"))
}
