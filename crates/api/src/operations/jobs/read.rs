//! Jobs as the state of their session has them.

use std::collections::BTreeMap;

use riverrun_event::{BlobRef, ErrorInfo, JobProgress, RawJson, Sequence, TaskId, ThreadId, Timestamp};
use riverrun_fold::{Job, JobItemState, JobStatus};
use schemars::JsonSchema;
use serde::Serialize;

/// A job with counts in place of its items.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobSummary {
    job_id: String,
    status: JobStatus,
    /// The first event about it.
    sequence: Sequence,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thread_id: Option<ThreadId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<TaskId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instruction_ref: Option<BlobRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<RawJson>,
    /// As its worker counted last.
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<JobProgress>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorInfo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<Timestamp>,
    /// Items beyond those that the state has.
    #[serde(skip_serializing_if = "Option::is_none")]
    dropped_items: Option<u64>,
    /// How many items there are, in all and by status.
    counts: BTreeMap<&'static str, usize>,
}

/// A job with its items.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Job")]
pub struct JobDetails {
    #[serde(flatten)]
    summary: JobSummary,
    items: Vec<JobItemState>,
}

impl JobSummary {
    pub(super) fn new(job: &Job) -> Self {
        Self {
            job_id: job.job_id.clone(),
            status: job.status,
            sequence: job.sequence,
            title: job.title.clone(),
            thread_id: job.thread_id.clone(),
            task_id: job.task_id.clone(),
            instruction_ref: job.instruction_ref.clone(),
            metadata: job.metadata.clone(),
            progress: job.progress.clone(),
            reason: job.reason.clone(),
            error: job.error.clone(),
            created_at: job.created_at,
            started_at: job.started_at,
            ended_at: job.ended_at,
            dropped_items: Some(job.dropped_items).filter(|count| *count > 0),
            counts: counts(job),
        }
    }
}

impl JobDetails {
    pub(super) fn new(job: &Job) -> Self {
        Self { summary: JobSummary::new(job), items: job.items.clone() }
    }
}

fn counts(job: &Job) -> BTreeMap<&'static str, usize> {
    let all = [
        JobStatus::Pending,
        JobStatus::Running,
        JobStatus::Completed,
        JobStatus::Failed,
        JobStatus::Cancelled,
        JobStatus::Reported,
    ];
    let count =
        |status: JobStatus| (status.as_str(), job.items.iter().filter(|item| item.status == status).count());
    all.into_iter().map(count).chain([("total", job.items.len())]).collect()
}
