use std::collections::HashSet;

use riverrun_event::{BlobRef, ErrorCode, JobId, JobInfo, JobItemId, JobItemInfo, RawJson, TaskId, ThreadId};
use riverrun_fold::{Job, JobStatus, MAX_JOB_ITEMS, MAX_JOBS, State};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{ChangedJob, refuse_own_jobs};
use crate::append::append_events;
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, schema};

/// The longest title, in characters.
const MAX_TITLE: usize = 500;
/// The most bytes that the metadata of a job or of one item has.
const MAX_METADATA: usize = 16 * 1024;

pub struct CreateJob;

/// Create a job with its items.
///
/// Whoever works on it reports by `job.*` events.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateJobRequest {
    /// The session.
    #[schemars(schema_with = "schema::id")]
    session_id: String,
    /// The id of the new job; made by the server by default.
    #[schemars(with = "Option<schema::IdText>")]
    job_id: Option<JobId>,
    /// A short name for people.
    #[schemars(length(max = 500))]
    title: Option<String>,
    /// The pieces of work.
    #[serde(default)]
    #[schemars(length(max = 1000))]
    items: Vec<NewJobItem>,
    /// Of the caller's own; at most 16 KiB.
    metadata: Option<RawJson>,
    /// Where the instructions are.
    instruction_ref: Option<BlobRef>,
    /// The task that the job works for.
    #[schemars(with = "Option<schema::IdText>")]
    task_id: Option<TaskId>,
    /// The thread that the job belongs to.
    #[schemars(with = "Option<schema::IdText>")]
    thread_id: Option<ThreadId>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct NewJobItem {
    /// Its id in the job.
    #[schemars(with = "schema::IdText")]
    item_id: JobItemId,
    /// A short name for people.
    #[schemars(length(max = 500))]
    title: Option<String>,
    /// Where its input is.
    input_ref: Option<BlobRef>,
    /// Of the caller's own; at most 16 KiB.
    metadata: Option<RawJson>,
}

impl Operation for CreateJob {
    const ABOUT: About = About {
        name: "job.create",
        aliases: &["create_job"],
        id: "createJob",
        group: OperationGroup::Jobs,
        method: HttpMethod::Post,
        path: "/v1/sessions/{session}/jobs",
        scope: KeyScope::Write,
        pages: false,
        repeats: Repeats::AnswerStoredWithEvents,
        statuses: &[(201, "The job was created."), (200, "It was there before with the same contents.")],
        errors: &[ErrorCode::NotFound, ErrorCode::JobExists, ErrorCode::UnsupportedOperation],
        http_names: &[],
    };
    type Request = CreateJobRequest;
    type Response = ChangedJob;

    async fn run(context: &RequestContext, request: CreateJobRequest) -> Result<ChangedJob, ApiError> {
        let hub = context.hub(&request.session_id).await?;
        let (services, once) = (context.services(), context.once());
        request.check()?;
        refuse_own_jobs(&hub)?;
        let _lock = hub.task_commands.lock().await;
        let state = services.sessions().state_at(&hub.key, hub.head()).await?;
        let id = match &request.job_id {
            Some(id) => id.clone(),
            None => JobId::from_bytes(once.id().unwrap_or_else(|| services.random_id())),
        };
        if let Some(known) = state.jobs.find(id.as_str()) {
            return match request.describes(known) {
                true => Ok(ChangedJob::unchanged(known)),
                false => Err(exists(&id)),
            };
        }
        check_room(&state)?;
        let (job_id, items) = (id.to_string(), request.items.len());
        let created = ChangedJob { job_id, status: JobStatus::Pending, items, duplicate: false };
        append_events(services, &hub, &[request.event(&id)], once.record(201, &created)).await?;
        Ok(created)
    }

    fn status(created: &ChangedJob) -> u16 {
        if created.duplicate { 200 } else { 201 }
    }
}

impl CreateJobRequest {
    fn check(&self) -> Result<(), ApiError> {
        if self.items.len() > MAX_JOB_ITEMS {
            let detail = format!("`items` has {} entries; a job may have {MAX_JOB_ITEMS}", self.items.len());
            return Err(bad("items".to_owned(), detail).limit(MAX_JOB_ITEMS as u64));
        }
        check("", self.title.as_deref(), self.metadata.as_ref())?;
        let mut seen = HashSet::new();
        for (at, item) in self.items.iter().enumerate() {
            check(&format!("items[{at}]."), item.title.as_deref(), item.metadata.as_ref())?;
            if !seen.insert(&item.item_id) {
                let detail = format!("`items[{at}].itemId`: `{}` names an earlier item too", item.item_id);
                return Err(bad(format!("items[{at}].itemId"), detail));
            }
        }
        Ok(())
    }

    /// Whether this request would have made the job as it was made.
    fn describes(&self, known: &Job) -> bool {
        let mut pairs = known.items.iter().zip(&self.items);
        known.items.len() == self.items.len()
            && pairs.all(|(known, item)| known.item_id == item.item_id.as_str())
            && known.title == self.title
    }

    fn event(self, id: &JobId) -> serde_json::Value {
        let info = JobInfo {
            status: Some("pending".to_owned()),
            title: self.title,
            metadata: self.metadata,
            instruction_ref: self.instruction_ref,
            items: Some(self.items.into_iter().map(NewJobItem::info).collect()),
            ..JobInfo::default()
        };
        let mut event = json!({ "type": "job.created", "jobId": id, "payload": info });
        for (name, value) in [("taskId", json!(self.task_id)), ("threadId", json!(self.thread_id))] {
            if !value.is_null() {
                event[name] = value;
            }
        }
        event
    }
}

impl NewJobItem {
    fn info(self) -> JobItemInfo {
        let Self { item_id, title, input_ref, metadata } = self;
        JobItemInfo { item_id: item_id.to_string(), title, input_ref, metadata }
    }
}

fn check(path: &str, title: Option<&str>, metadata: Option<&RawJson>) -> Result<(), ApiError> {
    if title.is_some_and(|title| title.chars().count() > MAX_TITLE) {
        let detail = format!("`{path}title` may have {MAX_TITLE} characters");
        return Err(bad(format!("{path}title"), detail).limit(MAX_TITLE as u64));
    }
    if metadata.is_some_and(|metadata| metadata.get().len() > MAX_METADATA) {
        let detail =
            format!("`{path}metadata` may have {MAX_METADATA} bytes; store more with `PUT /v1/blobs`");
        return Err(bad(format!("{path}metadata"), detail).limit(MAX_METADATA as u64));
    }
    Ok(())
}

fn bad(field: String, detail: String) -> ApiError {
    ApiError::new(ErrorCode::InvalidField, detail).field(field)
}

/// Only jobs that have ended leave the state by themselves.
fn check_room(state: &State) -> Result<(), ApiError> {
    let open = state.jobs.entries.iter().filter(|job| !job.status.is_terminal()).count();
    if open < MAX_JOBS {
        return Ok(());
    }
    let detail = format!("this session has {open} jobs that have not ended; end one, or use another session");
    Err(ApiError::new(ErrorCode::InvalidRequest, detail).limit(MAX_JOBS as u64))
}

fn exists(id: &JobId) -> ApiError {
    let detail = format!("job `{id}` exists with other contents; choose another id");
    ApiError::new(ErrorCode::JobExists, detail).field("jobId")
}
