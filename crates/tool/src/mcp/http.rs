//! An MCP server behind an address: streamable HTTP.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use riverrun_net::{AddressGuard, BodyError, ResponseBody, full};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, JsonRpcRequest, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Error as SseError, Sse};
use tokio::sync::watch;

use super::events::{events, too_long};
use super::unread;
use crate::ValueSource;
use crate::http::body;
use crate::http::client::{RequestError, send};
use crate::scrub::Scrubber;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// Sends each message on its own connection, to an address that was checked.
#[derive(Clone)]
pub(super) struct HttpLink {
    pub outbound: Arc<AddressGuard>,
    pub headers: Arc<Vec<(HeaderName, ValueSource)>>,
    /// The most bytes of one message.
    pub limit: usize,
    /// Counts the times at which the server's list may have changed.
    pub changes: watch::Sender<u64>,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum LinkError {
    #[error("{0}")]
    Send(#[from] RequestError),
    #[error("{0}")]
    Secret(String),
    #[error("{0}")]
    Body(#[from] BodyError),
}

type Failure = StreamableHttpError<LinkError>;
type Headers = HashMap<HeaderName, HeaderValue>;

impl HttpLink {
    fn secrets(&self) -> Scrubber {
        Scrubber::of(self.headers.iter().map(|(name, value)| (name.as_str(), value)))
    }

    async fn send(
        &self,
        method: Method,
        uri: &str,
        body: Bytes,
        session: Option<&str>,
        headers: Headers,
    ) -> Result<Response<ResponseBody>, Failure> {
        let mut request = Request::new(full(body));
        *request.method_mut() = method;
        *request.uri_mut() = uri.parse().map_err(|_| unexpected("the server's address is no URL"))?;
        let all = request.headers_mut();
        all.extend(headers);
        if let Some(session) = session.and_then(|session| HeaderValue::from_str(session).ok()) {
            all.insert(SESSION, session);
        }
        for (name, secret) in self.headers.iter() {
            let value = secret.read().map_err(|problem| Failure::Client(LinkError::Secret(problem)))?;
            let value = HeaderValue::from_str(&value).map_err(|_| {
                Failure::Client(LinkError::Secret(format!("the header `{name}` cannot be sent")))
            })?;
            all.insert(name, value);
        }
        send(&self.outbound, request).await.map_err(|error| Failure::Client(error.into()))
    }

    async fn post(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        mut headers: Headers,
        call: Option<RequestId>,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let json = serde_json::to_vec(&message)?;
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        let answer = self.send(Method::POST, &uri, json.into(), session_id.as_deref(), headers).await?;
        let status = answer.status();
        if status == StatusCode::NOT_FOUND && session_id.is_some() {
            return Err(self.expired());
        }
        if !status.is_success() {
            let tail = body::read_tail(answer.into_body(), self.limit, self.secrets()).await;
            let text = format!("HTTP {status}: {tail}");
            let Some(id) = call else { return Err(unexpected(text)) };
            return Ok(StreamableHttpPostResponse::Json(unread::answer(id, meaning(status), text), None));
        }
        let is_empty = header(&answer, CONTENT_LENGTH).as_deref() == Some("0");
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT)
            || (is_empty && !is_request(&message))
        {
            if call.is_some() {
                // Only what asks nothing is taken this way; an answer may come on no other stream than its own.
                return Err(unexpected(format!("HTTP {status}, which takes a call and never answers it")));
            }
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        self.answered(answer, is_request(&message), call).await
    }

    /// What came of a message that the server took.
    async fn answered(
        &self,
        answer: Response<ResponseBody>,
        is_awaited: bool,
        call: Option<RequestId>,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let session = header(&answer, SESSION);
        let media_type = header(&answer, CONTENT_TYPE).unwrap_or_default();
        if media_type.starts_with(EVENTS) {
            return Ok(StreamableHttpPostResponse::Sse(
                events(answer.into_body(), self.limit, call),
                session,
            ));
        }
        if !media_type.starts_with(JSON) {
            return Err(StreamableHttpError::UnexpectedContentType(Some(media_type)));
        }
        let read = answer.into_body().read(self.limit).await;
        let bytes = read.map_err(|error| Failure::Client(error.into()))?;
        match serde_json::from_slice::<ServerJsonRpcMessage>(&bytes) {
            Ok(message) => Ok(StreamableHttpPostResponse::Json(message, session)),
            Err(_) if !is_awaited => Ok(StreamableHttpPostResponse::Accepted),
            Err(error) => Err(unexpected(format!("JSON that is no message of the protocol: {error}"))),
        }
    }

    /// The server does not know us any more: it may be another process, which may offer something else.
    fn expired(&self) -> Failure {
        self.changes.send_modify(|changes| *changes += 1);
        StreamableHttpError::SessionExpired
    }
}

/// A failure that came behind the call, as the call's own end; the server has the call then.
fn behind(id: RequestId, failure: Failure) -> Result<StreamableHttpPostResponse, Failure> {
    let (code, text) = match failure {
        StreamableHttpError::UnexpectedServerResponse(text) => (unread::UNREAD, text.into_owned()),
        StreamableHttpError::UnexpectedContentType(found) => {
            let found = found.filter(|found| !found.is_empty());
            let found = found.unwrap_or_else(|| "nothing that says what it is".to_owned());
            (unread::UNREAD, format!("{found} instead of JSON or an event stream"))
        }
        StreamableHttpError::Client(LinkError::Body(BodyError::TooLong(limit))) => {
            (unread::TOO_LONG, too_long(limit))
        }
        StreamableHttpError::Client(LinkError::Body(broken)) => {
            (unread::UNREAD, format!("something that cannot be read: {broken}"))
        }
        StreamableHttpError::Client(LinkError::Send(error @ RequestError::Exchange { .. })) => {
            (unread::UNREAD, format!("nothing: {error}"))
        }
        failure => return Err(failure),
    };
    Ok(StreamableHttpPostResponse::Json(unread::answer(id, code, text), None))
}

/// What a status says about a call that it answers.
fn meaning(status: StatusCode) -> ErrorCode {
    match status.as_u16() {
        429 | 503 => unread::AWAY,
        300..=499 => unread::REFUSED,
        _ => unread::UNREAD,
    }
}

/// The id of a tool call.
fn call_id(message: &ClientJsonRpcMessage) -> Option<RequestId> {
    match message {
        ClientJsonRpcMessage::Request(JsonRpcRequest {
            id,
            request: ClientRequest::CallToolRequest(_),
            ..
        }) => Some(id.clone()),
        _ => None,
    }
}

fn unexpected(text: impl Into<Cow<'static, str>>) -> Failure {
    StreamableHttpError::UnexpectedServerResponse(text.into())
}

fn header(answer: &Response<ResponseBody>, name: HeaderName) -> Option<String> {
    answer.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

fn is_request(message: &ClientJsonRpcMessage) -> bool {
    matches!(message, ClientJsonRpcMessage::Request(_))
}

impl StreamableHttpClient for HttpLink {
    type Error = LinkError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let call = call_id(&message);
        let posted = self.post(uri, message, session_id, headers, call.clone()).await;
        match (posted, call) {
            (Err(failure), Some(id)) => behind(id, failure),
            (posted, _) => posted,
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _auth: Option<String>,
        headers: Headers,
    ) -> Result<(), Failure> {
        let answer = self.send(Method::DELETE, &uri, Bytes::new(), Some(&session_id), headers).await?;
        match answer.status() {
            StatusCode::METHOD_NOT_ALLOWED => Ok(()),
            status if status.is_success() => Ok(()),
            status => Err(unexpected(format!("HTTP {status}"))),
        }
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _auth: Option<String>,
        mut headers: Headers,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failure> {
        headers.insert(ACCEPT, HeaderValue::from_static(EVENTS));
        if let Some(last) = last_event_id.and_then(|last| HeaderValue::from_str(&last).ok()) {
            headers.insert(LAST_EVENT, last);
        }
        let answer = self.send(Method::GET, &uri, Bytes::new(), session_id.as_deref(), headers).await?;
        match answer.status() {
            StatusCode::METHOD_NOT_ALLOWED => Err(StreamableHttpError::ServerDoesNotSupportSse),
            StatusCode::NOT_FOUND if session_id.is_some() => Err(self.expired()),
            status if status.is_success() => Ok(events(answer.into_body(), self.limit, None)),
            status => Err(unexpected(format!("HTTP {status}"))),
        }
    }
}
