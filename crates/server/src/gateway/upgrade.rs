//! From a request to a socket on which a foreign protocol is spoken.

use std::net::IpAddr;
use std::panic::AssertUnwindSafe;

use axum::extract::{FromRequestParts, Request};
use axum::response::Response;
use futures_util::FutureExt;
use http::header::AUTHORIZATION;
use hyper_util::rt::TokioIo;
use riverrun_dialect::{Approvals, Languages};
use riverrun_event::ErrorCode;

use super::protocol_socket::{Protocol, Talk};
use super::turn;
use crate::app::App;
use crate::deliver::{approvals, languages};
use crate::edge::{Caller, PageOrigin, Params, Peer, Problem, StreamCaller};
use crate::websocket::{self, Upgrade};

/// Who opened a socket, as far as is known.
pub struct Opener {
    pub caller: Option<Caller>,
    pub ip: Option<IpAddr>,
    /// Of the page that opened it.
    pub origin: PageOrigin,
    pub languages: Languages,
    pub approvals: Approvals,
}

/// Opens the socket. A key or a ticket is checked before; whether one is needed is the protocol's business.
pub async fn upgrade<P: Protocol + 'static>(
    app: &App,
    request: Request,
    protocol: impl FnOnce(Opener) -> Result<P, Problem>,
) -> Result<Response, Problem> {
    let (mut parts, _) = request.into_parts();
    let params =
        Params::parse(parts.uri.query(), &["ticket", "credential", "language", "approvals", "deltas"])?;
    let deltas = crate::deliver::deltas(parts.uri.query())?;
    let (response, upgrade) = websocket::accept(&mut parts)?;
    let brings_key = params.get("ticket").is_some()
        || params.get("credential").is_some()
        || parts.headers.contains_key(AUTHORIZATION)
        || parts.headers.contains_key("x-api-key");
    let caller = match brings_key {
        true => Some(StreamCaller::from_request_parts(&mut parts, app).await?.0),
        false => None,
    };
    if app.edge().drain().is_started() {
        return Err(Problem::new(ErrorCode::Draining, "the server is shutting down; try again"));
    }
    let ip = parts.extensions.get::<Peer>().map(|peer| peer.0.ip());
    let protocol = protocol(Opener {
        caller,
        ip,
        origin: app.edge().page_origin(&parts.headers),
        languages: languages(&params, &parts.headers)?,
        approvals: approvals(&params)?,
    })?;
    // Of every turn that is begun on this socket.
    tokio::spawn(turn::DELTAS.scope(deltas, serve(app.clone(), upgrade, protocol)));
    Ok(response)
}

async fn serve<P: Protocol + 'static>(app: App, upgrade: Upgrade, protocol: P) {
    // A peer that is gone before the upgrade was written is no event of note.
    let Ok(io) = upgrade.connection.await else { return };
    let talk = Talk::new(TokioIo::new(io), upgrade.fault, app.edge().clone(), protocol);
    if AssertUnwindSafe(talk.run()).catch_unwind().await.is_err() {
        app.edge().metrics().panics.inc();
        tracing::error!("the task of a WebSocket panicked");
    }
}
