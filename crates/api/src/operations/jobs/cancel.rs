use riverrun_event::{ErrorCode, JobInfo};
use riverrun_fold::JobStatus;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{ChangedJob, refuse_own_jobs, refused};
use crate::append::append_events;
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, not_found, schema};

pub struct CancelJob;

/// Cancel a job that has not ended.
///
/// Items that are complete stay complete.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CancelJobRequest {
    /// The session.
    #[schemars(schema_with = "schema::id")]
    session_id: String,
    /// The job.
    job_id: String,
    /// Why, for those who read the log.
    reason: Option<String>,
}

impl Operation for CancelJob {
    const ABOUT: About = About {
        name: "job.cancel",
        aliases: &["cancel_job"],
        id: "cancelJob",
        group: OperationGroup::Jobs,
        method: HttpMethod::Post,
        path: "/v1/sessions/{session}/jobs/{job}/cancel",
        scope: KeyScope::Write,
        pages: false,
        repeats: Repeats::AnswerStoredWithEvents,
        statuses: &[(200, "The job is cancelled.")],
        errors: &[ErrorCode::NotFound, ErrorCode::JobStatus, ErrorCode::UnsupportedOperation],
        http_names: &[],
    };
    type Request = CancelJobRequest;
    type Response = ChangedJob;

    async fn run(context: &RequestContext, request: CancelJobRequest) -> Result<ChangedJob, ApiError> {
        let hub = context.hub(&request.session_id).await?;
        let services = context.services();
        let _lock = hub.task_commands.lock().await;
        let state = services.sessions().state_at(&hub.key, hub.head()).await?;
        let job = state.jobs.find(&request.job_id).ok_or_else(not_found)?;
        refuse_own_jobs(&hub)?;
        match job.status {
            JobStatus::Pending | JobStatus::Running => {}
            JobStatus::Cancelled => return Ok(ChangedJob::unchanged(job)),
            JobStatus::Completed | JobStatus::Failed | JobStatus::Reported => {
                let detail = format!("job `{}` has ended: {}", job.job_id, job.status.as_str());
                return Err(refused(job, detail));
            }
        }
        let reason = request.reason;
        let info = JobInfo { status: Some("cancelled".to_owned()), reason, ..JobInfo::default() };
        let event = json!({ "type": "job.cancelled", "jobId": job.job_id, "payload": info });
        let cancelled = ChangedJob::new(job, JobStatus::Cancelled);
        append_events(services, &hub, &[event], context.once().record(200, &cancelled)).await?;
        Ok(cancelled)
    }
}
