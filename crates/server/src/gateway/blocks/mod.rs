//! Content blocks over a WebSocket, and the history that hands a session over to it.

mod approval;
mod command;
mod desk;
mod fault;
mod result;

use axum::extract::{Path, Request, State};
use axum::response::Response;
use riverrun_dialect::{Dialect, ReaderOptions, blocks};

use super::{enter, json, upgrade};
use crate::app::App;
use crate::deliver::{approvals, languages};
use crate::edge::{Params, Problem, Scope};
use desk::Desk;
pub use result::result;

/// `GET /v1/ws/blocks`. The key comes in a header, as a ticket, or in the first message.
pub async fn open(State(app): State<App>, request: Request) -> Result<Response, Problem> {
    let desk = |opener: upgrade::Opener| {
        if let Some(caller) = &opener.caller {
            caller.require(Scope::Read)?;
        }
        Desk::new(app.clone(), opener)
    };
    upgrade::upgrade(&app, request, desk).await
}

/// What was said in a session, and the `last_event_id` to subscribe with.
pub async fn history(State(app): State<App>, Path(session): Path<String>, request: Request) -> Response {
    enter(&app, Dialect::Blocks, Scope::Read, request, async |asking| {
        let hub = app.hub(&asking.caller, &session).await?;
        let state = app.sessions().long_state_at(&hub.key, hub.head()).await?;
        let params = Params::parse(asking.query.as_deref(), &["language", "approvals", "deltas"])?;
        let languages = languages(&params, &asking.headers)?;
        let options = ReaderOptions { languages, approvals: approvals(&params)?, ..ReaderOptions::default() };
        Ok(json(blocks::history(&state, options)))
    })
    .await
}
