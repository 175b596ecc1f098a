//! JSON-RPC 2.0 messages: what comes in, read strictly, and the shape of what goes out.

use std::collections::HashSet;

use riverrun_event::{ErrorCode, json};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::edge::{Problem, compact, decode_text};

/// Requests in one batch.
pub const MAX_BATCH: usize = 1_000;
/// The longest id, since it comes back.
const MAX_ID_BYTES: usize = 256;

/// A request's id as it stood in the message, so that it goes back the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Id(String);

/// One request. Without an id nobody wants an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub id: Option<Id>,
    pub method: String,
    /// JSON text.
    pub params: String,
}

/// A request, or what is wrong with it and whom to tell.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    Call(Call),
    Refused(Option<Id>, Problem),
}

/// What one WebSocket message asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    pub entries: Vec<Entry>,
    /// A batch is answered with an array.
    pub is_batch: bool,
    pub bytes: usize,
}

impl Message {
    /// Reads a message. What cannot be read becomes an answer that says why.
    pub fn read(text: &str, limits: &json::JsonLimits, in_flight: &mut HashSet<Id>) -> Self {
        let bytes = text.len();
        let (entries, is_batch) = match read(text, limits, in_flight) {
            Ok(read) => read,
            Err(problem) => (vec![Entry::Refused(None, problem)], false),
        };
        Self { entries, is_batch, bytes }
    }

    /// The ids that are free again once the message was answered.
    pub fn ids(&self) -> Vec<Id> {
        let id = |entry: &Entry| match entry {
            Entry::Call(call) => call.id.clone(),
            Entry::Refused(..) => None,
        };
        self.entries.iter().filter_map(id).collect()
    }
}

fn read(
    text: &str,
    limits: &json::JsonLimits,
    in_flight: &mut HashSet<Id>,
) -> Result<(Vec<Entry>, bool), Problem> {
    if text.trim_ascii().is_empty() {
        return Err(Problem::new(ErrorCode::JsonSyntax, "the message is empty; send a JSON-RPC request"));
    }
    let text = compact(text.as_bytes(), limits)?;
    if !text.starts_with('[') {
        return Ok((vec![entry(&text, in_flight)], false));
    }
    let parts: Vec<&RawValue> = serde_json::from_str(&text).map_err(|error| invalid(error.to_string()))?;
    match parts.len() {
        0 => Err(invalid("the batch is empty; send at least one request")),
        1..=MAX_BATCH => Ok((parts.iter().map(|part| entry(part.get(), in_flight)).collect(), true)),
        count => {
            let detail = format!("{count} requests in one batch; send at most {MAX_BATCH}");
            Err(invalid(detail).limit(MAX_BATCH as u64))
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope<'a> {
    #[serde(borrow)]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

/// An id that is `null` is there, and wrong; an absent one makes a notification.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

fn entry(text: &str, in_flight: &mut HashSet<Id>) -> Entry {
    if !text.starts_with('{') {
        return Entry::Refused(
            None,
            invalid("a request is an object with `jsonrpc`, `method`, `params` and `id`"),
        );
    }
    let envelope: Envelope<'_> = match serde_json::from_str(text) {
        Ok(envelope) => envelope,
        // Read again, for the path and the suggestion.
        Err(_) => return Entry::Refused(None, envelope_problem(text)),
    };
    let id = match envelope.id.map(|id| read_id(id.get())).transpose() {
        Ok(id) => id,
        Err(problem) => return Entry::Refused(None, problem),
    };
    match call(&envelope, id.clone()) {
        Err(problem) => Entry::Refused(id, problem),
        Ok(call) => match id {
            // An answer under that id would be taken for the first one's.
            Some(id) if !in_flight.insert(id.clone()) => {
                let detail = format!("a request with id {} is under way; use an id once at a time", id.0);
                Entry::Refused(None, invalid(detail).field("id"))
            }
            Some(_) | None => Entry::Call(call),
        },
    }
}

fn envelope_problem(text: &str) -> Problem {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only the names are looked at")]
    struct Names {
        jsonrpc: Option<serde::de::IgnoredAny>,
        id: Option<serde::de::IgnoredAny>,
        method: Option<serde::de::IgnoredAny>,
        params: Option<serde::de::IgnoredAny>,
    }
    match decode_text::<Names>(text) {
        Ok(_) => invalid("the request is not well formed"),
        Err(problem) => {
            let invalid = invalid(problem.detail().to_owned());
            problem.field_name().map_or(invalid.clone(), |field| invalid.field(field))
        }
    }
}

fn call(envelope: &Envelope<'_>, id: Option<Id>) -> Result<Call, Problem> {
    if envelope.jsonrpc.map(RawValue::get) != Some("\"2.0\"") {
        return Err(invalid("`jsonrpc` must be \"2.0\"").field("jsonrpc"));
    }
    let method = envelope.method.and_then(|method| serde_json::from_str(method.get()).ok());
    let method = method.ok_or_else(|| invalid("`method` must be the name of a method").field("method"))?;
    let params = envelope.params.map_or("{}", RawValue::get);
    Ok(Call { id, method, params: params.to_owned() })
}

fn read_id(text: &str) -> Result<Id, Problem> {
    let is_plain = text.starts_with(|first: char| first == '"' || first == '-' || first.is_ascii_digit());
    if is_plain && text.len() <= MAX_ID_BYTES {
        return Ok(Id(text.to_owned()));
    }
    let detail = format!("`id` must be a string or a number of at most {MAX_ID_BYTES} bytes");
    Err(invalid(detail).field("id").limit(MAX_ID_BYTES as u64))
}

fn invalid(detail: impl Into<String>) -> Problem {
    Problem::new(ErrorCode::InvalidRequest, detail)
}

/// The answer with a result, which is JSON text.
pub fn result(id: &Id, result: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{result}}}", id.0)
}

/// The answer with an error. `data` is the problem object that HTTP would answer.
pub fn error(id: Option<&Id>, problem: &Problem, request_id: &str) -> String {
    let id = id.map_or("null", |id| &id.0);
    let mut message = String::new();
    json::write_string(&mut message, problem.detail());
    let (code, data) = (problem.code().json_rpc(), problem.to_json(Some(request_id)));
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":{code},\"message\":{message},\"data\":{data}}}}}"
    )
}
