//! OpenAI's Responses over a WebSocket: responses are created and steered on one socket, in lanes.
//!
//! What has the same `stream_id` (or none) is answered one after the other; other lanes go on meanwhile.

use std::collections::{HashMap, VecDeque};

use axum::extract::{Request, State};
use axum::response::Response;
use riverrun_api::ApiError;
use riverrun_dialect::request::{ModelCall, RequestFailure};
use riverrun_dialect::{Dialect, Framing, responses};
use riverrun_event::{ErrorCode, Input};
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::edge::{Caller, Problem, Scope, unauthenticated};
use crate::gateway::protocol_socket::{Protocol, Said, Stream};
use crate::gateway::responses::{response, submit};
use crate::gateway::turn::{Place, subscribe};
use crate::gateway::{Refusal, upgrade};
use crate::websocket::Close;

/// Lanes of one socket, and calls that wait in one of them.
const MAX_LANES: usize = 32;
const MAX_WAITING: usize = 16;

pub async fn open(State(app): State<App>, request: Request) -> Result<Response, Problem> {
    let desk = |opener: upgrade::Opener| {
        let caller = opener.caller.ok_or_else(unauthenticated)?;
        caller.require(Scope::Write)?;
        Ok(Desk { app: app.clone(), caller, lanes: HashMap::new() })
    };
    upgrade::upgrade(&app, request, desk).await
}

struct Desk {
    app: App,
    caller: Caller,
    /// The calls that wait in each lane behind the one that is answered.
    lanes: HashMap<String, VecDeque<ModelCall>>,
}

impl Desk {
    async fn take(
        &mut self,
        lane: &str,
        mut message: Map<String, Value>,
        said: &mut Said,
    ) -> Result<(), Refusal> {
        let kind = message.remove("type");
        match kind.as_ref().and_then(Value::as_str) {
            Some("response.create") => {
                if message.remove("background").is_some_and(|value| value != false) {
                    let text = "`background` is not possible on a WebSocket; leave it out";
                    return Err(RequestFailure::new(400, "invalid_value", text).param("background").into());
                }
                message.insert("stream".to_owned(), true.into());
                let call = responses::request::decode(Value::Object(message).to_string().as_bytes())?;
                self.create(lane, call, said).await
            }
            Some("response.steer") => {
                said.texts.push(self.steer(&message).await);
                Ok(())
            }
            Some(_) | None => {
                let text = "`type` must be `response.create` or `response.steer`";
                Err(RequestFailure::new(400, "invalid_value", text).param("type").into())
            }
        }
    }

    async fn create(&mut self, lane: &str, call: ModelCall, said: &mut Said) -> Result<(), Refusal> {
        if let Some(waiting) = self.lanes.get_mut(lane) {
            if waiting.len() >= MAX_WAITING {
                let text = format!("{MAX_WAITING} calls wait in this lane; wait for a response");
                return Err(RequestFailure::new(429, "rate_limit_exceeded", text).into());
            }
            waiting.push_back(call);
            return Ok(());
        }
        if self.lanes.len() >= MAX_LANES {
            let text = format!("this socket has {MAX_LANES} lanes, which is the limit");
            return Err(RequestFailure::new(429, "rate_limit_exceeded", text).param("stream_id").into());
        }
        self.begin(lane, &call, said).await
    }

    async fn begin(&mut self, lane: &str, call: &ModelCall, said: &mut Said) -> Result<(), Refusal> {
        let started = submit(&self.app, &self.caller, call, None).await?;
        let (dialect, framing) = (Dialect::Responses, Framing::Messages);
        let stream = subscribe(&self.app, &self.caller, &started, dialect, framing, Place::Start).await?;
        said.begun.push(Stream::new(lane.to_owned(), stream));
        self.lanes.insert(lane.to_owned(), VecDeque::new());
        Ok(())
    }

    /// What the active response is told besides. It answers as the API does: accepted, or failed with a reason.
    async fn steer(&mut self, message: &Map<String, Value>) -> String {
        let previous = message.get("previous_response_id").cloned().unwrap_or_default();
        let input = message.get("input").cloned().unwrap_or_default();
        match self.steered(previous.as_str().unwrap_or_default(), &input).await {
            Ok(id) => json!({
                "type": "response.steer.accepted",
                "steer": {"id": id, "previous_response_id": previous},
            }),
            Err((code, text)) => json!({
                "type": "response.steer.failed", "error": {"code": code, "message": text},
                "steer": {"input": input, "previous_response_id": previous},
            }),
        }
        .to_string()
    }

    async fn steered(&mut self, previous: &str, input: &Value) -> Result<String, (&'static str, String)> {
        let refused = |code| move |failure: RequestFailure| (code, failure.message);
        let found = response(&self.app, &self.caller, previous).await;
        let started = found.map_err(|_| {
            ("response_not_found", "`previous_response_id` names no response of this key".to_owned())
        })?;
        // The same reading as a request's: a text, or messages with parts.
        let body = json!({"model": "-", "input": input}).to_string();
        let call = responses::request::decode(body.as_bytes()).map_err(refused("invalid_input"))?;
        // What is said in between goes to the model in our words, not in the caller's.
        call.unknown.first().cloned().map_or(Ok(()), Err).map_err(refused("invalid_input"))?;
        let input: Input = call.turn_input();
        let key = &started.hub.key;
        match self.app.runner().steer(key, &started.turn, input, None).await {
            Ok(steered) => Ok(format!("steer_{}", steered.first)),
            Err(error) => {
                let problem = ApiError::from(&error);
                let code = match problem.code() {
                    ErrorCode::TurnEnded => "response_already_completed",
                    ErrorCode::InvalidField => "invalid_input",
                    _ => "response_not_active",
                };
                Err((code, problem.detail().to_owned()))
            }
        }
    }
}

impl Protocol for Desk {
    const STALLED: Close = Close::Stalled;
    const SILENT: Close = Close::Stalled;
    const UNAUTHENTICATED: Close = Close::Unauthenticated;

    fn caller(&self) -> Option<&Caller> {
        Some(&self.caller)
    }

    fn opened(&mut self, _: &mut Said) {}

    async fn hear(&mut self, text: &str, said: &mut Said) {
        let (lane, result) = match serde_json::from_str::<Map<String, Value>>(text) {
            Ok(mut message) => match message.remove("stream_id") {
                None => (String::new(), Box::pin(self.take("", message, said)).await),
                Some(Value::String(lane)) if !lane.is_empty() && lane.len() <= 128 => {
                    let result = Box::pin(self.take(&lane, message, said)).await;
                    (lane, result)
                }
                Some(_) => {
                    let text = "`stream_id` must be a text of 1 to 128 bytes";
                    (
                        String::new(),
                        Err(RequestFailure::new(400, "invalid_value", text).param("stream_id").into()),
                    )
                }
            },
            Err(_) => {
                let text = "a message must be one JSON object";
                (String::new(), Err(RequestFailure::new(400, "json_syntax", text).into()))
            }
        };
        if let Err(refusal) = result {
            said.texts.push(error_frame(&lane, refusal));
        }
    }

    fn frame(&mut self, lane: &str, json: &str) -> Option<String> {
        Some(in_lane(lane, json))
    }

    async fn over(&mut self, lane: &str, cut: Option<String>, said: &mut Said) {
        if let Some(reason) = cut {
            let text = format!("{reason}; the response goes on, retrieve it");
            said.texts.push(error_frame(lane, RequestFailure::new(503, "server_error", text).into()));
        }
        let mut waiting = self.lanes.remove(lane).unwrap_or_default();
        // A call that is refused makes room for the next.
        while let Some(call) = waiting.pop_front() {
            match Box::pin(self.begin(lane, &call, said)).await {
                Ok(()) => {
                    self.lanes.insert(lane.to_owned(), waiting);
                    return;
                }
                Err(refusal) => said.texts.push(error_frame(lane, refusal)),
            }
        }
    }
}

fn in_lane(lane: &str, json: &str) -> String {
    match json.strip_prefix('{') {
        Some(rest) if !lane.is_empty() => format!("{{\"stream_id\":{},{rest}", Value::from(lane)),
        Some(_) | None => json.to_owned(),
    }
}

/// Nested, unlike the error event of a stream.
fn error_frame(lane: &str, refusal: Refusal) -> String {
    let failure = refusal.failure();
    let body = responses::error::body(&failure);
    let rest = body.strip_prefix('{').unwrap_or("}");
    in_lane(lane, &format!("{{\"type\":\"error\",\"status\":{},{rest}", failure.status))
}
