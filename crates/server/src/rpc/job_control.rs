//! Jobs and benchmarks over JSON-RPC. The bodies are those of HTTP.

use serde::Deserialize;

use super::carry::text;
use super::turn_control::split;
use crate::app::App;
use crate::edge::{Caller, Problem};
use crate::route::{self, Once};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct JobQuery {
    session_id: String,
    status: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct OfJob {
    session_id: String,
    job_id: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct OfTrial {
    session_id: String,
    trial_id: Option<String>,
}

pub(super) async fn create(app: &App, caller: &Caller, params: &str, once: &Once) -> Result<String, Problem> {
    let ([session], body) = split(params, ["sessionId"])?;
    let hub = app.hub(caller, &session).await?;
    Ok(text(&route::create_job(app, &hub, &body, once).await?))
}

pub(super) async fn list(app: &App, caller: &Caller, query: JobQuery) -> Result<String, Problem> {
    let status = query.status.as_deref().map(route::job_status).transpose()?;
    let hub = app.hub(caller, &query.session_id).await?;
    Ok(route::job_list(app, &hub, status).await?.to_string())
}

pub(super) async fn get(app: &App, caller: &Caller, of: OfJob) -> Result<String, Problem> {
    let hub = app.hub(caller, &of.session_id).await?;
    Ok(route::job_of(app, &hub, &of.job_id).await?.to_string())
}

pub(super) async fn cancel(app: &App, caller: &Caller, params: &str, once: &Once) -> Result<String, Problem> {
    let ([session, job], body) = split(params, ["sessionId", "jobId"])?;
    let hub = app.hub(caller, &session).await?;
    Ok(text(&route::cancel_job(app, &hub, &job, &body, once).await?))
}

pub(super) async fn retry_item(
    app: &App,
    caller: &Caller,
    params: &str,
    once: &Once,
) -> Result<String, Problem> {
    let ([session, job, item], body) = split(params, ["sessionId", "jobId", "itemId"])?;
    let hub = app.hub(caller, &session).await?;
    Ok(text(&route::retry_item(app, &hub, (&job, &item), &body, once).await?))
}

/// The trials of a session, as `GET …/benchmark` answers them.
pub(super) async fn benchmark(app: &App, caller: &Caller, of: OfTrial) -> Result<String, Problem> {
    let hub = app.hub(caller, &of.session_id).await?;
    Ok(route::benchmark_export(app, &hub, of.trial_id.as_deref()).await?.to_string())
}
