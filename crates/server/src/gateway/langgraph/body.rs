//! What is read of a request; other members choose what this server does not do.

use riverrun_dialect::request::RequestFailure;
use riverrun_event::{Input, SessionId};
use riverrun_runner::Busy;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::absent::not_provided;
use crate::gateway::{Asking, Refusal};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ThreadBody {
    pub thread_id: Option<String>,
    pub if_exists: Option<String>,
    pub metadata: Option<Map<String, Value>>,
    pub ttl: Option<Value>,
    pub supersteps: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct SearchBody {
    pub metadata: Option<Map<String, Value>>,
    pub values: Option<Value>,
    pub ids: Option<Vec<String>>,
    pub status: Option<String>,
    pub limit: Option<usize>,
    pub offset: Option<usize>,
    pub sort_by: Option<String>,
    pub sort_order: Option<String>,
    pub select: Option<Vec<String>>,
    pub extract: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct AssistantBody {
    pub metadata: Option<Map<String, Value>>,
    pub graph_id: Option<String>,
    pub name: Option<String>,
    pub limit: Option<usize>,
    pub offset: Option<usize>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct StateBody {
    pub checkpoint: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct HistoryBody {
    pub limit: Option<usize>,
    pub before: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct CancelBody {
    pub thread_id: Option<String>,
    pub run_ids: Option<Vec<String>>,
    pub status: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct RunBody {
    pub assistant_id: Option<String>,
    pub input: Option<Value>,
    pub command: Option<Command>,
    pub multitask_strategy: Option<String>,
    pub stream_mode: Option<Value>,
    pub if_not_exists: Option<String>,
    pub checkpoint: Option<Value>,
    pub checkpoint_id: Option<String>,
    pub interrupt_before: Option<Value>,
    pub interrupt_after: Option<Value>,
    pub webhook: Option<String>,
    pub after_seconds: Option<f64>,
}

#[derive(Debug, Deserialize)]
pub struct Command {
    pub resume: Option<Value>,
}

impl RunBody {
    /// What would be done otherwise than the caller asks for is not done at all.
    pub fn refuse_unknown(&self) -> Result<(), Refusal> {
        let stops =
            |nodes: &Option<Value>| nodes.as_ref().is_some_and(|nodes| *nodes != Value::Array(vec![]));
        let refused = [
            (self.checkpoint.is_some(), "checkpoint", "a thread goes on from its end; copy it first"),
            (self.checkpoint_id.is_some(), "checkpoint_id", "a thread goes on from its end; copy it first"),
            (
                stops(&self.interrupt_before),
                "interrupt_before",
                "an agent's `[policy] ask` stops before tools",
            ),
            (stops(&self.interrupt_after), "interrupt_after", "an agent's `[policy] ask` stops before tools"),
            (self.webhook.is_some(), "webhook", "follow the run, or give the server a hook"),
            (self.after_seconds.is_some(), "after_seconds", "begin the run when it is time"),
        ];
        match refused.into_iter().find(|(is_asked, ..)| *is_asked) {
            Some((_, member, instead)) => Err(not_provided(member, instead)),
            None => Ok(()),
        }
    }

    pub fn input(&self) -> Result<Input, RequestFailure> {
        self.input.as_ref().and_then(said).ok_or_else(|| {
            let message = "`input.messages` must be messages with a `role` each and end with one of the user";
            RequestFailure::new(422, "invalid_input", message).param("input")
        })
    }

    pub fn busy(&self) -> Result<Busy, RequestFailure> {
        match self.multitask_strategy.as_deref() {
            None | Some("enqueue") => Ok(Busy::Queue),
            Some("reject") => Ok(Busy::Reject),
            Some("interrupt" | "rollback") => Ok(Busy::Interrupt),
            Some(_) => {
                let message = "`multitask_strategy` may be enqueue, reject, interrupt or rollback";
                Err(RequestFailure::new(422, "invalid_value", message).param("multitask_strategy"))
            }
        }
    }
}

pub fn read<'a, T: Deserialize<'a> + Default>(asking: &'a Asking) -> Result<T, RequestFailure> {
    if asking.body.is_empty() {
        return Ok(T::default());
    }
    riverrun_event::json::compact(&asking.body, &riverrun_event::json::JsonLimits::default()).map_err(
        |error| RequestFailure::new(422, "invalid_json", format!("the body is not JSON: {error}")),
    )?;
    // An array would be read as the members in their order.
    if !asking.body.trim_ascii_start().starts_with(b"{") {
        return Err(RequestFailure::new(422, "invalid_value", "the body must be a JSON object"));
    }
    serde_json::from_slice(&asking.body)
        .map_err(|error| RequestFailure::new(422, "invalid_value", format!("the body does not fit: {error}")))
}

pub fn session(id: &str) -> Result<SessionId, RequestFailure> {
    SessionId::new(id)
        .map_err(|error| RequestFailure::new(422, "invalid_id", error.to_string()).param("thread_id"))
}

/// What the user said: a text, or the last message of the graph's state.
fn said(input: &Value) -> Option<Input> {
    if let Some(text) = input.as_str() {
        return Some(Input::Text(text.to_owned()));
    }
    let last = match &input["messages"] {
        Value::Array(messages) if messages.iter().all(is_message) => messages.last()?,
        Value::Array(_) => return None,
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

/// A text, or an object that says whose message it is.
fn is_message(message: &Value) -> bool {
    const ROLES: [&str; 9] =
        ["user", "human", "assistant", "ai", "system", "developer", "tool", "function", "remove"];
    let said = ["role", "type"].iter().find_map(|name| message[*name].as_str());
    message.is_string() || said.is_some_and(|role| ROLES.contains(&role))
}
