//! Jobs: many like pieces of work, each with a status and attempts of its own.

use riverrun_event::{BlobRef, ErrorInfo, JobProgress, RawJson, Sequence, TaskId, ThreadId, Timestamp};
use serde::{Deserialize, Serialize};

/// Jobs in the state; the oldest that has ended is dropped first, and is counted.
pub const MAX_JOBS: usize = 32;
/// Items in the state for each job; those beyond are counted.
pub const MAX_JOB_ITEMS: usize = 1000;

/// The jobs of a session.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Jobs {
    /// In the order in which they were created.
    pub entries: Vec<JobState>,
    /// Jobs that were dropped to keep the state small. The log still has them.
    #[serde(skip_serializing_if = "is_zero")]
    pub dropped: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The status of a job or of one of its items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobStatus {
    /// It has not begun.
    #[default]
    Pending,
    /// It is at work.
    Running,
    /// It ended well.
    Completed,
    /// It ended in a failure.
    Failed,
    /// The job was cancelled before its end.
    Cancelled,
    /// Of an item: it is complete and its result was delivered.
    Reported,
}

impl JobStatus {
    /// True if it has ended.
    pub fn is_terminal(self) -> bool {
        match self {
            JobStatus::Pending | JobStatus::Running => false,
            JobStatus::Completed | JobStatus::Failed | JobStatus::Cancelled | JobStatus::Reported => true,
        }
    }

    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            JobStatus::Pending => "pending",
            JobStatus::Running => "running",
            JobStatus::Completed => "completed",
            JobStatus::Failed => "failed",
            JobStatus::Cancelled => "cancelled",
            JobStatus::Reported => "reported",
        }
    }

    /// None for a word that is no status.
    pub fn parse(word: &str) -> Option<Self> {
        serde_json::from_value(serde_json::Value::String(word.to_owned())).ok()
    }
}

/// A job with its items.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobState {
    /// The job.
    pub job_id: String,
    /// Its status.
    pub status: JobStatus,
    /// The first event about it.
    pub sequence: Sequence,
    /// A name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The thread that it runs in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    /// The task that runs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// What is to be done with each item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instruction_ref: Option<BlobRef>,
    /// Metadata of whoever created it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<RawJson>,
    /// As its worker counted last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<JobProgress>,
    /// Why it has this status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorInfo>,
    /// When it was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// Its items, in the order in which they were named.
    pub items: Vec<JobItemState>,
    /// Items beyond those that the state keeps.
    #[serde(skip_serializing_if = "is_zero")]
    pub dropped_items: u64,
}

/// One item of a job.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobItemState {
    /// The item.
    pub item_id: String,
    /// Its status.
    pub status: JobStatus,
    /// Attempts so far, the running one included.
    pub attempts: u32,
    /// A name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The thread that works on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    /// Metadata of whoever created it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<RawJson>,
    /// Its input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_ref: Option<BlobRef>,
    /// Its output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_ref: Option<BlobRef>,
    /// Why the last failed attempt failed. It stays when a later attempt succeeds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<ErrorInfo>,
    /// Of a failed item: whether another attempt may succeed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
    /// When its last attempt began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When its last attempt ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
}

impl Jobs {
    /// True if there was never a job.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.dropped == 0
    }

    /// The job with this id, if it is in the state.
    pub fn find(&self, job: &str) -> Option<&JobState> {
        self.entries.iter().find(|known| known.job_id == job)
    }

    /// Makes room for a new one; its position.
    pub(crate) fn push(&mut self, job: JobState) -> usize {
        if self.entries.len() >= MAX_JOBS {
            let ended = self.entries.iter().position(|known| known.status.is_terminal());
            self.entries.remove(ended.unwrap_or(0));
            self.dropped += 1;
        }
        self.entries.push(job);
        self.entries.len() - 1
    }
}

impl JobState {
    /// The item with this id, if it is in the state.
    pub fn item(&self, item: &str) -> Option<&JobItemState> {
        self.items.iter().find(|known| known.item_id == item)
    }

    pub(crate) fn is_full(&self) -> bool {
        self.items.len() >= MAX_JOB_ITEMS
    }

    /// The position of a new item; None if the state has no room for it.
    pub(crate) fn push(&mut self, item: JobItemState) -> Option<usize> {
        if self.is_full() {
            self.dropped_items += 1;
            return None;
        }
        self.items.push(item);
        Some(self.items.len() - 1)
    }
}
