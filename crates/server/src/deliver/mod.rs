//! Readers of the server: what they ask for, and their right to it.

mod request;

use std::sync::Arc;

use axum::body::Body;
use futures_util::TryStreamExt;
use http::{HeaderMap, HeaderValue};
use riverrun_dialect::Framing;
use riverrun_log::seeded::{self, Bug};
use riverrun_session::{Access, Follow, FrameBatch, Hub, Plan, Request, Sessions, Subscription};

use crate::app::App;
use crate::edge::{Caller, Problem, StreamPermit};

pub use request::{
    PARAMETERS, approvals, catch_up, deltas, index_unit, languages, one_of, read_cursor, read_request,
};

/// A stream that was granted and not begun.
pub struct Opened {
    pub plan: Plan,
    sessions: Sessions,
    access: Box<dyn Access>,
}

/// The right of a caller to one more stream.
pub fn access(app: &App, caller: &Caller) -> Result<Box<dyn Access>, Problem> {
    let permit = app.edge().open_stream(caller)?;
    Ok(Box::new(CallerAccess { app: app.clone(), caller: caller.clone(), _permit: permit }))
}

/// Takes one of the tenant's places for streams and decides how the reader is served, or refuses.
pub async fn open(
    app: &App,
    hub: &Arc<Hub>,
    caller: &Caller,
    request: &Request,
    framing: Framing,
) -> Result<Opened, Problem> {
    let access = access(app, caller)?;
    let plan = riverrun_session::open(app.sessions(), hub, request, framing).await?;
    Ok(Opened { sessions: app.sessions().clone(), plan, access })
}

impl Opened {
    pub fn subscribe(self, hub: Arc<Hub>, follow: Follow) -> Subscription {
        Subscription::new(self.sessions, hub, self.access, self.plan, follow)
    }

    /// What `stream.opened` says, for framings that have no room for it.
    pub fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let Some(opened) = &self.plan.opened else { return headers };
        let shows = opened.shows();
        headers.insert("riverrun-outcome", HeaderValue::from_static(opened.outcome.as_str()));
        headers.insert("riverrun-scope", HeaderValue::from_static(shows.scope()));
        headers.insert("riverrun-resume", HeaderValue::from_static(opened.resume.as_str()));
        if let Some(turn) = shows.turn().and_then(|turn| HeaderValue::from_str(turn).ok()) {
            headers.insert("riverrun-turn", turn);
        }
        headers
    }
}

/// The frames as the body of an answer. A stream that is cut ends the body with an error.
pub fn body(subscription: Subscription) -> Body {
    Body::from_stream(subscription.map_ok(FrameBatch::into_bytes))
}

/// A caller reads as long as its key is good, and holds one of its tenant's streams.
struct CallerAccess {
    app: App,
    caller: Caller,
    _permit: StreamPermit,
}

impl Access for CallerAccess {
    fn is_valid(&self) -> bool {
        self.caller.is_live()
    }

    fn closed(&mut self, hub: &Arc<Hub>, went_away: bool) {
        if went_away && seeded::is_on(Bug::DisconnectCancels) {
            tokio::spawn(cancel_all(self.app.clone(), hub.clone()));
        }
    }
}

/// What a reader that goes away must never do.
async fn cancel_all(app: App, hub: Arc<Hub>) {
    let scope = riverrun_log::WorkScope::Session(hub.key.clone());
    for turn in app.log().open_turns(scope).await.unwrap_or_default() {
        let mode = riverrun_runner::CancelMode::Immediate;
        let _ = app.runner().cancel(&hub.key, &turn.fact.turn, mode, None).await;
    }
}
