//! Runs that are there: told, listed, joined, cancelled.

use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use riverrun_dialect::request::RequestFailure;
use riverrun_event::TurnId;
use riverrun_fold::{ActionState, ActionStatus, State as Folded, Status, TurnState};
use riverrun_log::SessionKey;
use riverrun_runner::{CancelMode, CommandError};
use serde_json::{Value, json as object};

use super::DIALECT;
use super::absent::not_provided;
use super::begin::{placed, streamed, waited};
use super::body::{CancelBody, read};
use super::modes::Modes;
use super::thread::time;
use crate::app::App;
use crate::deliver::read_cursor;
use crate::edge::{Params, Problem, Scope, not_found};
use crate::gateway::turn::{Place, Started, finished, project, state};
use crate::gateway::{Asking, Refusal, enter, json};
use riverrun_api::RunnerCommand;

/// A thread and one of its runs.
type Run = Path<(String, String)>;

/// How a run may stand.
const STATUSES: [&str; 6] = ["pending", "running", "success", "error", "timeout", "interrupted"];

/// As many runs as the client asks for by itself, and as many as are told at most.
const RUNS: (usize, usize) = (10, 1000);

pub async fn join(State(app): State<App>, Path(run): Run, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Read, request, async |asking| {
        let started = of(&app, &asking, &run).await?;
        let place = beginning(&app, &started).await?;
        waited(&app, &asking, &started, place).await
    })
    .await
}

/// Joins a run, behind `Last-Event-ID` if the client has one.
pub async fn join_stream(State(app): State<App>, Path(run): Run, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Read, request, async |asking| {
        let started = of(&app, &asking, &run).await?;
        let place = match asking.headers.get("last-event-id").map(|value| value.to_str()) {
            None | Some(Ok("" | "-1")) => beginning(&app, &started).await?,
            Some(Ok(text)) => Place::Behind(read_cursor(text, "Last-Event-ID")?),
            Some(Err(_)) => {
                let message = "`Last-Event-ID` is not one of this server's";
                return Err(RequestFailure::new(422, "bad_cursor", message).into());
            }
        };
        streamed(&app, &asking, &started, place, Modes::of_query(asking.query.as_deref())?).await
    })
    .await
}

/// Where a client without a place begins. A stream ends where the run waits, so behind a decision it begins with what
/// there is.
async fn beginning(app: &App, started: &Started) -> Result<Place, Problem> {
    let now = state(app, started).await?;
    let is_decided = |action: &ActionState| {
        action.status != ActionStatus::Pending && action.turn_id.as_ref() == Some(&started.turn)
    };
    Ok(if now.actions.iter().any(is_decided) { Place::Now } else { Place::Start })
}

pub async fn one(State(app): State<App>, Path(run): Run, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Read, request, async |asking| {
        let started = of(&app, &asking, &run).await?;
        described(&app, &started).await
    })
    .await
}

/// Newest first, however old they are.
pub async fn list(State(app): State<App>, Path(thread): Path<String>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Read, request, async |asking| {
        let hub = app.hub(&asking.caller, &thread).await?;
        // `select` is a list, which is given by many parameters of that name; whole runs are told.
        let pairs = asking.query.as_deref().unwrap_or_default().split('&');
        let query = pairs.filter(|pair| !pair.starts_with("select=")).collect::<Vec<_>>().join("&");
        let params = Params::parse(Some(query.as_str()), &["limit", "offset", "status"])?;
        let offset = params.parsed::<usize>("offset")?.unwrap_or(0);
        let limit = params.limit("limit", RUNS.0, RUNS.1)?;
        let wanted = params.get("status").filter(|status| !status.is_empty());
        if wanted.is_some_and(|status| !STATUSES.contains(&status)) {
            let message = format!("`status` may be one of {}", STATUSES.join(", "));
            return Err(RequestFailure::new(422, "invalid_value", message).param("status").into());
        }
        let now = app.sessions().state_at(&hub.key, hub.head()).await?;
        let (mut found, mut before) = (Vec::new(), None);
        while found.len() < offset.saturating_add(limit) {
            let turns = app.sessions().turns_before(&hub, before, RUNS.1).await?;
            let Some(oldest) = turns.last() else { break };
            before = Some(oldest.first_sequence);
            let runs = turns.iter().map(|turn| run_object(&hub.key, &now, turn));
            found.extend(runs.filter(|run| wanted.is_none_or(|status| run["status"] == status)));
        }
        Ok(json(found.into_iter().skip(offset).take(limit).collect::<Value>().to_string()))
    })
    .await
}

pub async fn cancel(State(app): State<App>, Path(run): Run, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Write, request, async |asking| {
        refuse_rollback(&asking)?;
        let started = of(&app, &asking, &run).await?;
        let cancelled =
            app.runner().cancel(&started.hub.key, &started.turn, CancelMode::Immediate, None).await;
        app.answered(RunnerCommand::Cancel, cancelled)?;
        let waits = |pair: &str| matches!(pair, "wait=1" | "wait=true");
        if asking.query.as_deref().is_some_and(|query| query.split('&').any(waits)) {
            finished(&app, &asking.caller, &started).await?;
        }
        Ok(StatusCode::NO_CONTENT.into_response())
    })
    .await
}

/// Cancels the runs that are named, or those of this status.
pub async fn cancel_many(State(app): State<App>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Write, request, async |asking| {
        refuse_rollback(&asking)?;
        let body: CancelBody = read(&asking)?;
        let statuses: &[&str] = match (body.status.as_deref(), &body.run_ids) {
            (Some("all"), _) | (None, Some(_)) => &["queued", "accepted", "running", "paused"],
            (Some("pending"), _) => &["queued", "accepted"],
            (Some("running"), _) => &["running", "paused"],
            (Some(_) | None, _) => {
                let message = "give `run_ids`, or a `status`, which may be pending, running or all";
                return Err(RequestFailure::new(422, "invalid_value", message).param("status").into());
            }
        };
        for record in app.sessions().open_turns().await? {
            let (key, turn) = (&record.key, &record.fact.turn);
            let is_named = body.run_ids.as_ref().is_none_or(|ids| ids.iter().any(|id| id == turn.as_str()));
            let is_there = body.thread_id.as_ref().is_none_or(|thread| thread == key.session.as_str());
            let is_mine =
                key.tenant == *asking.caller.tenant() && asking.caller.require_session(&key.session).is_ok();
            if is_mine && is_named && is_there && statuses.contains(&record.fact.status.as_str()) {
                match app.runner().cancel(key, turn, CancelMode::Immediate, None).await {
                    // It may have ended just now.
                    Ok(_) | Err(CommandError::TurnEnded { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(StatusCode::NO_CONTENT.into_response())
    })
    .await
}

/// What was said stays in the log.
fn refuse_rollback(asking: &Asking) -> Result<(), Refusal> {
    let is_rollback = |pair: &str| pair == "action=rollback";
    match asking.query.as_deref().is_some_and(|query| query.split('&').any(is_rollback)) {
        true => {
            Err(not_provided("action=rollback", "cancel with `interrupt`; what was said stays in the log"))
        }
        false => Ok(()),
    }
}

async fn of(app: &App, asking: &Asking, (thread, run): &(String, String)) -> Result<Started, Refusal> {
    let hub = app.hub(&asking.caller, thread).await?;
    let turn = TurnId::new(run).map_err(|_| not_found())?;
    app.log().turn(&hub.key, &turn).await?.ok_or_else(not_found)?;
    Ok(Started { hub, turn })
}

/// A state that holds the turn, however old it is.
pub(super) async fn seen(app: &App, started: &Started) -> Result<Folded, Problem> {
    let now = app.sessions().long_state_at(&started.hub.key, started.hub.head()).await?;
    if now.turns.iter().any(|turn| turn.turn_id == started.turn) {
        return Ok(now);
    }
    let projector = project(app, started, DIALECT, |_, _| {}).await?;
    projector.state().cloned().ok_or_else(not_found)
}

pub(super) async fn described(app: &App, started: &Started) -> Result<Response, Refusal> {
    let now = seen(app, started).await?;
    let turn = now.turns.iter().find(|turn| turn.turn_id == started.turn).ok_or_else(not_found)?;
    let run = run_object(&started.hub.key, &now, turn);
    Ok(placed(json(run.to_string()), started, "stream"))
}

fn run_object(key: &SessionKey, state: &Folded, turn: &TurnState) -> Value {
    let waits = state.actions.iter().any(|action| {
        action.status == ActionStatus::Pending && action.turn_id.as_ref() == Some(&turn.turn_id)
    });
    object!({
        "run_id": turn.turn_id.as_str(), "thread_id": key.session.as_str(), "assistant_id": turn.agent,
        "status": status(turn, waits), "metadata": {}, "kwargs": {}, "multitask_strategy": "enqueue",
        "created_at": time(turn.submitted_at), "updated_at": time(turn.ended_at.or(turn.started_at)),
    })
}

fn status(turn: &TurnState, waits: bool) -> &'static str {
    match turn.status {
        _ if waits => "interrupted",
        Status::Completed | Status::Archived => "success",
        Status::TimedOut => "timeout",
        Status::Cancelled => "interrupted",
        status if status.is_terminal() => "error",
        _ if turn.started_at.is_none() => "pending",
        _ => "running",
    }
}
