//! A task by its id, wherever in the tenant it lives.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use riverrun_api::operations::external_tasks::newest_session_with;
use riverrun_dialect::{IndexUnit, task};
use riverrun_event::TaskId;
use riverrun_session::TaskPlace;

use crate::app::App;
use crate::deliver::index_unit;
use crate::edge::{Caller, FromParams, Params, PathId, Problem, Scope, StrictQuery, not_found};

#[derive(Debug)]
pub struct TaskQuery {
    unit: IndexUnit,
    session: Option<String>,
}

impl FromParams for TaskQuery {
    const NAMES: &'static [&'static str] = &["index_unit", "session"];
    fn from_params(params: &Params) -> Result<Self, Problem> {
        Ok(Self {
            unit: index_unit(params.get("index_unit"))?,
            session: params.get("session").map(str::to_owned),
        })
    }
}

pub async fn get(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId,
    StrictQuery(query): StrictQuery<TaskQuery>,
) -> Result<Response, Problem> {
    caller.require(Scope::Read)?;
    let object = task_json(&app, &caller, &id, query.session.as_deref(), query.unit).await?;
    Ok(([(CONTENT_TYPE, "application/json")], object).into_response())
}

/// `{task_id, status, output}`, with the children's output inside. Task ids that callers chose may be in several
/// sessions: `session` says which, otherwise the newest answers.
pub(crate) async fn task_json(
    app: &App,
    caller: &Caller,
    id: &str,
    session: Option<&str>,
    unit: IndexUnit,
) -> Result<String, Problem> {
    let id = TaskId::new(id).map_err(|_| not_found())?;
    let hub = match session {
        Some(session) => app.hub(caller, session).await?,
        None => newest_session_with(app.services(), caller, &id).await?,
    };
    let object = match app.sessions().place_of_task(&hub.key, hub.head(), &id).await? {
        Some(TaskPlace::Here(state)) => task::object(&state, &id, unit),
        Some(TaskPlace::Sealed(turn)) => task::object_of_sealed(&turn, &id, unit),
        None => None,
    };
    object.ok_or_else(not_found)
}
