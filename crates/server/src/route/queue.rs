//! Turns that wait for their thread.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use riverrun_event::{ThreadId, TurnId};
use riverrun_runner::{QueueEntry, RequestKey};
use serde::Serialize;

use super::json;
use super::turns::CancelView;
use crate::app::App;
use riverrun_api::RunnerCommand;
use crate::edge::{Caller, FromParams, Params, PathId, PathIds, Problem, Scope, StrictQuery, not_found};
use riverrun_session::Hub;

#[derive(Debug)]
pub struct Query {
    thread: Option<ThreadId>,
}

impl FromParams for Query {
    const NAMES: &'static [&'static str] = &["thread"];
    fn from_params(params: &Params) -> Result<Self, Problem> {
        Ok(Self { thread: params.parsed("thread")? })
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct Queue {
    queue: Vec<QueueEntry>,
}

pub async fn list(
    State(app): State<App>,
    caller: Caller,
    PathId(session): PathId,
    StrictQuery(query): StrictQuery<Query>,
) -> Result<Response, Problem> {
    caller.require(Scope::Read)?;
    let hub = app.hub(&caller, &session).await?;
    Ok(json(StatusCode::OK, &waiting(&app, &hub, query.thread.as_ref()).await?))
}

pub(crate) async fn waiting(app: &App, hub: &Hub, thread: Option<&ThreadId>) -> Result<Queue, Problem> {
    let queue = app.runner().queue(&hub.key, thread).await;
    Ok(Queue { queue: app.answered(RunnerCommand::Queue, queue)? })
}

pub async fn remove(
    State(app): State<App>,
    caller: Caller,
    PathIds(session, turn): PathIds,
    StrictQuery(()): StrictQuery<()>,
) -> Result<Response, Problem> {
    caller.require(Scope::Write)?;
    let hub = app.hub(&caller, &session).await?;
    Ok(json(StatusCode::OK, &unqueue(&app, &hub, &turn, None).await?))
}

/// Takes a turn out of the queue; it ends as cancelled.
pub(crate) async fn unqueue(
    app: &App,
    hub: &Hub,
    turn: &str,
    request: Option<RequestKey>,
) -> Result<CancelView, Problem> {
    let turn = TurnId::new(turn).map_err(|_| not_found())?;
    let removed = app.runner().idempotent(request).unqueue(&hub.key, &turn).await;
    Ok(CancelView::new(hub, app.answered(RunnerCommand::Queue, removed)?))
}

pub async fn promote(
    State(app): State<App>,
    caller: Caller,
    PathIds(session, turn): PathIds,
    StrictQuery(()): StrictQuery<()>,
) -> Result<Response, Problem> {
    caller.require(Scope::Write)?;
    let hub = app.hub(&caller, &session).await?;
    Ok(json(StatusCode::OK, &put_first(&app, &hub, &turn, None).await?))
}

pub(crate) async fn put_first(
    app: &App,
    hub: &Hub,
    turn: &str,
    request: Option<RequestKey>,
) -> Result<Queue, Problem> {
    let turn = TurnId::new(turn).map_err(|_| not_found())?;
    let queue = app.runner().idempotent(request).promote(&hub.key, &turn).await;
    Ok(Queue { queue: app.answered(RunnerCommand::Queue, queue)? })
}
