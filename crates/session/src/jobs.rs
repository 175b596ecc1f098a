//! The server's own long work as jobs: import, export, backup, retention.
//!
//! Their events are in a session of the tenant, [`JOBS`], which is made with the first job and is left out of lists of
//! sessions. They are told beside the work: a job that cannot be written holds nothing up.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use riverrun_event::{
    Author, Decoded, ErrorCode, ErrorInfo, EventType, JobInfo, JobItem, JobProgress, OutputChanged,
    SessionId, SessionInfo, TaskId, TenantId, Timestamp, decode,
};
use riverrun_log::{SessionKey, SessionSpec};
use serde::Serialize;
use serde_json::json;

use crate::draft::draft_of;
use crate::hubs::{Batch, Hub, log_time};
use crate::lock::lock;
use crate::sessions::{Sessions, Source};
use crate::{AppendError, InvalidEvent};

/// The session that holds the events of jobs, and the tag that it is listed by.
const JOBS: &str = "riverrun-jobs";
/// The tag of sessions that hold jobs of the server.
pub const TAG: &str = "jobs";
/// Two words on how far a job is are at least so far apart.
const PROGRESS_EVERY: Duration = Duration::from_secs(1);

/// The jobs of this process that have not ended. What is open in the log and not here was left by another one.
static RUNNING: LazyLock<Mutex<HashSet<String>>> = LazyLock::new(Mutex::default);

/// True for the session that holds jobs of the server.
pub fn is_jobs(session: &SessionId) -> bool {
    session.as_str() == JOBS
}

/// A job under way. One that is dropped before its end was stopped.
pub struct Job {
    sessions: Sessions,
    hub: Option<Arc<Hub>>,
    id: String,
    title: String,
    progress: JobProgress,
    item: Option<String>,
    /// When the last progress was written.
    reported: Instant,
}

impl Job {
    /// Writes that a job begins. `total` is the number of its items, if it is known.
    pub async fn begin(sessions: &Sessions, tenant: &TenantId, title: &str, total: Option<u64>) -> Self {
        let id = format!("job_{}", TaskId::from_bytes(random_id(sessions.now())));
        let hub = match jobs_hub(sessions, tenant).await {
            Ok(hub) => hub,
            Err(error) => {
                tracing::warn!(code = %error.code(), title, "a job is not recorded");
                None
            }
        };
        lock(&RUNNING).insert(id.clone());
        let progress = JobProgress { total, completed: Some(0), ..JobProgress::default() };
        let (sessions, title) = (sessions.clone(), title.to_owned());
        let job = Self { sessions, hub, id, title, progress, item: None, reported: Instant::now() };
        let (created, started) = (job.info("pending"), job.info("running"));
        let events = [job.event(EventType::JobCreated, &created), job.event(EventType::JobStarted, &started)];
        job.write(events.into_iter().flatten().collect()).await;
        job
    }

    /// Writes that an item begins.
    pub async fn begin_item(&mut self, item: &str) {
        self.item = Some(item.to_owned());
        let started = JobItem { status: Some("running".to_owned()), attempts: Some(1), ..JobItem::default() };
        self.write(self.item_event(EventType::JobItemStarted, &started).into_iter().collect()).await;
    }

    /// The item ended well, with what it took out of the log.
    pub async fn end_item(&mut self, expired: Option<OutputChanged>) {
        let ended = JobItem { status: Some("completed".to_owned()), ..JobItem::default() };
        let mut events: Vec<Decoded> = expired
            .and_then(|output| self.item_event(EventType::OutputExpired, &output))
            .into_iter()
            .collect();
        events.extend(self.item_event(EventType::JobItemCompleted, &ended));
        self.item = None;
        self.progress.completed = self.progress.completed.map(|count| count + 1);
        self.write(events).await;
    }

    /// Writes that the present item failed.
    pub async fn fail_item(&mut self, failure: &JobFailure) {
        let event = self.failed_item(failure);
        self.progress.failed = Some(self.progress.failed.unwrap_or(0) + 1);
        self.write(event.into_iter().collect()).await;
    }

    fn failed_item(&mut self, failure: &JobFailure) -> Option<Decoded> {
        let failed = JobItem {
            status: Some("failed".to_owned()),
            last_error: Some(failure.info()),
            retryable: Some(failure.code.is_retryable()),
            ..JobItem::default()
        };
        let event = self.item_event(EventType::JobItemFailed, &failed);
        self.item = None;
        event
    }

    /// Counts completed items, and writes the progress now and then.
    pub async fn add(&mut self, completed: u64) {
        self.advance(self.progress.completed.unwrap_or(0) + completed).await;
    }

    /// How far the job is, at most once a second.
    pub async fn advance(&mut self, completed: u64) {
        self.progress.completed = Some(completed);
        if self.reported.elapsed() >= PROGRESS_EVERY {
            self.reported = Instant::now();
            self.write(self.event(EventType::JobProgress, &self.info("running")).into_iter().collect()).await;
        }
    }

    /// Writes that the job ended well.
    pub async fn complete(mut self) {
        let (last, ended) = (self.info("running"), self.info("completed"));
        let events = [self.event(EventType::JobProgress, &last), self.event(EventType::JobCompleted, &ended)];
        self.end(events.into_iter().flatten().collect()).await;
    }

    /// Writes that the job failed.
    pub async fn fail(mut self, failure: &JobFailure) {
        let mut events: Vec<Decoded> =
            if self.item.is_some() { self.failed_item(failure).into_iter().collect() } else { Vec::new() };
        let failed = JobInfo { error: Some(failure.info()), ..self.info("failed") };
        events.extend(self.event(EventType::JobFailed, &failed));
        self.end(events).await;
    }

    /// Writes that the job was cancelled.
    pub async fn cancel(mut self, reason: &str) {
        let cancelled = self.cancelled(reason);
        self.end(cancelled.into_iter().collect()).await;
    }

    fn cancelled(&self, reason: &str) -> Option<Decoded> {
        let cancelled = JobInfo { reason: Some(reason.to_owned()), ..self.info("cancelled") };
        self.event(EventType::JobCancelled, &cancelled)
    }

    async fn end(&mut self, events: Vec<Decoded>) {
        self.write(events).await;
        self.hub = None;
    }

    fn info(&self, status: &str) -> JobInfo {
        JobInfo {
            status: Some(status.to_owned()),
            title: Some(self.title.clone()),
            progress: Some(self.progress.clone()),
            ..JobInfo::default()
        }
    }

    fn event(&self, kind: EventType, payload: &impl Serialize) -> Option<Decoded> {
        written(&kind, &self.id, None, payload)
    }

    fn item_event(&self, kind: EventType, payload: &impl Serialize) -> Option<Decoded> {
        written(&kind, &self.id, self.item.as_deref(), payload)
    }

    async fn write(&self, events: Vec<Decoded>) {
        let Some(hub) = &self.hub else { return };
        let batch = Batch { events, ..Batch::default() };
        if let Err(error) = self.sessions.append(Source::Ingest, hub, &batch).await {
            tracing::warn!(code = %error.code(), job = self.id, "progress of a job was not stored");
        }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        lock(&RUNNING).remove(&self.id);
        let Some(hub) = self.hub.take() else { return };
        let event = self.cancelled("who asked for it went away");
        let batch = Batch { events: event.into_iter().collect(), ..Batch::default() };
        let sessions = self.sessions.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { sessions.append(Source::Ingest, &hub, &batch).await.map(drop) });
        }
    }
}

fn written(kind: &EventType, job: &str, item: Option<&str>, payload: &impl Serialize) -> Option<Decoded> {
    let mut event = json!({ "type": kind.as_str(), "jobId": job, "payload": payload });
    if let Some(item) = item {
        event["jobItemId"] = item.into();
    }
    decode(&event.to_string()).map(|event| event.by(Author::Writer)).ok()
}

/// Why a job or one of its items failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobFailure {
    /// The stable code of the error.
    pub code: ErrorCode,
    /// The same for people.
    pub message: String,
}

impl JobFailure {
    fn info(&self) -> ErrorInfo {
        ErrorInfo {
            message: self.message.clone(),
            code: Some(self.code.to_string()),
            retryable: Some(self.code.is_retryable()),
            ..ErrorInfo::default()
        }
    }
}

impl From<&riverrun_log::LogError> for JobFailure {
    fn from(error: &riverrun_log::LogError) -> Self {
        // Everybody who may read the job sees the message: the cause of a failure may hold paths of this machine.
        let message = match error {
            riverrun_log::LogError::Failed(_) => "the store failed".to_owned(),
            error => error.to_string(),
        };
        Self { code: error.code(), message }
    }
}

/// Why the events of a job could not be recorded.
#[derive(Debug, thiserror::Error)]
enum RecordError {
    #[error(transparent)]
    Append(#[from] AppendError),
    #[error(transparent)]
    Event(#[from] InvalidEvent),
}

impl From<riverrun_log::LogError> for RecordError {
    fn from(error: riverrun_log::LogError) -> Self {
        Self::Append(error.into())
    }
}

impl RecordError {
    fn code(&self) -> ErrorCode {
        match self {
            RecordError::Append(error) => error.code(),
            RecordError::Event(error) => error.code,
        }
    }
}

/// Sorts by time: 48 bits of milliseconds, then 80 of chance.
fn random_id(now: Timestamp) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..6].copy_from_slice(&now.millis().to_be_bytes()[2..]);
    // Without randomness two jobs of one millisecond share an id, which only merges how they are shown.
    let _ = getrandom::fill(&mut bytes[6..]);
    bytes
}

/// The session of the tenant's jobs; made if it is not there. Jobs that another process left open have failed.
async fn jobs_hub(sessions: &Sessions, tenant: &TenantId) -> Result<Option<Arc<Hub>>, RecordError> {
    let Ok(session) = SessionId::new(JOBS) else { return Ok(None) };
    let key = SessionKey::new(tenant.clone(), session);
    let title = Some("Long work of the server".to_owned());
    let tags = vec![TAG.to_owned()];
    let new = SessionSpec {
        title: title.clone(),
        status: "idle".to_owned(),
        tags: tags.clone(),
        created_at: log_time(sessions.now()),
        ..SessionSpec::default()
    };
    let made = sessions.log().create_session(&key, new).await?;
    let Some(hub) = sessions.hubs().get(&key).await? else { return Ok(None) };
    if made.new {
        let info = SessionInfo { title, tags: Some(tags), ..SessionInfo::default() };
        let created = draft_of(EventType::SessionCreated, &Default::default(), &info)?;
        sessions.append(Source::Ingest, &hub, &Batch { events: vec![created], ..Batch::default() }).await?;
    } else {
        end_left(sessions, &hub).await?;
    }
    Ok(Some(hub))
}

async fn end_left(sessions: &Sessions, hub: &Hub) -> Result<(), RecordError> {
    let state = sessions.state_at(&hub.key, hub.head()).await?;
    let open =
        [EventType::JobCreated, EventType::JobStarted, EventType::JobProgress].map(|kind| kind.to_string());
    let running = lock(&RUNNING).clone();
    let left = state
        .ledger
        .family("job")
        .into_iter()
        .flat_map(|family| &family.entries)
        .filter(|entry| open.contains(&entry.kind));
    let left = left.filter(|entry| !running.contains(&entry.key));
    let failed = JobInfo {
        status: Some("failed".to_owned()),
        reason: Some("the server stopped while the job ran".to_owned()),
        ..JobInfo::default()
    };
    let events: Vec<Decoded> =
        left.filter_map(|entry| written(&EventType::JobFailed, &entry.key, None, &failed)).collect();
    if !events.is_empty() {
        sessions.append(Source::Ingest, hub, &Batch { events, ..Batch::default() }).await?;
    }
    Ok(())
}
