//! LangGraph's classic threads and runs: a thread is a session, a run is a turn, an assistant is an agent.

mod assistant;
mod body;
mod modes;
mod resume;
mod run;
mod thread;

use axum::Router;
use axum::routing::{get, post};
use riverrun_dialect::Dialect;

use crate::app::App;

const DIALECT: Dialect = Dialect::LangGraph;

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/assistants/search", post(assistant::search))
        .route("/assistants/{*assistant}", get(assistant::one))
        .route("/threads", post(thread::create_thread))
        .route("/threads/{thread}", get(thread::one))
        .route("/threads/{thread}/state", get(thread::state_of))
        .route("/runs", post(run::begin_alone))
        .route("/runs/stream", post(run::stream_alone))
        .route("/runs/wait", post(run::wait_alone))
        .route("/threads/{thread}/runs", post(run::begin_in).get(run::list))
        .route("/threads/{thread}/runs/stream", post(run::stream_in))
        .route("/threads/{thread}/runs/wait", post(run::wait_in))
        .route("/threads/{thread}/runs/{run}", get(run::one))
        .route("/threads/{thread}/runs/{run}/stream", get(run::join_stream))
        .route("/threads/{thread}/runs/{run}/join", get(run::join))
        .route("/threads/{thread}/runs/{run}/cancel", post(run::cancel))
}
