//! Every route, with the edge around it.

use axum::Router;
use axum::routing::get;

use crate::app::App;
use crate::{edge, gateway, route, rpc};

pub fn router(app: App) -> Router {
    let router = route::routes()
        .route("/v1/ws", get(rpc::upgrade))
        .merge(gateway::routes())
        .merge(edge::routes())
        .fallback(gateway::no_route)
        .with_state(app.clone());
    app.edge().wrap(router)
}
