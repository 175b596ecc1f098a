//! The routes of foreign dialects: an unmodified client of another API asks here, and everything lands in the same log.
//!
//! ```text
//!   request ──▶ decode (dialect) ──▶ Submit ──▶ runner ──▶ log ──▶ the turn's stream in that dialect
//! ```
//!
//! A disconnect is never a cancel. Refusals have the shape that the dialect's clients read.

mod a2a;
mod ag_ui;
mod ai_sdk;
mod anthropic;
mod blocks;
mod branch;
mod chat_agent;
mod conversation;
mod decisions;
mod first_frames;
mod gemini;
mod langgraph;
mod model_call;
mod models;
mod one_shot;
mod protocol_socket;
mod refusal;
mod responses;
mod schemas;
mod turn;
mod upgrade;

use axum::Router;
use axum::extract::{FromRequestParts, Request};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, StatusCode};
use riverrun_dialect::Dialect;

use crate::app::App;
use crate::edge::{Caller, KeyScope, RequestId, no_route as no_such_path, read_all, refuse_encoding};
pub(crate) use refusal::Refusal;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/v1/responses", post(responses::create).get(responses::socket::open))
        .route("/v1/responses/input_tokens", post(responses::not_provided))
        .route("/v1/responses/compact", post(responses::not_provided))
        .route("/v1/responses/{response}", get(responses::retrieve).delete(responses::delete))
        .route("/v1/responses/{response}/cancel", post(responses::cancel))
        .route("/v1/responses/{response}/input_items", get(responses::input_items))
        .route("/v1/conversations", post(responses::conversations::post))
        .route(
            "/v1/conversations/{conversation}",
            get(responses::conversations::get)
                .post(responses::conversations::update)
                .delete(responses::conversations::delete),
        )
        .route(
            "/v1/conversations/{conversation}/items",
            get(responses::conversations::items).post(responses::conversations::add_items),
        )
        .route(
            "/v1/conversations/{conversation}/items/{item}",
            get(responses::conversations::item).delete(responses::conversations::delete_item),
        )
        .route("/v1/chat/completions", post(one_shot::chat))
        .route("/v1/messages", post(one_shot::messages))
        .route("/v1/messages/count_tokens", post(anthropic::count_tokens::count))
        .route("/v1/models", get(models::list))
        .route("/v1/models/{*model}", get(models::one).post(gemini::generate))
        .route("/v1beta/models", get(gemini::list))
        .route("/v1beta/models/{*model}", get(gemini::one).post(gemini::generate))
        .route("/v1/ws/blocks", get(blocks::open))
        .route("/v2/sessions/{session}/history", get(blocks::history))
        .route("/v2/sessions/{session}/results/{call}", get(blocks::result))
        .route("/.well-known/agent-card.json", get(a2a::card))
        .route("/a2a", post(a2a::call))
        .route("/ag-ui", post(ag_ui::run))
        .route("/api/chat", post(ai_sdk::send))
        .route("/api/chat/{chat}/stream", get(ai_sdk::reconnect))
        .route("/api/chat/{chat}/stop", post(ai_sdk::stop))
        .merge(langgraph::routes())
}

/// Beginnings of the paths on which a dialect is spoken.
const SPOKEN: [(&str, Dialect); 10] = [
    ("/v1/responses", Dialect::Responses),
    ("/v1/conversations", Dialect::Responses),
    ("/v1/chat", Dialect::Chat),
    ("/v1/messages", Dialect::Anthropic),
    ("/v1beta", Dialect::Gemini),
    ("/ag-ui", Dialect::AgUi),
    ("/api/chat", Dialect::AiSdk),
    ("/assistants", Dialect::LangGraph),
    ("/threads", Dialect::LangGraph),
    ("/runs", Dialect::LangGraph),
];

/// A path that is not there, in the shape that those read who look for it.
pub(crate) async fn no_route(request: Request) -> Response {
    let path = request.uri().path();
    let is_below =
        |known: &str| path.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let dialect = SPOKEN.iter().find(|(known, _)| is_below(known)).map(|(_, dialect)| *dialect);
    let id = request.extensions().get::<RequestId>();
    Refusal::Problem(no_such_path()).answer(dialect.unwrap_or(Dialect::Native), id)
}

/// A foreign request: who asks, and what.
pub(crate) struct Asking {
    pub caller: Caller,
    pub headers: HeaderMap,
    pub query: Option<String>,
    pub body: Bytes,
}

/// Lets the caller in, reads the body, and answers; whatever is refused is refused in the dialect's shape.
async fn enter(
    app: &App,
    dialect: Dialect,
    scope: KeyScope,
    request: Request,
    answer: impl AsyncFnOnce(Asking) -> Result<Response, Refusal>,
) -> Response {
    let id = request.extensions().get::<RequestId>().cloned();
    let answered = async {
        let asking = let_in(app, scope, request).await?;
        let deltas = crate::deliver::deltas(asking.query.as_deref())?;
        turn::DELTAS.scope(deltas, answer(asking)).await
    };
    let mut response = answered.await.unwrap_or_else(|refusal| refusal.answer(dialect, id.as_ref()));
    // Anthropic's clients look for the name of a request under this name alone.
    let name = id.filter(|_| dialect == Dialect::Anthropic).and_then(|id| HeaderValue::from_str(&id.0).ok());
    if let Some(name) = name {
        response.headers_mut().insert("request-id", name);
    }
    response
}

async fn let_in(app: &App, scope: KeyScope, request: Request) -> Result<Asking, Refusal> {
    let (mut parts, body) = request.into_parts();
    let caller = Caller::from_request_parts(&mut parts, app).await?;
    caller.require(scope)?;
    refuse_encoding(&parts.headers)?;
    let body = read_all(app.edge(), &parts, body).await?;
    let query = parts.uri.query().map(str::to_owned);
    Ok(Asking { caller, headers: parts.headers, query, body })
}

fn json(body: String) -> Response {
    (StatusCode::OK, [(CONTENT_TYPE, "application/json")], body).into_response()
}
