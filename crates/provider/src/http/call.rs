//! One call: connect, send, read until the terminal event.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::body::{Frame, Incoming};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, timeout};
use tokio_rustls::TlsConnector;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::endpoint::Endpoint;
use super::header::{rate_limits, retry_after};
use super::{Limits, TlsConfig};
use crate::failure::failure;
use crate::secret::Secrets;
use crate::stream::{Decoder, protocol_error, too_large};
use crate::{Category, ModelError, ModelEvent};

const INCOMPLETE: &str = "the answer was not complete";

pub(super) struct Call {
    endpoint: Endpoint,
    tls: Option<TlsConfig>,
    request: Option<Request<Full<Bytes>>>,
    decoder: Box<dyn Decoder>,
    secrets: Secrets,
    limits: Limits,
    body: Option<Body>,
    deadline: Instant,
    /// When the service was last heard of.
    heard: Instant,
    received: usize,
    raw: Option<Vec<u8>>,
    events: VecDeque<ModelEvent>,
}

/// What ends a call from outside. It is made once for a call: a timer for every token would cost as much as the token.
pub(super) struct Watch {
    cancelled: Pin<Box<WaitForCancellationFutureOwned>>,
    alarm: Pin<Box<Sleep>>,
    is_listening: bool,
}

impl Watch {
    pub fn new(cancel: CancellationToken, limits: &Limits) -> Self {
        let alarm = Box::pin(tokio::time::sleep(limits.total));
        Self { cancelled: Box::pin(cancel.cancelled_owned()), alarm, is_listening: false }
    }
}

/// The answer's body, and what reads its socket.
pub(super) struct Body {
    pub incoming: Incoming,
    pub connection: Connection,
}

impl Body {
    async fn frame(&mut self) -> Option<Result<Frame<Bytes>, hyper::Error>> {
        self.connection.during(self.incoming.frame()).await
    }
}

/// Reads and writes the socket while somebody waits for something of it, in the same task: what comes is there without
/// a detour over another one. Dropping it closes the socket at once.
pub(super) struct Connection(Option<Pin<Box<dyn Future<Output = ()> + Send>>>);

impl Connection {
    pub async fn during<F: Future>(&mut self, work: F) -> F::Output {
        let mut work = pin!(work);
        poll_fn(|context| {
            if let Some(connection) = &mut self.0
                && connection.as_mut().poll(context).is_ready()
            {
                self.0 = None;
            }
            work.as_mut().poll(context)
        })
        .await
    }
}

impl Call {
    pub fn new(
        endpoint: Endpoint,
        tls: Option<TlsConfig>,
        request: Request<Full<Bytes>>,
        decoder: Box<dyn Decoder>,
        secrets: Secrets,
        limits: Limits,
        keep_raw: bool,
    ) -> Self {
        Self {
            endpoint,
            tls,
            request: Some(request),
            decoder,
            secrets,
            limits,
            body: None,
            deadline: Instant::now() + limits.total,
            heard: Instant::now(),
            received: 0,
            raw: keep_raw.then(Vec::new),
            events: VecDeque::new(),
        }
    }

    /// None after the terminal event.
    pub async fn next(&mut self, watch: &mut Watch) -> Option<ModelEvent> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            if self.decoder.is_over() {
                return None;
            }
            let result = tokio::select! {
                biased;
                () = &mut watch.cancelled => {
                    Err(ModelError::new(Category::Cancelled, "the model call was cancelled"))
                }
                // First what came: it may have waited for a caller that was busy, while the service was not silent.
                result = self.advance() => result,
                () = &mut watch.alarm => self.look_at_clock(watch),
            };
            // From here on silence is limited too.
            if self.body.is_some() && !watch.is_listening {
                watch.is_listening = true;
                watch.alarm.as_mut().reset(self.patience());
            }
            if let Err(error) = result {
                let events = self.decoder.fail(error);
                self.give(events);
            }
        }
    }

    /// Until when the call may go on as it is.
    fn patience(&self) -> Instant {
        self.deadline.min(self.heard + self.limits.idle)
    }

    /// The alarm rang. It is not set anew with every token, so it may have been for nothing.
    fn look_at_clock(&self, watch: &mut Watch) -> Result<(), ModelError> {
        let now = Instant::now();
        if now >= self.deadline {
            return Err(too_slow(INCOMPLETE, self.limits.total));
        }
        if now >= self.patience() {
            return Err(too_slow("the service fell silent", self.limits.idle));
        }
        watch.alarm.as_mut().reset(self.patience());
        Ok(())
    }

    async fn advance(&mut self) -> Result<(), ModelError> {
        match self.request.take() {
            Some(request) => self.send(request).await,
            None => self.read().await,
        }
    }

    async fn send(&mut self, request: Request<Full<Bytes>>) -> Result<(), ModelError> {
        let connecting = connect(&self.endpoint, self.tls.clone());
        let (mut sender, mut connection) =
            within(self.limits.connect, "no connection came about", connecting).await??;
        let waiting = connection.during(sender.send_request(request));
        let answer = within(self.limits.first_byte, "the service did not begin to answer", waiting).await?;
        let answer = answer.map_err(|_| self.broken("before it answered"))?;
        let now = SystemTime::now();
        self.events.extend(rate_limits(answer.headers(), now).into_iter().map(ModelEvent::RateLimited));
        let wait = retry_after(answer.headers(), now);
        let (parts, incoming) = answer.into_parts();
        let body = Body { incoming, connection };
        let answer = Response::from_parts(parts, body);
        self.accept(answer)
            .await
            .map_err(|error| ModelError { retry_after: wait.or(error.retry_after), ..error })
    }

    /// Only a stream of events that began well is read as one.
    async fn accept(&mut self, answer: Response<Body>) -> Result<(), ModelError> {
        let status = answer.status();
        if status.is_redirection() {
            let message = format!(
                "the service redirects (HTTP {}); redirects are not followed: set base_url to the final address",
                status.as_u16()
            );
            return Err(ModelError {
                status: Some(status.as_u16()),
                ..ModelError::new(Category::Protocol, message)
            });
        }
        let encoding = answer.headers().get(header::CONTENT_ENCODING);
        if encoding.is_some_and(|encoding| encoding != "identity") {
            return Err(protocol_error("the service compressed its answer, which was not asked for"));
        }
        let is_stream = is_event_stream(answer.headers());
        if status == StatusCode::OK && is_stream {
            self.heard = Instant::now();
            self.body = Some(answer.into_body());
            return Ok(());
        }
        let text = whole_body(answer.into_body(), self.limits).await;
        if let Some(raw) = &mut self.raw {
            raw.extend_from_slice(&text);
        }
        let body = serde_json::from_slice(&text).unwrap_or_default();
        if status.is_success() && !has_error(&body) {
            let error = protocol_error("the service answered with something that is no stream of events");
            return Err(ModelError { fault: Some("provider_bad_content_type"), ..error });
        }
        Err(failure(Some(status.as_u16()).filter(|_| !status.is_success()), &body))
    }

    async fn read(&mut self) -> Result<(), ModelError> {
        let Some(body) = self.body.as_mut() else {
            return Err(protocol_error("there is no answer to read"));
        };
        let frame = body.frame().await;
        self.heard = Instant::now();
        if self.heard >= self.deadline {
            return Err(too_slow(INCOMPLETE, self.limits.total));
        }
        let events = match frame {
            Some(Ok(frame)) => match frame.into_data() {
                Ok(data) => self.push(&data)?,
                Err(_trailers) => Vec::new(),
            },
            Some(Err(_)) => return Err(self.broken("in the middle of the answer")),
            None => self.decoder.end(),
        };
        self.give(events);
        Ok(())
    }

    fn push(&mut self, data: &[u8]) -> Result<Vec<ModelEvent>, ModelError> {
        self.received += data.len();
        if self.received > self.limits.stream_bytes {
            let most = self.limits.stream_bytes;
            return Err(too_large(format!("the answer is over {most} bytes, the most that is read of one")));
        }
        if let Some(raw) = &mut self.raw {
            raw.extend_from_slice(data);
        }
        Ok(self.decoder.push(data))
    }

    /// Queues events; what ends the call is cleaned of secrets and comes after the bytes, if they were asked for.
    fn give(&mut self, events: Vec<ModelEvent>) {
        for event in events {
            let event = match event {
                ModelEvent::Failed(error) => ModelEvent::Failed(scrub(error, &self.secrets)),
                event => event,
            };
            if matches!(event, ModelEvent::Completed { .. } | ModelEvent::Failed(_)) {
                self.body = None;
                if let Some(raw) = self.raw.take().filter(|raw| !raw.is_empty()) {
                    self.events.push_back(ModelEvent::Raw(self.secrets.scrub_bytes(raw).into()));
                }
            }
            self.events.push_back(event);
        }
    }

    fn broken(&self, when: &str) -> ModelError {
        let host = self.endpoint.host();
        ModelError::new(Category::Connection, format!("the connection to `{host}` broke {when}"))
    }
}

/// As much of a short answer as is needed; one that does not come is no reason to wait.
pub(super) async fn whole_body(mut body: Body, limits: Limits) -> Vec<u8> {
    let mut text = Vec::new();
    while text.len() < limits.error_bytes {
        match timeout(limits.idle, body.frame()).await {
            Ok(Some(Ok(frame))) => text.extend_from_slice(frame.data_ref().map_or(&[], |data| data)),
            Ok(Some(Err(_)) | None) | Err(_) => break,
        }
    }
    text.truncate(limits.error_bytes);
    text
}

type Sender = http1::SendRequest<Full<Bytes>>;

pub(super) async fn connect(
    endpoint: &Endpoint,
    tls: Option<TlsConfig>,
) -> Result<(Sender, Connection), ModelError> {
    let (host, port) = (endpoint.host(), endpoint.port());
    let failed = |what: &str, error: String| {
        ModelError::new(Category::Connection, format!("{what} `{host}:{port}` failed: {error}"))
    };
    let tcp = TcpStream::connect((host, port)).await;
    let tcp = tcp.map_err(|error| failed("connecting to", error.to_string()))?;
    // Requests are small and answers are awaited: nothing is won by waiting for more bytes.
    let _ = tcp.set_nodelay(true);
    let Some(tls) = tls else { return shake_hands(tcp).await };
    let name =
        ServerName::try_from(host.to_owned()).map_err(|error| failed("TLS with", error.to_string()))?;
    let secured = TlsConnector::from(tls).connect(name, tcp).await;
    shake_hands(secured.map_err(|error| failed("TLS with", error.to_string()))?).await
}

async fn shake_hands<S>(socket: S) -> Result<(Sender, Connection), ModelError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (sender, connection) = http1::handshake(TokioIo::new(socket))
        .await
        .map_err(|error| ModelError::new(Category::Connection, format!("HTTP failed: {error}")))?;
    // Its errors reach the sender or the body.
    let connection = async move { drop(connection.await) };
    Ok((sender, Connection(Some(Box::pin(connection)))))
}

pub(super) async fn within<F: Future>(limit: Duration, what: &str, work: F) -> Result<F::Output, ModelError> {
    timeout(limit, work).await.map_err(|_| too_slow(what, limit))
}

fn too_slow(what: &str, limit: Duration) -> ModelError {
    ModelError::new(Category::Timeout, format!("{what} within {} s", limit.as_secs_f64()))
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("text/event-stream")
}

fn has_error(body: &serde_json::Value) -> bool {
    !body["error"].is_null() || !body[0]["error"].is_null()
}

pub(super) fn scrub(error: ModelError, secrets: &Secrets) -> ModelError {
    let clean = |text: Option<String>| text.map(|text| secrets.scrub(&text));
    let message = secrets.scrub(&error.message);
    ModelError { message, code: clean(error.code), param: clean(error.param), ..error }
}
