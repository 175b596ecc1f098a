//! Calls of one server with one key, over reused connections.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName, HeaderValue, RETRY_AFTER};
use http::{Method, Request, Response};
use riverrun_net::{BaseUrl, ConnectionPool, DialError, Io, RequestBody, ResponseBody, SendError, Transport};

pub(crate) use riverrun_net::full;

use crate::error::{Error, Problem, Result};

/// How long an answer's head, and each body that is not a stream, may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// An error body is read up to here; the end of a longer one cannot be a problem of ours.
const MAX_PROBLEM_BYTES: usize = 64 << 10;

/// What one call sends.
pub(crate) struct Call {
    pub method: Method,
    /// Path and query, percent-encoded.
    pub path: String,
    pub accept: &'static str,
    pub content_type: Option<&'static str>,
    pub headers: Vec<(HeaderName, HeaderValue)>,
    pub body: RequestBody,
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

/// A server, a key, and the connections that wait to be used again.
pub(crate) struct Http {
    pub endpoint: BaseUrl,
    authorization: Option<HeaderValue>,
    pool: ConnectionPool,
}

impl Http {
    pub fn new(endpoint: BaseUrl, key: Option<&str>, transport: Box<dyn Transport>) -> Result<Self> {
        let authorization = match key {
            None => None,
            Some(key) => {
                let mut value = HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| Error::BadKey)?;
                value.set_sensitive(true);
                Some(value)
            }
        };
        let pool = ConnectionPool::new(endpoint.address().clone(), transport, ANSWER_TIMEOUT);
        Ok(Self { endpoint, authorization, pool })
    }

    /// Sends a call and gives its answer with the body still to come. An error status is an error here.
    pub async fn open(&self, call: Call) -> Result<Response<ResponseBody>> {
        let request = self.request(call)?;
        let response = self.pool.send(request).await.map_err(|error| self.error(error))?;
        if response.status().is_success() { Ok(response) } else { Err(problem(response).await) }
    }

    /// Sends a call and reads its whole answer.
    pub async fn fetch(&self, call: Call) -> Result<Response<Bytes>> {
        let (head, mut body) = self.open(call).await?.into_parts();
        let reading = tokio::time::timeout(ANSWER_TIMEOUT, body.read(usize::MAX)).await;
        let bytes = reading.map_err(|_| no_answer(ANSWER_TIMEOUT))?.map_err(Error::body)?;
        self.pool.reuse(body);
        Ok(Response::from_parts(head, bytes))
    }

    /// A new connection, for another protocol than HTTP.
    pub async fn dial(&self) -> Result<Box<dyn Io>> {
        self.pool.dial().await.map_err(|error| self.error(error.into()))
    }

    fn request(&self, call: Call) -> Result<Request<RequestBody>> {
        let mut builder = Request::builder()
            .method(call.method)
            .uri(self.endpoint.target(&call.path))
            .header(HOST, self.endpoint.address().host_header())
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

    fn error(&self, error: SendError) -> Error {
        let url = || self.endpoint.to_string();
        match error {
            SendError::Dial(error @ (DialError::Certificate(_) | DialError::NoTls(_))) => {
                Error::Untrusted { url: url(), reason: error.to_string() }
            }
            SendError::Dial(error) => Error::Unreachable { url: url(), reason: error.to_string() },
            SendError::Broken(reason) => Error::cut(reason),
            SendError::TimedOut(limit) => no_answer(limit),
        }
    }
}

fn no_answer(limit: Duration) -> Error {
    Error::cut(format!("no answer within {} s", limit.as_secs()))
}

async fn problem(response: Response<ResponseBody>) -> Error {
    let status = response.status().as_u16();
    let retry_after = response.headers().get(RETRY_AFTER).and_then(|v| v.to_str().ok()).map(str::to_owned);
    // What was read before a cut is enough to know the status, and often the code.
    let bytes = response.into_body().read_start(MAX_PROBLEM_BYTES, ANSWER_TIMEOUT).await;
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
