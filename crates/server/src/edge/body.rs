//! Reads request bodies: what they may claim to be, how large, how slow.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRef, FromRequest, Request};
use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue};
use http_body_util::BodyExt;
use riverrun_event::ErrorCode;
use riverrun_log::seeded::{self, Bug};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, timeout_at};

use super::Edge;
use super::decode::{compact, decode, decode_text};
use super::problem::Problem;
use super::request::Note;

/// The media types that a body may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyKind {
    Json,
    Ndjson,
}

/// The kind of a body from its headers; 415 for any other kind and for every content encoding, because a small
/// body that unpacks into a large one is the caller's bomb and our memory.
pub fn body_kind(headers: &HeaderMap) -> Result<BodyKind, Problem> {
    refuse_encoding(headers)?;
    let offered = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    let (media_type, parameters) = offered.split_once(';').unwrap_or((offered, ""));
    let kind = match media_type.trim().to_ascii_lowercase().as_str() {
        "application/json" => Some(BodyKind::Json),
        "application/x-ndjson" | "application/ndjson" | "application/jsonl" => Some(BodyKind::Ndjson),
        _ => None,
    };
    kind.filter(|_| charset_is_utf8(parameters)).ok_or_else(|| {
        let detail = "send the body as `application/json` or `application/x-ndjson`, in UTF-8";
        Problem::new(ErrorCode::UnsupportedMediaType, detail).field("Content-Type")
    })
}

/// 415 for any `Content-Encoding` but `identity`.
pub fn refuse_encoding(headers: &HeaderMap) -> Result<(), Problem> {
    let plain = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"identity") || value.is_empty();
    if headers.get_all(CONTENT_ENCODING).iter().all(plain) {
        return Ok(());
    }
    let detail = "compressed bodies are not taken; send the body without `Content-Encoding`";
    Err(Problem::new(ErrorCode::UnsupportedMediaType, detail).field("Content-Encoding"))
}

fn charset_is_utf8(parameters: &str) -> bool {
    parameters.split(';').filter_map(|parameter| parameter.split_once('=')).all(|(name, value)| {
        let value = value.trim().trim_matches('"');
        !name.trim().eq_ignore_ascii_case("charset") || value.eq_ignore_ascii_case("utf-8")
    })
}

/// Refuses a body whose announced length is over the limit.
pub(crate) fn check_announced(headers: &HeaderMap, max: usize) -> Result<(), Problem> {
    let announced = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|length| length > max as u64) { Err(too_large(max)) } else { Ok(()) }
}

/// Reads a whole body into memory, within the limits of the edge. An announced length over the limit is refused before
/// a byte is read.
pub async fn read_all(edge: &Edge, parts: &Parts, body: Body) -> Result<Bytes, Problem> {
    let (max, time) = (edge.limits().body_bytes, edge.limits().body_time);
    check_announced(&parts.headers, max)?;
    let tenant = parts.extensions.get::<Note>().and_then(Note::tenant);
    let mut reservation = edge.body_bytes().open(tenant);
    let deadline = Instant::now() + time;
    let mut body = std::pin::pin!(body);
    let mut whole = BytesMut::new();
    loop {
        let frame = timeout_at(deadline, body.frame()).await.map_err(|_| too_slow(time))?;
        let Some(frame) = frame else { return Ok(whole.freeze()) };
        let Ok(data) = frame.map_err(|_| broken())?.into_data() else { continue };
        let data = arrived(data);
        if whole.len() + data.len() > max {
            return Err(too_large(max));
        }
        reservation.set(whole.len() + data.len())?;
        whole.extend_from_slice(&data);
    }
}

/// What came from the network, as it came.
pub(super) fn arrived(data: Bytes) -> Bytes {
    if seeded::is_on(Bug::LossyUtf8) {
        return String::from_utf8_lossy(&data).into_owned().into();
    }
    data
}

pub(crate) fn too_large(max: usize) -> Problem {
    let detail = format!("the body has more than {max} bytes; send less, or put large parts into a blob");
    Problem::new(ErrorCode::BodyTooLarge, detail).limit(max as u64)
}

pub(crate) fn too_slow(time: Duration) -> Problem {
    let detail = format!("the body was not complete after {} s", time.as_secs());
    Problem::new(ErrorCode::BodyTimeout, detail).limit(time.as_secs())
}

pub(crate) fn broken() -> Problem {
    Problem::new(
        ErrorCode::InvalidRequest,
        "the body ended before it was complete, or its chunks are malformed",
    )
}

/// A command body: one JSON object, decoded strictly into `T`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StrictJson<T>(pub T);

impl<S, T> FromRequest<S> for StrictJson<T>
where
    S: Send + Sync,
    T: DeserializeOwned,
    Edge: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let edge = Edge::from_ref(state);
        let bytes = read_json(request, &edge).await?;
        decode(&bytes, &edge.limits().json).map(Self)
    }
}

/// A command body that may be left out, for commands whose fields are all optional.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionalJson<T>(pub T);

impl<S, T> FromRequest<S> for OptionalJson<T>
where
    S: Send + Sync,
    T: DeserializeOwned + Default,
    Edge: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let OptionalText(text) = OptionalText::from_request(request, state).await?;
        if text.is_empty() { Ok(Self(T::default())) } else { decode_text(&text).map(Self) }
    }
}

/// The same, checked and without white space, but not decoded: empty if it was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionalText(pub String);

impl<S> FromRequest<S> for OptionalText
where
    S: Send + Sync,
    Edge: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let edge = Edge::from_ref(state);
        let (parts, body) = request.into_parts();
        if !parts.headers.contains_key(CONTENT_TYPE) {
            refuse_encoding(&parts.headers)?;
            return match read_all(&edge, &parts, body).await? {
                bytes if bytes.is_empty() => Ok(Self(String::new())),
                _ => body_kind(&parts.headers).map(|_| Self(String::new())),
            };
        }
        let bytes = read_json(Request::from_parts(parts, body), &edge).await?;
        match bytes.is_empty() {
            true => Ok(Self(String::new())),
            false => compact(&bytes, &edge.limits().json).map(Self),
        }
    }
}

/// A body that is any JSON, checked and without white space, for those who decode it further themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactJson(pub String);

impl<S> FromRequest<S> for CompactJson
where
    S: Send + Sync,
    Edge: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let edge = Edge::from_ref(state);
        let bytes = read_json(request, &edge).await?;
        compact(&bytes, &edge.limits().json).map(Self)
    }
}

async fn read_json(request: Request, edge: &Edge) -> Result<Bytes, Problem> {
    let (parts, body) = request.into_parts();
    if body_kind(&parts.headers)? != BodyKind::Json {
        let detail = "this path takes one JSON object; send it as `application/json`";
        return Err(Problem::new(ErrorCode::UnsupportedMediaType, detail).field("Content-Type"));
    }
    read_all(edge, &parts, body).await
}
