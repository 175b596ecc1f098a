//! Tools that are HTTP requests.

pub(crate) mod body;
pub(crate) mod client;
mod template;

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, LOCATION, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};
use riverrun_net::{AddressGuard, BlockedAddress, BodyError, ResponseBody, full, redirect_target};
use serde_json::{Map, Value};

use self::client::{RequestError, send};
use self::template::{Template, add_query, escape};
use crate::placeholder::plain;
use crate::run::cancelled;
use crate::scrub::Scrubber;
use crate::{
    Flags, Runs, Tool, ToolDefinition, ToolError, ToolErrorKind, ToolFuture, ToolOutput, ToolRequest,
    ValueSource,
};

const MAX_REDIRECTS: usize = 3;

#[derive(Debug, Clone)]
pub struct HttpConfig {
    pub name: String,
    pub description: String,
    /// The JSON Schema of the arguments.
    pub parameters: Value,
    pub flags: Flags,
    pub timeout: Duration,
    pub method: String,
    /// `{name}` in the path or the query stands for an argument; `{url}` alone for an address of the model's choice.
    /// Arguments that it does not use are the JSON body, or the query where a method has no body.
    pub url: String,
    pub headers: Vec<(String, ValueSource)>,
    pub outbound: AddressGuard,
    /// Bytes of an answer that are taken.
    pub response_limit: usize,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            name: String::new(),
            description: String::new(),
            parameters: serde_json::json!({"type": "object", "properties": {}}),
            flags: Flags::default(),
            timeout: Duration::from_secs(60),
            method: "GET".to_owned(),
            url: String::new(),
            headers: Vec::new(),
            outbound: AddressGuard::default(),
            response_limit: 1024 * 1024,
        }
    }
}

pub struct HttpTool {
    definition: ToolDefinition,
    method: Method,
    template: Template,
    headers: Vec<(HeaderName, ValueSource)>,
    outbound: AddressGuard,
    response_limit: usize,
}

impl HttpTool {
    /// Err says what is wrong with the configuration.
    pub fn new(config: HttpConfig) -> Result<Self, String> {
        let name = &config.name;
        let method = Method::from_bytes(config.method.as_bytes())
            .map_err(|_| format!("the method `{}` of the tool `{name}` is none", config.method))?;
        let template = Template::new(&config.url, &config.parameters)
            .map_err(|problem| format!("the url of the tool `{name}`: {problem}"))?;
        let header = |(header, value): (String, ValueSource)| match header.parse::<HeaderName>() {
            Ok(header) => Ok((header, value)),
            Err(_) => Err(format!("the header `{header}` of the tool `{name}` is no header name")),
        };
        let named = config.headers.iter().map(|(name, value)| (name.as_str(), value));
        // Known from the start: another tool may find a secret before this one is called.
        Scrubber::of(named.clone());
        riverrun_secret::learn_url(&config.url);
        let runs = Runs::request(Some(method.as_str()), &config.url, named);
        let headers = config.headers.into_iter().map(header).collect::<Result<_, _>>()?;
        let definition = ToolDefinition {
            name: config.name,
            description: config.description,
            parameters: config.parameters,
            flags: config.flags,
            timeout: config.timeout,
            source: "http".to_owned(),
            runs,
        };
        let (outbound, response_limit) = (config.outbound, config.response_limit);
        Ok(Self { definition, method, template, headers, outbound, response_limit })
    }

    async fn run(&self, call: &ToolRequest, secrets: Scrubber) -> Result<ToolOutput, ToolError> {
        let bad = |problem: String| self.error(ToolErrorKind::BadArguments, &problem);
        let (mut url, unused) = self.template.fill(&call.arguments).map_err(bad)?;
        let body = self.body(&mut url, unused);
        let headers = self.headers(call, body.is_some())?;
        let uri =
            url.parse::<Uri>().map_err(|_| self.sending(&RequestError::Blocked(BlockedAddress::NotAUrl)))?;
        let response = self.follow(uri, headers, body.unwrap_or_default()).await?;
        let status = response.status();
        if status.is_client_error() || status.is_server_error() {
            let tail = body::read_tail(response.into_body(), self.response_limit, secrets).await;
            return Err(self.refused(status, &tail));
        }
        let media_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let media_type = media_type.unwrap_or("application/octet-stream").to_owned();
        let read = response.into_body().read(self.response_limit).await;
        let bytes = read.map_err(|error| match error {
            BodyError::TooLong(_) => self.error(ToolErrorKind::LimitPassed, &error.to_string()),
            BodyError::Broken(_) => self.error(ToolErrorKind::Crashed, &error.to_string()),
        })?;
        Ok(body::output(&media_type, &bytes))
    }

    /// Redirects are followed on the same host only, and only where that repeats nothing.
    async fn follow(
        &self,
        mut uri: Uri,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response<ResponseBody>, ToolError> {
        for _ in 0..=MAX_REDIRECTS {
            let mut request = Request::new(full(body.clone()));
            *request.method_mut() = self.method.clone();
            *request.uri_mut() = uri.clone();
            *request.headers_mut() = headers.clone();
            let answer = send(&self.outbound, request).await.map_err(|error| self.sending(&error))?;
            if !answer.status().is_redirection() || answer.status() == StatusCode::NOT_MODIFIED {
                return Ok(answer);
            }
            let location = answer.headers().get(LOCATION).and_then(|value| value.to_str().ok());
            uri = self.next(&uri, location.unwrap_or_default())?;
        }
        Err(self.error(ToolErrorKind::Failed, &format!("was redirected more than {MAX_REDIRECTS} times")))
    }

    fn next(&self, from: &Uri, location: &str) -> Result<Uri, ToolError> {
        if self.method != Method::GET && self.method != Method::HEAD {
            return Err(self.error(ToolErrorKind::Failed, "was redirected, which is followed only for GET"));
        }
        let is_same = |next: &Uri| next.scheme() == from.scheme() && next.authority() == from.authority();
        redirect_target(from, location).filter(is_same).ok_or_else(|| {
            self.error(ToolErrorKind::Denied, "was redirected to another host, which is not followed")
        })
    }

    fn body(&self, url: &mut String, unused: Map<String, Value>) -> Option<Bytes> {
        if [Method::POST, Method::PUT, Method::PATCH].contains(&self.method) {
            return Some(Value::Object(unused).to_string().into());
        }
        let given = unused.iter().filter(|(_, value)| !value.is_null());
        let pairs: Vec<String> =
            given.map(|(name, value)| format!("{}={}", escape(name), escape(&plain(value)))).collect();
        add_query(url, &pairs);
        None
    }

    fn headers(&self, call: &ToolRequest, has_body: bool) -> Result<HeaderMap, ToolError> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/*;q=0.9, */*;q=0.5"));
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("riverrun/", env!("CARGO_PKG_VERSION"))));
        if has_body {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        if let Ok(key) = HeaderValue::from_str(&call.idempotency_key) {
            headers.insert("idempotency-key", key);
        }
        for (name, secret) in &self.headers {
            let value = secret.read().map_err(|problem| self.error(ToolErrorKind::Unavailable, &problem))?;
            let mut value = HeaderValue::from_str(&value).map_err(|_| {
                self.error(
                    ToolErrorKind::Unavailable,
                    &format!("has a header `{name}` whose value cannot be sent"),
                )
            })?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(headers)
    }

    fn refused(&self, status: StatusCode, tail: &str) -> ToolError {
        let kind = match status.as_u16() {
            429 | 502 | 503 | 504 => ToolErrorKind::Unavailable,
            _ => ToolErrorKind::Failed,
        };
        let tail = if tail.is_empty() { String::new() } else { format!(": {tail}") };
        self.error(kind, &format!("was answered with {status}{tail}"))
    }

    fn sending(&self, error: &RequestError) -> ToolError {
        let kind = match error {
            RequestError::Blocked(BlockedAddress::Unresolved(_)) | RequestError::Connect { .. } => {
                ToolErrorKind::Unavailable
            }
            RequestError::Blocked(_) => ToolErrorKind::Denied,
            RequestError::Exchange { .. } => ToolErrorKind::Crashed,
        };
        self.error(kind, &format!("failed: {error}"))
    }

    fn error(&self, kind: ToolErrorKind, text: &str) -> ToolError {
        ToolError::new(kind, format!("the request of `{}` {text}", self.definition.name))
    }
}

impl Tool for HttpTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn call(&self, call: ToolRequest) -> ToolFuture<'_> {
        let secrets = Scrubber::of(self.headers.iter().map(|(name, value)| (name.as_str(), value)));
        Box::pin(async move {
            tokio::select! {
                () = call.cancel.cancelled() => Err(cancelled(&self.definition.name)),
                done = self.run(&call, secrets) => secrets.result(done),
            }
        })
    }
}
