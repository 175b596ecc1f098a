//! The folded state, now or at any sequence. It costs no model call.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use riverrun_event::{Cursor, ErrorCode, Sequence};
use riverrun_fold::{State as Folded, read_model};
use serde::Serialize;

use super::sessions::event_time;
use crate::app::App;
use crate::deliver::one_of;
use crate::edge::{Caller, FromParams, Params, PathId, Problem, Scope, StrictQuery, not_found};
use riverrun_session::Hub;

#[derive(Debug)]
pub struct StateQuery {
    at: Option<Cursor>,
    view: View,
}

#[derive(Debug)]
enum View {
    /// The fold itself.
    State,
    /// The standard's session snapshot.
    Snapshot,
    /// The same in the form of the standard's Lime profile.
    LimeSnapshot,
    /// The standard's read models.
    ReadModels,
}

impl FromParams for StateQuery {
    const NAMES: &'static [&'static str] = &["at", "view"];
    fn from_params(params: &Params) -> Result<Self, Problem> {
        let view = match params.get("view") {
            None | Some("state") => View::State,
            Some("snapshot") => View::Snapshot,
            Some("lime_snapshot") => View::LimeSnapshot,
            Some("read_models") => View::ReadModels,
            Some(other) => return Err(one_of("view", other, "state, snapshot, lime_snapshot, read_models")),
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
        riverrun_session::check_origin(at, &hub, "at")?;
    }
    let state = state_of(&app, &hub, query.at.map(|at| at.sequence)).await?;
    let body = match query.view {
        View::State => state.to_json(),
        View::Snapshot => text(&read_model::snapshot(&state)),
        View::LimeSnapshot => {
            let record = app.log().session(&hub.key).await?.ok_or_else(not_found)?;
            text(&read_model::lime_snapshot(&state, event_time(record.created_at)))
        }
        View::ReadModels => text(&read_model::read_models(&state)),
    };
    Ok(([(CONTENT_TYPE, "application/json")], body).into_response())
}

fn text(view: &impl Serialize) -> String {
    serde_json::to_string(view).expect("views have string keys and no fallible parts")
}

/// The state after event `at`, or after the last one.
pub(crate) async fn state_json(
    app: &App,
    caller: &Caller,
    session: &str,
    at: Option<Sequence>,
) -> Result<String, Problem> {
    let hub = app.hub(caller, session).await?;
    Ok(state_of(app, &hub, at).await?.to_json())
}

async fn state_of(app: &App, hub: &Hub, at: Option<Sequence>) -> Result<Folded, Problem> {
    let head = hub.head();
    let at = at.unwrap_or(head);
    if at > head {
        let detail = format!("there is no event {at} yet, the log ends at {head}");
        return Err(Problem::new(ErrorCode::CursorAhead, detail).field("at").head(head.get()));
    }
    Ok(app.sessions().state_at(&hub.key, at).await?)
}
