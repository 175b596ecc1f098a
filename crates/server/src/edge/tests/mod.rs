//! The edge as a caller meets it: whole requests in, whole answers out.

mod auth;
mod browser;
mod input;
mod shape;
mod socket;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Path;
use axum::extract::ws::{WebSocket, WebSocketUpgrade};
use axum::routing::{get, post};
use bytes::Bytes;
use futures_util::StreamExt;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt;
use riverrun_event::{SessionId, TenantId};
use riverrun_log::memory::MemoryLog;
use riverrun_log::{Clock, Log, ManualClock, UnixMillis};
use serde::Deserialize;
use serde_json::Value;
use tower::ServiceExt;

use super::*;

/// A server with one route of each kind.
struct Fixture {
    edge: Edge,
    router: Router,
    log: Arc<dyn Log>,
    clock: Arc<ManualClock>,
    /// A key with every scope.
    admin: String,
}

#[derive(Debug, Clone, PartialEq)]
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Value,
}

impl Answer {
    /// Status and code, the two things that every refusal is pinned by.
    fn refusal(&self) -> (u16, &str) {
        (self.status.as_u16(), self.body["code"].as_str().unwrap_or("none"))
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[allow(dead_code)]
struct Command {
    model: String,
    session_id: Option<SessionId>,
}

const LARGE_FRAME: usize = 10_000;
const LARGE_FRAMES: usize = 2_000;

struct Filter;

impl FromParams for Filter {
    const NAMES: &'static [&'static str] = &["after", "limit", "ticket"];
    fn from_params(params: &Params) -> Result<Self, Problem> {
        params.limit("limit", 1, 100).map(|_| Self)
    }
}

async fn stream(
    StreamCaller(caller): StreamCaller,
    Path(session): Path<String>,
) -> Result<axum::response::Response, Problem> {
    let session = SessionId::new(&session).map_err(|_| not_found())?;
    caller.require(Scope::Read)?;
    caller.require_session(&session)?;
    let first = futures_util::stream::iter([Ok::<_, std::io::Error>("data: 1\n\n"), Ok("data: 2\n\n")]);
    let body = match session.as_str() {
        "whole" => Body::from_stream(first),
        "large" => Body::from_stream(futures_util::stream::iter(
            (0..LARGE_FRAMES).map(|_| Ok::<_, std::io::Error>(Bytes::from_static(&[b'.'; LARGE_FRAME]))),
        )),
        "cut" => Body::from_stream(
            first.chain(futures_util::stream::iter([Err(std::io::ErrorKind::Other.into())])),
        ),
        _ => Body::from_stream(first.chain(futures_util::stream::pending())),
    };
    Ok(stream_response(Media::EventStream, body))
}

async fn echo(mut socket: WebSocket) {
    while let Some(Ok(message)) = socket.recv().await {
        if socket.send(message).await.is_err() {
            return;
        }
    }
}

fn allowed(caller: &Caller, scope: Scope) -> Result<&'static str, Problem> {
    Ok(caller.require(scope).map(|()| "ok")?)
}

fn routes_under_test() -> Router<Edge> {
    Router::new()
        .route("/v1/echo", post(async |_: Caller, StrictJson(_): StrictJson<Command>| "ok"))
        .route("/v1/list", get(async |_: Caller, StrictQuery(_): StrictQuery<Filter>| "ok"))
        .route("/v1/write", post(async |caller: Caller| allowed(&caller, Scope::Write)))
        .route("/v1/approve", post(async |caller: Caller| allowed(&caller, Scope::Approve)))
        .route("/v1/sessions/{session}/events", get(stream))
        .route("/v1/ws", get(async |upgrade: WebSocketUpgrade| upgrade.on_upgrade(echo)))
        .route("/v1/panic", get(async || -> &'static str { panic!("on purpose") }))
        .route(
            "/v1/form",
            get(async |headers: HeaderMap| {
                negotiate(&headers, &[Media::Json, Media::Ndjson, Media::EventStream]).map(Media::as_str)
            }),
        )
}

async fn fixture_with(limits: Limits) -> Fixture {
    let clock = Arc::new(ManualClock::at(UnixMillis::from_millis(1_000_000)));
    let log: Arc<dyn Log> = Arc::new(MemoryLog::new(clock.clone()));
    let keys = Keys::load(log.clone(), clock.clone()).await.expect("an empty log opens");
    let tenant = TenantId::new(DEFAULT_TENANT).expect("a well formed id");
    let request = KeyRequest { tenant, scopes: vec![Scope::Admin], label: String::new(), expires_at: None };
    let admin = keys.create(request).await.expect("a key can be made").text;
    let bound: SocketAddr = "127.0.0.1:7777".parse().expect("an address");
    let origins = vec!["https://app.example.com".to_owned()];
    let config = Config { origins, limits, ..Config::new(bound) };
    let edge = Edge::new(config, keys, Arc::new(Metrics::new()), clock.clone());
    let router = edge.wrap(routes_under_test().merge(routes()).with_state(edge.clone()));
    Fixture { edge, router, log, clock, admin }
}

async fn fixture() -> Fixture {
    fixture_with(Limits::default()).await
}

impl Fixture {
    /// A key of the tenant with these scopes, and its id.
    async fn key(&self, tenant: &str, scopes: &[Scope], life: Option<Duration>) -> NewKey {
        let tenant = TenantId::new(tenant).expect("a well formed id");
        let expires_at = life.map(|life| self.clock.now().plus(life));
        let request = KeyRequest { tenant, scopes: scopes.to_vec(), label: String::new(), expires_at };
        self.edge.keys().create(request).await.expect("a key can be made")
    }

    /// Sends `METHOD path` with the admin key, unless `headers` names another.
    async fn send(&self, line: &str, headers: &[(&str, &str)], body: impl Into<Body>) -> Answer {
        let bearer = format!("Bearer {}", self.admin);
        let mut all = vec![("host", "localhost:7777"), ("authorization", bearer.as_str())];
        all.retain(|(name, _)| !headers.iter().any(|(other, _)| other == name));
        all.extend(headers.iter().filter(|(_, value)| !value.is_empty()));
        self.send_plain(line, &all, body).await
    }

    /// Sends exactly these headers, as if from 127.0.0.1.
    async fn send_plain(&self, line: &str, headers: &[(&str, &str)], body: impl Into<Body>) -> Answer {
        let (method, path) = line.split_once(' ').expect("a method and a path");
        let peer = Peer("127.0.0.1:4000".parse().expect("an address"));
        let builder = Request::builder().method(method).uri(path).extension(peer);
        let builder = headers.iter().fold(builder, |builder, (name, value)| builder.header(*name, *value));
        let request = builder.body(body.into()).expect("a well formed request");
        let response = self.router.clone().oneshot(request).await.expect("the router never fails");
        let (parts, body) = response.into_parts();
        let streams = parts.headers.get("content-type").is_some_and(|kind| kind == "text/event-stream");
        let bytes =
            if streams { Default::default() } else { body.collect().await.expect("a whole body").to_bytes() };
        let body = serde_json::from_slice(&bytes).unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into());
        Answer { status: parts.status, headers: parts.headers, body }
    }
}
