//! One call: connect, send, read until the terminal event.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::time::SystemTime;

use http::{HeaderMap, Request, Response, StatusCode, header};
use http_body_util::BodyExt;
use riverrun_net::{RequestBody, ResponseBody};
use tokio::time::{Instant, Sleep};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::Limits;
use super::header::{rate_limits, retry_after};
use super::service::{Service, too_slow};
use crate::failure::failure;
use crate::secret::Secrets;
use crate::stream::{Decoder, protocol_error, too_large};
use crate::{Category, ModelError, ModelEvent};

const INCOMPLETE: &str = "the answer was not complete";

pub(super) struct Call {
    service: Arc<Service>,
    request: Option<Request<RequestBody>>,
    decoder: Box<dyn Decoder>,
    secrets: Secrets,
    limits: Limits,
    body: Option<ResponseBody>,
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

impl Call {
    pub fn new(
        service: Arc<Service>,
        request: Request<RequestBody>,
        decoder: Box<dyn Decoder>,
        secrets: Secrets,
        keep_raw: bool,
    ) -> Self {
        let limits = service.limits;
        Self {
            service,
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

    async fn send(&mut self, request: Request<RequestBody>) -> Result<(), ModelError> {
        let answer = self.service.send(request, self.limits.first_byte).await?;
        let now = SystemTime::now();
        self.events.extend(rate_limits(answer.headers(), now).into_iter().map(ModelEvent::RateLimited));
        let wait = retry_after(answer.headers(), now);
        self.accept(answer)
            .await
            .map_err(|error| ModelError { retry_after: wait.or(error.retry_after), ..error })
    }

    /// Only a stream of events that began well is read as one.
    async fn accept(&mut self, answer: Response<ResponseBody>) -> Result<(), ModelError> {
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
        let text = start_of(answer.into_body(), self.limits).await;
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
            Some(Err(_)) => return Err(self.service.broken("in the middle of the answer")),
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
}

/// As much of a short answer as is needed; one that does not come is no reason to wait.
pub(super) async fn start_of(mut body: ResponseBody, limits: Limits) -> Vec<u8> {
    body.read_start(limits.error_bytes, limits.idle).await
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
