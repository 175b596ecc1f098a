use riverrun_event::{ErrorCode, JobInfo, JobItem};
use riverrun_fold::{Job, JobItemState, JobStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{refuse_own_jobs, refused};
use crate::append::append_events;
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, not_found, schema};

pub struct RetryJobItem;

/// Begin another attempt at one failed item of a job.
///
/// A job that had ended runs again; the other items keep their results.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RetryJobItemRequest {
    /// The session.
    #[schemars(schema_with = "schema::id")]
    session_id: String,
    /// The job.
    job_id: String,
    /// The item of the job.
    item_id: String,
    /// Why, for those who read the log.
    reason: Option<String>,
    /// Also retry an item whose worker reported that another attempt cannot succeed.
    #[serde(default)]
    force: bool,
}

/// An item whose next attempt began.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RetriedJobItem {
    job_id: String,
    item_id: String,
    status: JobStatus,
    /// Attempts so far, this one included.
    attempts: u32,
    job_status: JobStatus,
}

impl Operation for RetryJobItem {
    const ABOUT: About = About {
        name: "job.retry_item",
        aliases: &["retry_job_item"],
        id: "retryJobItem",
        group: OperationGroup::Jobs,
        method: HttpMethod::Post,
        path: "/v1/sessions/{session}/jobs/{job}/items/{item}/retry",
        scope: KeyScope::Write,
        pages: false,
        repeats: Repeats::AnswerStoredWithEvents,
        statuses: &[(200, "The next attempt began.")],
        errors: &[ErrorCode::NotFound, ErrorCode::JobStatus, ErrorCode::UnsupportedOperation],
        http_names: &[],
    };
    type Request = RetryJobItemRequest;
    type Response = RetriedJobItem;

    async fn run(context: &RequestContext, request: RetryJobItemRequest) -> Result<RetriedJobItem, ApiError> {
        let hub = context.hub(&request.session_id).await?;
        let services = context.services();
        let _lock = hub.task_commands.lock().await;
        let state = services.sessions().state_at(&hub.key, hub.head()).await?;
        let job = state.jobs.find(&request.job_id).ok_or_else(not_found)?;
        let item = job.item(&request.item_id).ok_or_else(not_found)?;
        refuse_own_jobs(&hub)?;
        check_retry(job, item, request.force)?;
        let retried = RetriedJobItem {
            job_id: job.job_id.clone(),
            item_id: item.item_id.clone(),
            status: JobStatus::Running,
            attempts: item.attempts.saturating_add(1),
            job_status: JobStatus::Running,
        };
        let events = attempt(job, item, request.reason);
        append_events(services, &hub, &events, context.once().record(200, &retried)).await?;
        Ok(retried)
    }
}

fn check_retry(job: &Job, item: &JobItemState, force: bool) -> Result<(), ApiError> {
    let id = &item.item_id;
    let instead = match (job.status, item.status) {
        (JobStatus::Cancelled, _) => "its job was cancelled; create another job",
        (_, JobStatus::Failed) if item.retryable != Some(false) || force => return Ok(()),
        (_, JobStatus::Failed) => {
            "its worker reported that another attempt cannot succeed; send `force: true` to try it all the same"
        }
        (_, JobStatus::Pending) => "it was not tried yet",
        (_, JobStatus::Running) => "an attempt is under way",
        (_, JobStatus::Completed | JobStatus::Reported | JobStatus::Cancelled) => {
            "only failed items are retried"
        }
    };
    let detail = format!("item `{id}` is {} and is not retried: {instead}", item.status.as_str());
    Err(refused(job, detail).with("itemStatus", item.status.as_str()).with("attempts", item.attempts))
}

fn attempt(job: &Job, item: &JobItemState, reason: Option<String>) -> Vec<Value> {
    let mut events = Vec::new();
    if job.status.is_terminal() {
        let info = JobInfo {
            status: Some("running".to_owned()),
            reason: Some(format!("item `{}` is tried again", item.item_id)),
            ..JobInfo::default()
        };
        events.push(json!({ "type": "job.started", "jobId": job.job_id, "payload": info }));
    }
    let next = JobItem {
        status: Some("running".to_owned()),
        attempts: Some(item.attempts.saturating_add(1)),
        reason,
        ..JobItem::default()
    };
    events.push(json!({
        "type": "job.item.started", "jobId": job.job_id, "jobItemId": item.item_id, "payload": next,
    }));
    events
}
