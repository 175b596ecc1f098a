//! LangGraph's classic threads and runs: a thread is a session, a run is a turn, an assistant is an agent.

mod absent;
mod assistant;
mod begin;
mod body;
mod checkpoint;
mod modes;
mod resume;
mod run;
mod search;
mod thread;

use axum::Router;
use axum::routing::{any, get, post};
use riverrun_dialect::Dialect;

use self::absent::absent;
use crate::app::App;

const DIALECT: Dialect = Dialect::LangGraph;

const KEPT: &str = "a run is part of its thread's log; delete the thread, or go on from a copy of it";
const SAY_IT: &str = "a thread is what its runs said; begin a run with the message";

/// Addresses of LangGraph's server of which nothing is served, and what does instead.
const ABSENT: &[(&str, &str)] = &[
    ("/assistants", assistant::DECLARED),
    ("/threads/prune", "delete each thread"),
    ("/threads/{thread}/stream", "follow each run with `runs.join_stream`"),
    ("/threads/{thread}/stream/{*rest}", "follow each run with `runs.join_stream`"),
    ("/threads/{thread}/runs/crons", "begin runs from a timer of your own"),
    ("/runs/batch", "begin the runs one by one"),
    ("/runs/crons", "begin runs from a timer of your own"),
    ("/runs/crons/{*rest}", "begin runs from a timer of your own"),
    ("/store/{*rest}", "keep it in a thread's metadata, or give the agent a tool for it"),
];

pub(super) fn routes() -> Router<App> {
    let declared = || absent(assistant::DECLARED);
    let assistant = get(assistant::one).post(declared()).patch(declared()).delete(declared());
    let served = Router::new()
        .route("/assistants/search", post(assistant::search))
        .route("/assistants/count", post(assistant::count))
        .route("/assistants/{*assistant}", assistant)
        .route("/threads", post(thread::create_thread))
        .route("/threads/search", post(search::search))
        .route("/threads/count", post(search::count))
        .route("/threads/{thread}", get(thread::one).patch(thread::update).delete(thread::delete))
        .route("/threads/{thread}/copy", post(thread::copy))
        .route("/threads/{thread}/state", get(checkpoint::now).post(absent(SAY_IT)))
        .route("/threads/{thread}/state/checkpoint", post(checkpoint::named))
        .route("/threads/{thread}/state/{id}", get(checkpoint::then))
        .route("/threads/{thread}/history", post(checkpoint::history))
        .merge(runs());
    ABSENT.iter().fold(served, |router, (path, instead)| router.route(path, any(absent(instead))))
}

fn runs() -> Router<App> {
    Router::new()
        .route("/runs", post(begin::begin))
        .route("/runs/stream", post(begin::stream))
        .route("/runs/wait", post(begin::wait))
        .route("/runs/cancel", post(run::cancel_many))
        .route("/threads/{thread}/runs", post(begin::begin).get(run::list))
        .route("/threads/{thread}/runs/stream", post(begin::stream))
        .route("/threads/{thread}/runs/wait", post(begin::wait))
        .route("/threads/{thread}/runs/{run}", get(run::one).delete(absent(KEPT)))
        .route("/threads/{thread}/runs/{run}/stream", get(run::join_stream))
        .route("/threads/{thread}/runs/{run}/join", get(run::join))
        .route("/threads/{thread}/runs/{run}/cancel", post(run::cancel))
}
