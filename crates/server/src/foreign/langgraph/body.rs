//! What is read of a request; other members choose what this server does not do.

use riverrun_dialect::request::Failure;
use riverrun_event::{Input, SessionId};
use riverrun_runner::Busy;
use serde::Deserialize;
use serde_json::Value;

use crate::foreign::Asking;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ThreadBody {
    pub thread_id: Option<String>,
    pub if_exists: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct RunBody {
    pub assistant_id: Option<String>,
    pub input: Option<Value>,
    pub command: Option<Command>,
    pub multitask_strategy: Option<String>,
    pub stream_mode: Option<Value>,
}

#[derive(Debug, Deserialize)]
pub struct Command {
    pub resume: Option<Value>,
}

impl RunBody {
    pub fn input(&self) -> Result<Input, Failure> {
        self.input.as_ref().and_then(said).ok_or_else(|| {
            let message = "`input.messages` must end with a message of the user";
            Failure::new(422, "invalid_input", message).param("input")
        })
    }

    pub fn busy(&self) -> Result<Busy, Failure> {
        match self.multitask_strategy.as_deref() {
            None | Some("enqueue") => Ok(Busy::Queue),
            Some("reject") => Ok(Busy::Reject),
            Some("interrupt" | "rollback") => Ok(Busy::Interrupt),
            Some(_) => {
                let message = "`multitask_strategy` may be enqueue, reject, interrupt or rollback";
                Err(Failure::new(422, "invalid_value", message).param("multitask_strategy"))
            }
        }
    }
}

pub fn read<'a, T: Deserialize<'a> + Default>(asking: &'a Asking) -> Result<T, Failure> {
    if asking.body.is_empty() {
        return Ok(T::default());
    }
    riverrun_event::json::compact(&asking.body, &riverrun_event::json::Limits::default())
        .map_err(|error| Failure::new(422, "invalid_json", format!("the body is not JSON: {error}")))?;
    serde_json::from_slice(&asking.body)
        .map_err(|error| Failure::new(422, "invalid_value", format!("the body does not fit: {error}")))
}

pub fn session(id: &str) -> Result<SessionId, Failure> {
    SessionId::new(id).map_err(|error| Failure::new(422, "invalid_id", error.to_string()).param("thread_id"))
}

/// What the user said: a text, or the last message of the graph's state.
fn said(input: &Value) -> Option<Input> {
    if let Some(text) = input.as_str() {
        return Some(Input::Text(text.to_owned()));
    }
    let last = match &input["messages"] {
        Value::Array(messages) => messages.last()?,
        other => other,
    };
    let is_user = ["role", "type"].iter().any(|name| matches!(last[*name].as_str(), Some("user" | "human")));
    let content = if is_user { &last["content"] } else { last.as_str().map(|_| last)? };
    match content {
        Value::String(text) => Some(Input::Text(text.clone())),
        Value::Array(_) => serde_json::from_value(content.clone()).ok().map(Input::Parts),
        _ => None,
    }
}
