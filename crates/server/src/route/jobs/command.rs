//! Commands on jobs: each looks at the job's status, appends what follows, and stores its answer with the events.

use http::StatusCode;
use riverrun_event::{ErrorCode, JobId, JobInfo, JobItem};
use riverrun_fold::{JobItemState, JobState, JobStatus, MAX_JOBS, State};
use serde::Serialize;
use serde_json::{Value, json};

use super::{ItemView, JobView, body};
use crate::app::App;
use crate::edge::{Problem, decode_text, not_found};
use crate::route::idempotency::Once;
use crate::route::ingest::store_once;
use crate::route::kept::decoded;
use crate::route::sessions::random_id;
use riverrun_session::Hub;
use riverrun_session::is_jobs;

pub(crate) async fn create(app: &App, hub: &Hub, text: &str, once: &Once) -> Result<JobView, Problem> {
    let new = body::new_job(text)?;
    refuse_own_jobs(hub)?;
    let _lock = hub.task_commands.lock().await;
    let state = app.sessions().state_at(&hub.key, hub.head()).await?;
    let id = match new.job_id {
        Some(id) => id,
        None => JobId::from_bytes(once.id().map_or_else(|| random_id(app), Ok)?),
    };
    let items: Vec<_> = new.items.into_iter().map(body::NewItem::info).collect();
    if let Some(known) = state.jobs.find(id.as_str()) {
        let same_items = known.items.len() == items.len()
            && known.items.iter().zip(&items).all(|(known, item)| known.item_id == item.item_id);
        return match same_items && known.title == new.title {
            true => Ok(JobView { duplicate: true, ..view(known, known.status) }),
            false => Err(exists(&id)),
        };
    }
    check_room(&state)?;
    let view = JobView { job_id: id.to_string(), status: "pending", items: items.len(), duplicate: false };
    let info = JobInfo {
        status: Some("pending".to_owned()),
        title: new.title,
        metadata: new.metadata,
        instruction_ref: new.instruction_ref,
        items: Some(items),
        ..JobInfo::default()
    };
    let mut event = json!({ "type": "job.created", "jobId": id, "payload": info });
    for (name, value) in [("taskId", json!(new.task_id)), ("threadId", json!(new.thread_id))] {
        if !value.is_null() {
            event[name] = value;
        }
    }
    append(app, hub, &[event], once, (StatusCode::CREATED, &view)).await?;
    Ok(view)
}

pub(crate) async fn cancel(
    app: &App,
    hub: &Hub,
    job: &str,
    text: &str,
    once: &Once,
) -> Result<JobView, Problem> {
    let body::Cancel { reason } = decode_text(text)?;
    let _lock = hub.task_commands.lock().await;
    let state = app.sessions().state_at(&hub.key, hub.head()).await?;
    let job = state.jobs.find(job).ok_or_else(not_found)?;
    refuse_own_jobs(hub)?;
    match job.status {
        JobStatus::Pending | JobStatus::Running => {}
        JobStatus::Cancelled => return Ok(JobView { duplicate: true, ..view(job, job.status) }),
        JobStatus::Completed | JobStatus::Failed | JobStatus::Reported => {
            let detail = format!("job `{}` has ended: {}", job.job_id, job.status.as_str());
            return Err(refused(job, detail));
        }
    }
    let info = JobInfo { status: Some("cancelled".to_owned()), reason, ..JobInfo::default() };
    let event = json!({ "type": "job.cancelled", "jobId": job.job_id, "payload": info });
    let view = view(job, JobStatus::Cancelled);
    append(app, hub, &[event], once, (StatusCode::OK, &view)).await?;
    Ok(view)
}

/// Begins another attempt at one item. A job that had ended goes on; the other items keep their results.
pub(crate) async fn retry_item(
    app: &App,
    hub: &Hub,
    (job, item): (&str, &str),
    text: &str,
    once: &Once,
) -> Result<ItemView, Problem> {
    let body = decode_text(text)?;
    let _lock = hub.task_commands.lock().await;
    let state = app.sessions().state_at(&hub.key, hub.head()).await?;
    let job = state.jobs.find(job).ok_or_else(not_found)?;
    let item = job.item(item).ok_or_else(not_found)?;
    refuse_own_jobs(hub)?;
    check_retry(job, item, &body)?;
    let view = ItemView {
        job_id: job.job_id.clone(),
        item_id: item.item_id.clone(),
        status: JobStatus::Running.as_str(),
        attempts: item.attempts.saturating_add(1),
        job_status: JobStatus::Running.as_str(),
    };
    let events = attempt(job, item, body.reason);
    append(app, hub, &events, once, (StatusCode::OK, &view)).await?;
    Ok(view)
}

fn check_retry(job: &JobState, item: &JobItemState, body: &body::Retry) -> Result<(), Problem> {
    let id = &item.item_id;
    let instead = match (job.status, item.status) {
        (JobStatus::Cancelled, _) => "its job was cancelled; create another job",
        (_, JobStatus::Failed) if item.retryable != Some(false) || body.force => return Ok(()),
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

fn attempt(job: &JobState, item: &JobItemState, reason: Option<String>) -> Vec<Value> {
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

/// The server's own jobs are requests whose bodies are gone, or upkeep that comes back to what failed by itself.
fn refuse_own_jobs(hub: &Hub) -> Result<(), Problem> {
    if !is_jobs(hub.session()) {
        return Ok(());
    }
    let detail = "the jobs in this session are the server's own: send the import, export or backup again; retention \
                  comes back by itself to a session that it could not finish";
    Err(Problem::new(ErrorCode::UnsupportedOperation, detail))
}

/// Only jobs that have ended leave the state by themselves.
fn check_room(state: &State) -> Result<(), Problem> {
    let open = state.jobs.entries.iter().filter(|job| !job.status.is_terminal()).count();
    if open < MAX_JOBS {
        return Ok(());
    }
    let detail = format!("this session has {open} jobs that have not ended; end one, or use another session");
    Err(Problem::new(ErrorCode::InvalidRequest, detail).limit(MAX_JOBS as u64))
}

async fn append(
    app: &App,
    hub: &Hub,
    events: &[Value],
    once: &Once,
    (status, view): (StatusCode, &impl Serialize),
) -> Result<(), Problem> {
    let events = events.iter().map(decoded).collect::<Result<Vec<_>, _>>()?;
    store_once(app, hub, events, None, once.record(status.as_u16(), view)).await?;
    Ok(())
}

fn view(job: &JobState, status: JobStatus) -> JobView {
    JobView { job_id: job.job_id.clone(), status: status.as_str(), items: job.items.len(), duplicate: false }
}

fn refused(job: &JobState, detail: String) -> Problem {
    Problem::new(ErrorCode::JobStatus, detail).with("jobStatus", job.status.as_str())
}

fn exists(id: &JobId) -> Problem {
    let detail = format!("job `{id}` exists with other contents; choose another id");
    Problem::new(ErrorCode::JobExists, detail).field("jobId")
}
