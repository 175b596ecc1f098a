//! `Idempotency-Key`: the header, and answers that are sent again.

use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
pub(crate) use riverrun_api::{KeyedRequest, Once, digest, stored_answer};
use riverrun_api::{StoredResponse, to_json};
use riverrun_log::Digest;
use serde::Serialize;

use crate::app::App;
use crate::edge::{Caller, Problem};

const KEY: HeaderName = HeaderName::from_static("idempotency-key");
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

pub(crate) fn has_key(headers: &HeaderMap) -> bool {
    headers.contains_key(KEY)
}

/// Takes the key of a request, if it has one. 409 while another request with the same key is under way.
/// `route` names what is asked and of whom: the same key elsewhere is another key.
pub(crate) async fn begin(
    app: &App,
    caller: &Caller,
    headers: &HeaderMap,
    route: &str,
) -> Result<Option<KeyedRequest>, Problem> {
    let Some(key) = headers.get(KEY) else { return Ok(None) };
    let key = key.to_str().unwrap_or_default();
    Ok(Some(KeyedRequest::begin(app.services(), caller, key, route, "Idempotency-Key").await?))
}

/// A command over HTTP.
pub(crate) async fn begin_once(
    app: &App,
    caller: &Caller,
    headers: &HeaderMap,
    route: &str,
    body: &str,
) -> Result<Once, Problem> {
    Ok(Once::new(begin(app, caller, headers, route).await?, body))
}

/// The first answer, if the key was used before with the same body.
pub(crate) fn repeated_attempt(attempt: &KeyedRequest, digest: &Digest) -> Result<Option<Response>, Problem> {
    Ok(attempt.stored(digest)?.map(stored_response))
}

/// The first answer, if this was done before.
pub(crate) fn repeated(once: &Once) -> Result<Option<Response>, Problem> {
    Ok(once.stored()?.map(stored_response))
}

/// Answers, and remembers the answer.
pub(crate) async fn answer(
    once: &Once,
    app: &App,
    status: StatusCode,
    body: &impl Serialize,
) -> Result<Response, Problem> {
    let body = to_json(body);
    once.remember(app.services(), status.as_u16(), &body).await?;
    Ok((status, [(CONTENT_TYPE, "application/json")], body).into_response())
}

pub(crate) fn stored_response(stored: StoredResponse) -> Response {
    let status = StatusCode::from_u16(stored.status).unwrap_or(StatusCode::OK);
    let mut response = match status {
        StatusCode::NO_CONTENT => status.into_response(),
        _ => (status, [(CONTENT_TYPE, "application/json")], stored.body).into_response(),
    };
    response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    response
}
