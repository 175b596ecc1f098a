//! Decisions that were given for always: listed, and taken back.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use riverrun_runner::{RequestKey, Revoke, Rule};
use serde::Serialize;

use super::json;
use super::turns::place;
use crate::app::App;
use riverrun_api::RunnerCommand;
use crate::edge::{Caller, PathId, PathIds, Problem, Scope, StrictQuery};
use riverrun_session::Hub;

#[derive(Debug, Serialize)]
pub(crate) struct Rules {
    /// The oldest first.
    rules: Vec<Rule>,
}

#[derive(Debug, Serialize)]
pub(crate) struct RevokedView {
    /// The rule that holds no longer.
    revoked: Rule,
    cursor: String,
}

pub async fn list(
    State(app): State<App>,
    caller: Caller,
    PathId(session): PathId,
    StrictQuery(()): StrictQuery<()>,
) -> Result<Response, Problem> {
    caller.require(Scope::Read)?;
    let hub = app.hub(&caller, &session).await?;
    Ok(json(StatusCode::OK, &rules(&app, &hub).await?))
}

pub async fn remove(
    State(app): State<App>,
    caller: Caller,
    PathIds(session, rule): PathIds,
    StrictQuery(()): StrictQuery<()>,
) -> Result<Response, Problem> {
    caller.require(Scope::Approve)?;
    let hub = app.hub(&caller, &session).await?;
    Ok(json(StatusCode::OK, &revoke(&app, &caller, &hub, &rule, None).await?))
}

pub(crate) async fn rules(app: &App, hub: &Hub) -> Result<Rules, Problem> {
    let rules = app.answered(RunnerCommand::Rule, app.runner().rules(&hub.key).await)?;
    Ok(Rules { rules })
}

pub(crate) async fn revoke(
    app: &App,
    caller: &Caller,
    hub: &Hub,
    rule: &str,
    request: Option<RequestKey>,
) -> Result<RevokedView, Problem> {
    let revoke = Revoke { rule: rule.to_owned(), revoked_by: Some(caller.key_id().as_str().to_owned()) };
    let revoked = app.runner().idempotent(request).revoke(&hub.key, revoke).await;
    let revoked = app.answered(RunnerCommand::Rule, revoked)?;
    Ok(RevokedView { revoked: revoked.rule, cursor: place(hub, revoked.sequence) })
}
