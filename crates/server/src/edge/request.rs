//! The outermost layer: it names the request, contains panics, gives every answer its headers and shape, and
//! writes the access log.
//!
//! The access log holds the route's template, never the path, the query, a body or a key.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderName, ORIGIN, REFERRER_POLICY, UPGRADE, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use riverrun_event::{ErrorCode, TenantId, check_id};
use riverrun_log::seeded::{self, Bug};
use tokio::time::Instant;

use super::Edge;
use super::fault::Fault;
use super::host::Page;
use super::problem::Problem;
use super::query;
use crate::metrics::RequestLabels;

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// The name of one request, in the answer, in problems and in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId(pub Arc<str>);

/// What is learnt of a request on its way in, for the access log on its way out.
#[derive(Debug, Clone, Default)]
pub(super) struct Note(Arc<OnceLock<TenantId>>);

impl Note {
    pub(super) fn set_tenant(&self, tenant: TenantId) {
        // A second extractor in the same request says the same.
        let _ = self.0.set(tenant);
    }

    pub(super) fn tenant(&self) -> Option<TenantId> {
        self.0.get().cloned()
    }
}

pub(super) async fn observe(State(edge): State<Edge>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = request_id(request.headers());
    let note = Note::default();
    let method = request.method().clone();
    let origin = request.headers().get(ORIGIN).cloned();
    let page = page(&edge, &request);
    let route = request.extensions().get::<MatchedPath>().cloned();
    request.extensions_mut().insert(id.clone());
    request.extensions_mut().insert(note.clone());

    let answered = AssertUnwindSafe(answer(&edge, page, request, next)).catch_unwind().await;
    let response = answered.unwrap_or_else(|_| {
        edge.metrics().panics.inc();
        tracing::error!(request_id = %id.0, "a handler panicked");
        Problem::new(ErrorCode::Internal, "a defect in the server; report the request id").into_response()
    });
    let (mut response, problem) = shape(response, &id);
    edge.hosts().mark(origin.as_ref(), page, response.headers_mut());
    put_headers(response.headers_mut(), &id);

    let route = route.as_ref().map_or("-", MatchedPath::as_str);
    let status = response.status();
    let elapsed = started.elapsed();
    edge.metrics().requests.get_or_create(&RequestLabels::new(&method, route, status)).inc();
    edge.metrics().request_seconds.observe(elapsed.as_secs_f64());
    tracing::info!(
        target: "riverrun::access",
        method = method.as_str(),
        route,
        status = status.as_u16(),
        duration_ms = elapsed.as_secs_f64() * 1e3,
        request_id = &*id.0,
        tenant = note.0.get().map_or("-", TenantId::as_str),
        code = problem.map_or("-", ErrorCode::as_str),
    );
    response
}

/// A page of an origin that some credential names, if it brings one, will bring one, or asks whether it may. Whether
/// the credential is good, and for this very origin, is found out where the caller is.
fn page(edge: &Edge, request: &Request) -> Page {
    let headers = request.headers();
    let asks = request.method() == Method::OPTIONS || headers.contains_key(UPGRADE);
    let comes_with_one = asks || super::auth::presents_credential(headers, request.uri().query());
    if headers.contains_key(ORIGIN) && comes_with_one && edge.is_page_origin(headers) {
        Page::OfCredential
    } else {
        Page::Other
    }
}

/// The checks that come before any route, then the route.
async fn answer(edge: &Edge, page: Page, mut request: Request, next: Next) -> Response {
    let hosts = edge.hosts();
    let checked = refuse_repeated(request.headers())
        .and_then(|()| hosts.check_host(&request))
        .and_then(|()| query::refuse_keys(request.uri().query()));
    if let Err(problem) = checked {
        return problem.into_response();
    }
    if let Some(preflight) = hosts.preflight(&request, page) {
        return preflight.unwrap_or_else(IntoResponse::into_response);
    }
    if let Err(problem) = hosts.check_origin(&request, page) {
        return problem.into_response();
    }
    if !edge.is_dev() {
        return next.run(request).await;
    }
    match Fault::read(request.headers()) {
        Err(problem) => problem.into_response(),
        Ok(None) => next.run(request).await,
        Ok(Some(fault)) => {
            request.extensions_mut().insert(fault);
            fault.apply(next.run(request).await)
        }
    }
}

/// Headers that decide who asks, what is asked or where a request ends. Of two of them one reader takes the first and
/// another the last.
const SINGLE: [&str; 22] = [
    "access-control-request-method",
    "authorization",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "idempotency-key",
    "last-event-id",
    "origin",
    "producer-epoch",
    "producer-id",
    "producer-seq",
    "range",
    "referer",
    "sec-fetch-site",
    "sec-websocket-key",
    "sec-websocket-version",
    "transfer-encoding",
    "x-api-key",
    "x-goog-api-key",
    "x-request-id",
];

/// 400 for a header that is there twice and may not be.
fn refuse_repeated(headers: &HeaderMap) -> Result<(), Problem> {
    // Each name counts once in `keys_len`, so most requests are done here.
    if headers.len() == headers.keys_len() || seeded::is_on(Bug::DuplicateOrigin) {
        return Ok(());
    }
    let is_repeated = |name: &&&str| headers.get_all(**name).iter().nth(1).is_some();
    match SINGLE.iter().find(is_repeated) {
        Some(name) => {
            let detail = format!("the header `{name}` is there more than once; send it once");
            Err(Problem::new(ErrorCode::InvalidRequest, detail).field(*name))
        }
        None => Ok(()),
    }
}

/// Gives a problem its request id, and turns the plain-text answers of the framework into problems.
fn shape(response: Response, id: &RequestId) -> (Response, Option<ErrorCode>) {
    let problem = response.extensions().get::<Problem>().cloned();
    let is_ours = problem.is_some();
    let Some(problem) = problem.or_else(|| foreign_problem(&response)) else { return (response, None) };
    let code = Some(problem.code());
    // A dialect that already put the problem into its own shape keeps its body.
    let content_type = response.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    if is_ours && content_type != Some(b"application/problem+json") {
        return (response, code);
    }
    let mut shaped = problem.to_response(Some(&id.0));
    if let Some(allow) = response.headers().get(ALLOW) {
        shaped.headers_mut().insert(ALLOW, allow.clone());
    }
    (shaped, code)
}

/// A refusal that did not come from our code: axum answers those in plain text.
fn foreign_problem(response: &Response) -> Option<Problem> {
    let content_type = response.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    let plain = content_type.is_none_or(|kind| kind.starts_with(b"text/plain"));
    let status = response.status();
    if !plain || !(status.is_client_error() || status.is_server_error()) {
        return None;
    }
    Some(match status {
        // A path whose ids cannot be read: as one that names nothing, so that a malformed id tells nothing.
        StatusCode::NOT_FOUND => super::auth::not_found(),
        StatusCode::METHOD_NOT_ALLOWED => method_not_allowed(),
        StatusCode::PAYLOAD_TOO_LARGE => Problem::new(ErrorCode::BodyTooLarge, "the body is over the limit"),
        StatusCode::UNSUPPORTED_MEDIA_TYPE => {
            Problem::new(ErrorCode::UnsupportedMediaType, "the body's media type is not taken here")
        }
        status if status.is_client_error() => {
            Problem::new(ErrorCode::InvalidRequest, "the request is not well formed for this path")
        }
        _ => Problem::new(ErrorCode::Internal, "a defect in the server; report the request id"),
    })
}

pub(crate) fn no_route() -> Problem {
    let detail = "there is no such path; `GET /openapi.json` lists those that there are";
    Problem::new(ErrorCode::NotFound, detail)
}

pub(super) fn method_not_allowed() -> Problem {
    Problem::new(
        ErrorCode::MethodNotAllowed,
        "this path does not take that method; `Allow` lists those it takes",
    )
}

/// The caller's own id if it fits our alphabet, or a fresh one.
fn request_id(headers: &HeaderMap) -> RequestId {
    let given = headers.get(X_REQUEST_ID).and_then(|value| value.to_str().ok());
    match given.filter(|id| check_id(id).is_ok()) {
        Some(id) => RequestId(id.into()),
        None => next_id(),
    }
}

/// Random once per process, then counted: a request is too cheap to ask the system for randomness.
fn next_id() -> RequestId {
    static PROCESS: OnceLock<String> = OnceLock::new();
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let process = PROCESS.get_or_init(|| {
        let bytes: [u8; 8] = super::keys::random().unwrap_or_default();
        format!("req_{}", super::keys::hex(&bytes))
    });
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut id = String::with_capacity(40);
    id.push_str(process);
    let width = (64 - count.leading_zeros()).div_ceil(4).max(8);
    for place in (0..width).rev() {
        id.push(char::from_digit((count >> (4 * place) & 15) as u32, 16).unwrap_or('0'));
    }
    RequestId(id.into())
}

fn put_headers(headers: &mut HeaderMap, id: &RequestId) {
    let content_type = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    let streams =
        content_type.starts_with(b"text/event-stream") || content_type.starts_with(b"application/x-ndjson");
    if let Ok(id) = HeaderValue::from_str(&id.0) {
        headers.insert(X_REQUEST_ID, id);
    }
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(RESOURCE_POLICY, HeaderValue::from_static("same-origin"));
    if streams || !headers.contains_key(CACHE_CONTROL) {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    if streams {
        headers.insert(X_ACCEL_BUFFERING, HeaderValue::from_static("no"));
    }
}
