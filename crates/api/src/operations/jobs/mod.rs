//! Jobs of an application: many like pieces of work, done elsewhere and recorded here.
//!
//! A caller creates a job with its items. Whoever works on it reports by `job.*` events, which it appends like any
//! others; it learns from the same stream what is to be done. The commands here create a job, cancel it, and begin
//! another attempt at one failed item.

mod cancel;
mod create;
mod get;
mod list;
mod read;
mod retry_item;

use riverrun_event::ErrorCode;
use riverrun_fold::{Job, JobStatus};
use riverrun_session::{Hub, is_jobs};
use schemars::JsonSchema;
use serde::Serialize;

pub use cancel::CancelJob;
pub use create::CreateJob;
pub use get::GetJob;
pub use list::{JobList, ListJobs};
pub use read::{JobDetails, JobSummary};
pub use retry_item::{RetriedJobItem, RetryJobItem};

use crate::ApiError;

/// A job after a command.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "JobAnswer")]
pub struct ChangedJob {
    job_id: String,
    status: JobStatus,
    /// How many items it has.
    items: usize,
    /// The job had this status before.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    duplicate: bool,
}

impl ChangedJob {
    fn new(job: &Job, status: JobStatus) -> Self {
        Self { job_id: job.job_id.clone(), status, items: job.items.len(), duplicate: false }
    }

    fn unchanged(job: &Job) -> Self {
        Self { duplicate: true, ..Self::new(job, job.status) }
    }
}

/// The server's own jobs are requests whose bodies are gone, or upkeep that comes back to what failed by itself.
fn refuse_own_jobs(hub: &Hub) -> Result<(), ApiError> {
    if !is_jobs(hub.session()) {
        return Ok(());
    }
    let detail = "the jobs in this session are the server's own: send the import, export or backup again; retention \
                  comes back by itself to a session that it could not finish";
    Err(ApiError::new(ErrorCode::UnsupportedOperation, detail))
}

fn refused(job: &Job, detail: String) -> ApiError {
    ApiError::new(ErrorCode::JobStatus, detail).with("jobStatus", job.status.as_str())
}
