//! Every route, with the edge around it.

use axum::Router;
use axum::routing::get;

use crate::app::App;
use crate::{edge, foreign, route, rpc};

pub fn router(app: App) -> Router {
    let router = route::routes()
        .route("/v1/ws", get(rpc::upgrade))
        .merge(foreign::routes())
        .merge(edge::routes())
        .fallback(foreign::no_route)
        .with_state(app.clone());
    app.edge().wrap(router)
}
