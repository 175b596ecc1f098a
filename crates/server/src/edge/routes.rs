//! The routes that belong to the edge itself: health, metrics, the API document, browser credentials and tickets.

use axum::extract::{FromRef, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use axum::{Json, Router};
use http::StatusCode;
use http::header::CONTENT_TYPE;
use riverrun_api::KeyScope;
use riverrun_event::{ErrorCode, SessionId};
use serde::{Deserialize, Serialize};

use super::auth::Caller;
use super::body::OptionalJson;
use super::problem::Problem;
use super::query::StrictQuery;
use super::{Edge, browser, health};

/// The routes of the edge, to merge into the server's router.
pub fn routes<S>() -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    Edge: FromRef<S>,
{
    Router::new()
        .route("/v1/browser-credentials", post(browser::create).get(browser::list))
        .route("/v1/browser-credentials/{credential}", delete(browser::revoke))
        .route("/v1/browser-credentials/{credential}/renew", post(browser::renew))
        .route("/v1/tickets", post(create_ticket))
        .route_layer(axum::middleware::from_fn(super::answers_json))
        .route("/livez", get(health::live))
        .route("/readyz", get(health::ready))
        .route("/healthz", get(health::ready))
        .route("/metrics", get(health::metrics))
        .route("/openapi.json", get(openapi))
}

async fn openapi() -> Response {
    ([(CONTENT_TYPE, "application/json")], crate::openapi::DOCUMENT).into_response()
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct CreateTicket {
    session: Option<SessionId>,
    /// `read` unless asked otherwise.
    scope: Option<KeyScope>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TicketView {
    ticket: String,
    expires_in_seconds: u64,
}

async fn create_ticket(
    caller: Caller,
    State(edge): State<Edge>,
    StrictQuery(()): StrictQuery<()>,
    OptionalJson(command): OptionalJson<CreateTicket>,
) -> Result<Response, Problem> {
    let scope = command.scope.unwrap_or(KeyScope::Read);
    if scope == KeyScope::Admin {
        let detail = "a ticket cannot carry scope `admin`";
        return Err(Problem::new(ErrorCode::InvalidField, detail).field("scope"));
    }
    caller.require(scope)?;
    let scopes = if scope == KeyScope::Read { vec![scope] } else { vec![KeyScope::Read, scope] };
    let scopes = scopes.into_iter().filter(|scope| caller.has(*scope)).collect();
    let ticket = edge.tickets().issue(caller.key(), scopes, command.session)?;
    let view = TicketView { ticket, expires_in_seconds: edge.tickets().time().as_secs() };
    Ok((StatusCode::CREATED, Json(view)).into_response())
}
