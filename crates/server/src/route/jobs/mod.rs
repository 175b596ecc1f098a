//! Jobs of an application: many like pieces of work, done elsewhere and recorded here.
//!
//! A caller creates a job with its items. Whoever works on it reports by `job.*` events, which it appends like any
//! others; it learns from the same stream what is to be done. The commands here create a job, cancel it, and begin
//! another attempt at one failed item.

mod body;
mod command;

use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use riverrun_fold::{JobState, JobStatus};
use serde::Serialize;
use serde_json::{Value, json as object};

use super::command::Command;
use super::idempotency;
use super::json;
use crate::app::App;
use crate::edge::{
    Caller, CompactJson, FromParams, Params, PathId, PathIds, Problem, Scope, StrictQuery, invalid, not_found,
};
use riverrun_session::Hub;

pub(crate) use command::{cancel, create, retry_item};

/// A job in the answer to a command.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct JobView {
    job_id: String,
    status: &'static str,
    /// How many items it has.
    items: usize,
    /// True if nothing was to be done.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
}

/// An item whose next attempt began, in the answer to the command.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ItemView {
    job_id: String,
    item_id: String,
    status: &'static str,
    attempts: u32,
    job_status: &'static str,
}

pub async fn post(
    State(app): State<App>,
    caller: Caller,
    PathId(session): PathId,
    StrictQuery(()): StrictQuery<()>,
    headers: HeaderMap,
    CompactJson(text): CompactJson,
) -> Result<Response, Problem> {
    caller.require(Scope::Write)?;
    let hub = app.hub(&caller, &session).await?;
    let route = format!("POST /v1/sessions/{}/jobs", hub.session());
    let once = idempotency::begin_once(&app, &caller, &headers, &route, &text).await?;
    if let Some(again) = idempotency::repeated(&once)? {
        return Ok(again);
    }
    let view = create(&app, &hub, &text, &once).await?;
    Ok(json(if view.duplicate { StatusCode::OK } else { StatusCode::CREATED }, &view))
}

pub async fn post_cancel(command: Command) -> Result<Response, Problem> {
    let Command { app, hub, id, once, .. } = &command;
    Ok(json(StatusCode::OK, &cancel(app, hub, id, command.text(), once).await?))
}

pub async fn post_retry(command: Command) -> Result<Response, Problem> {
    let Command { app, hub, id, once, .. } = &command;
    let item = command.item.as_deref().unwrap_or_default();
    Ok(json(StatusCode::OK, &retry_item(app, hub, (id, item), command.text(), once).await?))
}

#[derive(Debug)]
pub struct ListQuery {
    status: Option<JobStatus>,
}

impl FromParams for ListQuery {
    const NAMES: &'static [&'static str] = &["status"];
    fn from_params(params: &Params) -> Result<Self, Problem> {
        Ok(Self { status: params.get("status").map(status).transpose()? })
    }
}

pub(crate) fn status(word: &str) -> Result<JobStatus, Problem> {
    let status = JobStatus::parse(word).filter(|status| *status != JobStatus::Reported);
    status.ok_or_else(|| invalid("status", &"it may be pending, running, completed, failed or cancelled"))
}

pub async fn list(
    State(app): State<App>,
    caller: Caller,
    PathId(session): PathId,
    StrictQuery(query): StrictQuery<ListQuery>,
) -> Result<Response, Problem> {
    caller.require(Scope::Read)?;
    let hub = app.hub(&caller, &session).await?;
    Ok(json(StatusCode::OK, &jobs(&app, &hub, query.status).await?))
}

pub async fn get(
    State(app): State<App>,
    caller: Caller,
    PathIds(session, job): PathIds,
    StrictQuery(()): StrictQuery<()>,
) -> Result<Response, Problem> {
    caller.require(Scope::Read)?;
    let hub = app.hub(&caller, &session).await?;
    Ok(json(StatusCode::OK, &job_of(&app, &hub, &job).await?))
}

/// The newest jobs, the oldest first, with counts in place of their items.
pub(crate) async fn jobs(app: &App, hub: &Hub, status: Option<JobStatus>) -> Result<Value, Problem> {
    let known = app.sessions().state_at(&hub.key, hub.head()).await?.jobs;
    let wanted = known.entries.iter().filter(|job| status.is_none_or(|status| job.status == status));
    let summary = |job: &JobState| {
        let mut summary = whole(job);
        if let Value::Object(members) = &mut summary {
            members.remove("items");
        }
        summary
    };
    Ok(object!({ "jobs": wanted.map(summary).collect::<Vec<_>>(), "truncated": known.dropped > 0 }))
}

/// A job with its items.
pub(crate) async fn job_of(app: &App, hub: &Hub, job: &str) -> Result<Value, Problem> {
    let known = app.sessions().state_at(&hub.key, hub.head()).await?.jobs;
    Ok(whole(known.find(job).ok_or_else(not_found)?))
}

fn whole(job: &JobState) -> Value {
    let mut value = serde_json::to_value(job).unwrap_or_default();
    let mut counts = object!({ "total": job.items.len() });
    let all = [
        JobStatus::Pending,
        JobStatus::Running,
        JobStatus::Completed,
        JobStatus::Failed,
        JobStatus::Cancelled,
        JobStatus::Reported,
    ];
    for status in all {
        let count = job.items.iter().filter(|item| item.status == status).count();
        counts[status.as_str()] = count.into();
    }
    value["counts"] = counts;
    value
}
