//! The HTTP surface.

mod events;
mod ingest;

use axum::Router;
use axum::routing::get;

use crate::app::App;
use crate::edge;

/// Every route, with the edge around it.
pub fn router(app: App) -> Router {
    let router = Router::new()
        .route("/v1/sessions/{session}/events", get(events::follow).post(ingest::ingest))
        .merge(edge::routes())
        .with_state(app.clone());
    app.edge().wrap(router)
}
