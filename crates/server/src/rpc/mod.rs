//! JSON-RPC 2.0 over WebSocket: the commands of HTTP as methods, streams as notifications.
//!
//! A subscription is a cursor over the log, as everywhere: while the socket takes nothing, nothing is read for it.
//! Requests of one connection are carried out in the order they came.

mod carry;
mod connection;
mod control;
mod following;
mod message;
mod method;
mod params;
mod signature;
mod standard;
mod task_control;
mod turn_control;

use std::panic::AssertUnwindSafe;

use axum::extract::{FromRequestParts, Request, State};
use axum::response::Response;
use futures_util::FutureExt;
use http::header::AUTHORIZATION;
use hyper_util::rt::TokioIo;
use riverrun_event::ErrorCode;
use riverrun_log::seeded::{self, Bug};

use crate::app::App;
use crate::edge::{Params, Peer, Problem, RequestId, StreamCaller};
use crate::websocket::{self, Upgrade};
use carry::{Desk, Peering};
use connection::Connection;

/// `GET /v1/ws`. A key or a ticket is checked before the upgrade; without either the first message must be `auth`.
pub async fn upgrade(State(app): State<App>, request: Request) -> Result<Response, Problem> {
    let (mut parts, _) = request.into_parts();
    let params = Params::parse(parts.uri.query(), &["ticket", "credential"])?;
    let (response, upgrade) = websocket::accept(&mut parts)?;
    let brings_key = params.get("ticket").is_some()
        || params.get("credential").is_some()
        || parts.headers.contains_key(AUTHORIZATION)
        || parts.headers.contains_key("x-api-key");
    let caller = match brings_key {
        true => Some(StreamCaller::from_request_parts(&mut parts, &app).await?.0),
        false => seeded_cookie(&app, &parts),
    };
    if app.edge().drain().is_started() {
        return Err(Problem::new(ErrorCode::Draining, "the server is shutting down; try again"));
    }
    let ip = parts.extensions.get::<Peer>().map(|peer| peer.0.ip());
    let request_id = parts.extensions.get::<RequestId>().cloned().unwrap_or_else(|| RequestId("-".into()));
    let origin = app.edge().page_origin(&parts.headers);
    let base_url = app.edge().base_url(&parts.headers);
    let desk = Desk::new(app.clone(), caller, Peering { ip, origin, base_url }, request_id);
    tokio::spawn(serve(app, upgrade, desk));
    Ok(response)
}

/// A browser sends cookies from every page: a key in one would let any page in. None, but for the seeded bug.
fn seeded_cookie(app: &App, parts: &http::request::Parts) -> Option<crate::edge::Caller> {
    if !seeded::is_on(Bug::CookieOnWebSocket) {
        return None;
    }
    let cookies = parts.headers.get(http::header::COOKIE)?.to_str().ok()?;
    let key = cookies.split("; ").find_map(|cookie| cookie.strip_prefix("riverrun_key="))?;
    app.edge().authenticate_key(key, None).ok()
}

async fn serve(app: App, upgrade: Upgrade, desk: Desk) {
    // A peer that is gone before the upgrade was written is no event of note.
    let Ok(io) = upgrade.connection.await else { return };
    let connection = Connection::new(TokioIo::new(io), upgrade.fault, app.edge().clone(), desk);
    if AssertUnwindSafe(connection.run()).catch_unwind().await.is_err() {
        app.edge().metrics().panics.inc();
        tracing::error!("the task of a WebSocket panicked");
    }
}
