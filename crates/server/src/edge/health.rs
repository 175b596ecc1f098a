//! Is the process alive, is it ready, what does it count. No key, no detail.

use std::sync::RwLock;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use serde_json::json;

use super::Edge;
use super::accept::Peer;
use super::problem::Problem;
use crate::metrics::Metrics;
use riverrun_api::KeyScope;

/// Why the server takes no work now, as a word that is safe to show anybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotReady {
    Starting,
    Recovering,
    Draining,
    StorageFull,
    StorageFailed,
}

impl NotReady {
    pub const fn as_str(self) -> &'static str {
        match self {
            NotReady::Starting => "starting",
            NotReady::Recovering => "recovering",
            NotReady::Draining => "draining",
            NotReady::StorageFull => "storage_full",
            NotReady::StorageFailed => "storage_failed",
        }
    }
}

/// The readiness of the process; it begins as `Starting`.
#[derive(Debug)]
pub struct Readiness(RwLock<Option<NotReady>>);

impl Default for Readiness {
    fn default() -> Self {
        Self(RwLock::new(Some(NotReady::Starting)))
    }
}

impl Readiness {
    pub fn set(&self, state: Option<NotReady>) {
        *self.0.write().unwrap_or_else(|poison| poison.into_inner()) = state;
    }

    /// `None` is ready.
    pub fn get(&self) -> Option<NotReady> {
        *self.0.read().unwrap_or_else(|poison| poison.into_inner())
    }
}

pub(super) async fn live() -> Response {
    Json(json!({"status": "ok"})).into_response()
}

pub(super) async fn ready(State(edge): State<Edge>) -> Response {
    let reason = if edge.drain().is_started() { Some(NotReady::Draining) } else { edge.readiness().get() };
    match reason {
        None => Json(json!({"status": "ready"})).into_response(),
        Some(reason) => {
            let body = json!({"status": "not_ready", "reason": reason.as_str()});
            (StatusCode::SERVICE_UNAVAILABLE, Json(body)).into_response()
        }
    }
}

/// Counters tell about use, so they need a key with `read` unless only this machine can ask.
pub(super) async fn metrics(
    State(edge): State<Edge>,
    headers: HeaderMap,
    request: axum::extract::Request,
) -> Result<Response, Problem> {
    let peer = request.extensions().get::<Peer>().map(|peer| peer.0.ip());
    if !edge.has_open_metrics() {
        edge.authenticate(&headers, peer)?.require(KeyScope::Read)?;
    }
    let content_type = [(CONTENT_TYPE, Metrics::CONTENT_TYPE)];
    Ok((content_type, edge.metrics().render()).into_response())
}
