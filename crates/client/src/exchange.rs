//! One HTTP/1.1 exchange at a time over reused connections.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName, HeaderValue, RETRY_AFTER};
use http::{Method, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;

use crate::endpoint::Endpoint;
use crate::error::{Error, Problem, Result};
use crate::transport::Transport;

pub(crate) type Body = UnsyncBoxBody<Bytes, Error>;

/// How long an answer's head, and each piece of a body that is not a stream, may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// Idle connections beyond this are closed.
const MAX_IDLE: usize = 8;
/// An error body is read up to here; the rest cannot be a problem of ours.
const MAX_PROBLEM_BYTES: usize = 64 << 10;

/// What one call sends.
pub(crate) struct Call {
    pub method: Method,
    /// Path and query, percent-encoded.
    pub path: String,
    pub accept: &'static str,
    pub content_type: Option<&'static str>,
    pub headers: Vec<(HeaderName, HeaderValue)>,
    pub body: Body,
}

impl Call {
    pub fn new(method: Method, path: impl Into<String>) -> Self {
        let body = full(Bytes::new());
        Self { method, path: path.into(), accept: JSON, content_type: None, headers: Vec::new(), body }
    }

    pub fn body(mut self, content_type: &'static str, bytes: impl Into<Bytes>) -> Self {
        self.content_type = Some(content_type);
        self.body = full(bytes.into());
        self
    }

    pub fn accept(mut self, media_type: &'static str) -> Self {
        self.accept = media_type;
        self
    }

    pub fn header(mut self, name: &'static str, value: &str) -> Result<Self> {
        let value = HeaderValue::from_str(value)
            .map_err(|_| Error::Malformed(format!("header {name} cannot hold {value:?}")))?;
        self.headers.push((HeaderName::from_static(name), value));
        Ok(self)
    }
}

pub(crate) const JSON: &str = "application/json";
pub(crate) const NDJSON: &str = "application/x-ndjson";
pub(crate) const SSE: &str = "text/event-stream";

pub(crate) fn full(bytes: Bytes) -> Body {
    Full::new(bytes).map_err(|never| match never {}).boxed_unsync()
}

/// A server, a key, and the connections that wait to be used again.
pub(crate) struct Http {
    pub endpoint: Endpoint,
    authorization: Option<HeaderValue>,
    transport: Box<dyn Transport>,
    idle: Mutex<Vec<SendRequest<Body>>>,
}

impl Http {
    pub fn new(endpoint: Endpoint, key: Option<&str>, transport: Box<dyn Transport>) -> Result<Self> {
        let authorization = match key {
            None => None,
            Some(key) => {
                let mut value = HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| Error::BadKey)?;
                value.set_sensitive(true);
                Some(value)
            }
        };
        Ok(Self { endpoint, authorization, transport, idle: Mutex::new(Vec::new()) })
    }

    /// Sends a call and gives its answer with the body still to come. An error status is an error here.
    pub async fn open(&self, call: Call) -> Result<Response<Incoming>> {
        let (response, sender) = self.exchange(call).await?;
        // A body that streams owns its connection; it closes when the body is dropped.
        drop(sender);
        Ok(response)
    }

    /// Sends a call and reads its whole answer.
    pub async fn fetch(&self, call: Call) -> Result<Response<Bytes>> {
        let (response, sender) = self.exchange(call).await?;
        let (head, body) = response.into_parts();
        let reading = async { body.collect().await.map_err(Error::cut) };
        let bytes = within(ANSWER_TIMEOUT, reading).await?.to_bytes();
        self.keep(sender);
        Ok(Response::from_parts(head, bytes))
    }

    async fn exchange(&self, call: Call) -> Result<(Response<Incoming>, SendRequest<Body>)> {
        let mut request = self.request(call)?;
        let mut idle = self.take_idle();
        let (response, sender) = loop {
            let (mut sender, reused) = match idle.take() {
                Some(sender) => (sender, true),
                None => (self.connect().await?, false),
            };
            let waiting = async { Ok(sender.ready().await) };
            match within(ANSWER_TIMEOUT, waiting).await? {
                Ok(()) => {}
                Err(_) if reused => continue,
                Err(closed) => return Err(Error::cut(closed)),
            }
            let sending = async { Ok(sender.try_send_request(request).await) };
            match within(ANSWER_TIMEOUT, sending).await? {
                Ok(response) => break (response, sender),
                Err(mut failed) => match failed.take_message() {
                    // The server closed the idle connection before it took the request: nothing was sent.
                    Some(unsent) if reused => request = unsent,
                    Some(_) | None => return Err(Error::cut(failed.into_error())),
                },
            }
        };
        if response.status().is_success() { Ok((response, sender)) } else { Err(problem(response).await) }
    }

    fn request(&self, call: Call) -> Result<Request<Body>> {
        let mut builder = Request::builder()
            .method(call.method)
            .uri(self.endpoint.path(&call.path))
            .header(HOST, self.endpoint.host_header())
            .header(ACCEPT, call.accept);
        if let Some(authorization) = &self.authorization {
            builder = builder.header(AUTHORIZATION, authorization);
        }
        if let Some(content_type) = call.content_type {
            builder = builder.header(CONTENT_TYPE, content_type);
        }
        for (name, value) in call.headers {
            builder = builder.header(name, value);
        }
        builder.body(call.body).map_err(|e| Error::Malformed(format!("request: {e}")))
    }

    async fn connect(&self) -> Result<SendRequest<Body>> {
        let unreachable = |reason: &dyn std::fmt::Display| Error::Unreachable {
            url: self.endpoint.to_string(),
            reason: reason.to_string(),
        };
        let io = self.transport.dial(&self.endpoint).await.map_err(|e| unreachable(&e))?;
        let (sender, connection) = http1::handshake(TokioIo::new(io)).await.map_err(|e| unreachable(&e))?;
        // Its end is seen by the exchange that uses it.
        tokio::spawn(async move { connection.await.ok() });
        Ok(sender)
    }

    fn take_idle(&self) -> Option<SendRequest<Body>> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|sender| !sender.is_closed());
        // One that is not ready still has its last answer under way in the background.
        let at = idle.iter().rposition(SendRequest::is_ready)?;
        Some(idle.swap_remove(at))
    }

    fn keep(&self, sender: SendRequest<Body>) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MAX_IDLE && !sender.is_closed() {
            idle.push(sender);
        }
    }
}

async fn within<T>(limit: Duration, work: impl Future<Output = Result<T>>) -> Result<T> {
    match tokio::time::timeout(limit, work).await {
        Ok(result) => result,
        Err(_) => Err(Error::cut(format!("no answer within {} s", limit.as_secs()))),
    }
}

async fn problem(response: Response<Incoming>) -> Error {
    let status = response.status().as_u16();
    let retry_after = response.headers().get(RETRY_AFTER).and_then(|v| v.to_str().ok()).map(str::to_owned);
    let mut body = http_body_util::Limited::new(response.into_body(), MAX_PROBLEM_BYTES);
    let mut bytes = Vec::new();
    let reading = async {
        // What was read before a cut is enough to tell the status, and often the code.
        while let Some(Ok(frame)) = body.frame().await {
            if let Some(data) = frame.data_ref() {
                bytes.extend_from_slice(data);
            }
        }
        Ok(())
    };
    within(ANSWER_TIMEOUT, reading).await.ok();
    Error::Problem(Box::new(Problem::read(status, retry_after.as_deref(), &bytes)))
}

/// Percent-encodes one path segment or query value.
pub(crate) fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(byte.into()),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// A query string that leaves out what is not set.
#[derive(Default)]
pub(crate) struct Query(String);

impl Query {
    pub fn add(mut self, name: &str, value: Option<impl AsRef<str>>) -> Self {
        if let Some(value) = value {
            self.0.push(if self.0.is_empty() { '?' } else { '&' });
            self.0.push_str(name);
            self.0.push('=');
            self.0.push_str(&encode(value.as_ref()));
        }
        self
    }

    pub fn after(self, path: impl Into<String>) -> String {
        path.into() + &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_leaves_out_what_is_not_set_and_encodes_the_rest() {
        let query = Query::default().add("a", Some("x y&é")).add("b", None::<&str>).add("c", Some("1"));
        assert_eq!(query.after("/p"), "/p?a=x%20y%26%C3%A9&c=1");
    }
}
