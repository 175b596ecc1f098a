//! The HTTP surface.

mod backups;
mod benchmark;
mod blobs;
mod events;
mod idempotency;
mod ingest;
mod shares;
mod transfer;
mod turn_stream;
mod turns;
mod upload;

use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use http::StatusCode;
use http::header::CONTENT_TYPE;
use serde::Serialize;

use crate::app::App;
use crate::{edge, operations};

pub(crate) use idempotency::{Once, begin as begin_idempotent, stored_response};
pub(crate) use ingest::{EventReader, answer, decode_all, store};
pub(crate) use riverrun_api::{check_addresses, check_blobs, is_blank_input};
pub(crate) use shares::live as live_share;
pub(crate) use transfer::forked;
pub(crate) use turns::{SubmitBody, submit_turn};

/// The native routes.
pub(crate) fn routes() -> Router<App> {
    operations::routes()
        .route("/v2/sessions/{session}/share", post(shares::share))
        .route("/share/{share}", get(shares::read))
        .route("/v1/sessions/{session}/fork", post(transfer::fork))
        .route("/v1/import", post(transfer::import))
        .route("/v1/blobs", put(blobs::put))
        .route("/v1/backups", post(backups::post))
        .route_layer(axum::middleware::from_fn(edge::answers_json))
        // These answer in a form that the request chooses.
        .route("/v1/sessions/{session}/turns", post(turns::submit))
        .route("/v1/sessions/{session}/events", get(events::follow).post(ingest::ingest))
        .route("/v1/sessions/{session}/export", get(transfer::export))
        .route("/v1/sessions/{session}/benchmark", get(benchmark::get))
        .route("/v1/blobs/{ref}", get(blobs::get))
        .route("/schemas/config.json", get(config_schema))
}

async fn config_schema(
    axum::extract::State(app): axum::extract::State<App>,
) -> Result<Response, edge::Problem> {
    let schema = app.config_schema().ok_or_else(edge::not_found)?.to_owned();
    Ok(([(CONTENT_TYPE, "application/schema+json")], schema).into_response())
}

/// An answer with a JSON body.
fn json(status: StatusCode, body: &impl Serialize) -> Response {
    let body = serde_json::to_string(body).expect("answers have string keys and no fallible parts");
    (status, [(CONTENT_TYPE, "application/json")], body).into_response()
}
