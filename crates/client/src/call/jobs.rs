//! Jobs of a session, and the benchmark trials that a harness recorded in it.

use bytes::Bytes;
use http::Method;
use riverrun_event::{JobId, JobInfo, SessionId};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::session_path;
use crate::client::Client;
use crate::error::Result;
use crate::exchange::{Call, encode};

/// A job to create. Whoever works on it reports by `job.*` events.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NewJob {
    /// The same id with the same title and items is the same job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_id: Option<JobId>,
    /// The title, the items and the metadata.
    #[serde(flatten)]
    pub info: JobInfo,
}

/// A job, as far as its members are known here; the others are as they came.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Job {
    pub job_id: String,
    /// `pending`, `running`, `completed`, `failed` or `cancelled`.
    pub status: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// How many items there are, in all and by status.
    #[serde(default)]
    pub counts: JobCounts,
    /// Empty in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<JobItem>,
    #[serde(flatten)]
    pub more: serde_json::Map<String, Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct JobCounts {
    pub total: u64,
    pub pending: u64,
    pub running: u64,
    pub completed: u64,
    pub failed: u64,
    pub cancelled: u64,
    pub reported: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobItem {
    pub item_id: String,
    pub status: String,
    #[serde(default)]
    pub attempts: u32,
    #[serde(flatten)]
    pub more: serde_json::Map<String, Value>,
}

#[derive(Deserialize)]
struct Jobs {
    jobs: Vec<Job>,
}

impl Client {
    /// Creates a job: `{jobId, status, items}`.
    pub async fn create_job(&self, session: &SessionId, new: &NewJob) -> Result<Value> {
        self.post(format!("{}/jobs", session_path(session)), new).await
    }

    /// The newest jobs of a session without their items, the oldest first.
    pub async fn jobs(&self, session: &SessionId) -> Result<Vec<Job>> {
        let Jobs { jobs } = self.get(format!("{}/jobs", session_path(session))).await?;
        Ok(jobs)
    }

    /// A job with its items.
    pub async fn job(&self, session: &SessionId, job: &str) -> Result<Job> {
        self.get(job_path(session, job)).await
    }

    /// Cancels a job that has not ended; items that are complete stay complete.
    pub async fn cancel_job(&self, session: &SessionId, job: &str, reason: Option<&str>) -> Result<Value> {
        self.post(format!("{}/cancel", job_path(session, job)), &because(reason)).await
    }

    /// Begins another attempt at one failed item. `force` retries one whose worker gave it up.
    pub async fn retry_job_item(
        &self,
        session: &SessionId,
        job: &str,
        item: &str,
        force: bool,
        reason: Option<&str>,
    ) -> Result<Value> {
        let mut body = because(reason);
        if force {
            body["force"] = true.into();
        }
        self.post(format!("{}/items/{}/retry", job_path(session, job), encode(item)), &body).await
    }

    /// The benchmark trials of a session as `json`, `ndjson` or `csv`.
    pub async fn benchmark(&self, session: &SessionId, format: &str) -> Result<Bytes> {
        let path = format!("{}/benchmark?format={}", session_path(session), encode(format));
        Ok(self.http().fetch(Call::new(Method::GET, path).accept("*/*")).await?.into_body())
    }
}

fn because(reason: Option<&str>) -> Value {
    reason.map_or_else(|| json!({}), |reason| json!({ "reason": reason }))
}

fn job_path(session: &SessionId, job: &str) -> String {
    format!("{}/jobs/{}", session_path(session), encode(job))
}
