//! The folded state, now or at any sequence. It costs no model call.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use riverrun_event::{Cursor, ErrorCode, Sequence};

use crate::app::App;
use crate::deliver::one_of;
use crate::edge::{Caller, FromParams, Params, PathId, Problem, Scope, StrictQuery};

#[derive(Debug)]
pub struct StateQuery {
    at: Option<Cursor>,
    view: View,
}

#[derive(Debug)]
enum View {
    State,
}

impl FromParams for StateQuery {
    const NAMES: &'static [&'static str] = &["at", "view"];
    fn from_params(params: &Params) -> Result<Self, Problem> {
        let view = match params.get("view") {
            None | Some("state") => View::State,
            Some(other) => return Err(one_of("view", other, "state")),
        };
        let at = params.get("at").map(|text| crate::deliver::read_cursor(text, "at")).transpose()?;
        Ok(Self { at, view })
    }
}

pub async fn get(
    State(app): State<App>,
    caller: Caller,
    PathId(session): PathId,
    StrictQuery(query): StrictQuery<StateQuery>,
) -> Result<Response, Problem> {
    caller.require(Scope::Read)?;
    let hub = app.hub(&caller, &session).await?;
    if let Some(at) = &query.at {
        crate::deliver::check_origin(at, &hub, "at")?;
    }
    let state = state_json(&app, &caller, &session, query.at.map(|at| at.sequence)).await?;
    let body = match query.view {
        View::State => state,
    };
    Ok(([(CONTENT_TYPE, "application/json")], body).into_response())
}

/// The state after event `at`, or after the last one.
pub(crate) async fn state_json(
    app: &App,
    caller: &Caller,
    session: &str,
    at: Option<Sequence>,
) -> Result<String, Problem> {
    let hub = app.hub(caller, session).await?;
    let head = hub.head();
    let at = at.unwrap_or(head);
    if at > head {
        let detail = format!("there is no event {at} yet, the log ends at {head}");
        return Err(Problem::new(ErrorCode::CursorAhead, detail).field("at").head(head.get()));
    }
    Ok(app.state_at(&hub.key, at).await?.to_json())
}
