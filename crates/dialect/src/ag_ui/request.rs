//! `RunAgentInput`: what a client posts to start or resume a run.

use riverrun_event::{Block, Input, Part, RawJson};

use crate::request::reader::{At, Object, checked};
use crate::request::{Failure, Tool};

/// The request as the gateway needs it. Which messages are new is found by their ids.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunAgentInput {
    /// The session.
    pub thread_id: String,
    /// The turn; the same one twice is the same run.
    pub run_id: String,
    pub parent_run_id: Option<String>,
    /// The whole conversation as the client knows it, oldest first.
    pub messages: Vec<Message>,
    /// The functions that the client runs.
    pub tools: Vec<Tool>,
    pub state: Option<RawJson>,
    pub context: Option<RawJson>,
    pub forwarded_props: Option<RawJson>,
    pub resume: Vec<Resume>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    pub id: String,
    pub role: String,
    pub parts: Vec<Part>,
    /// The call that a message of role `tool` answers.
    pub tool_call_id: Option<String>,
    /// What the client said that we do not read, verbatim.
    pub raw: RawJson,
}

/// The answer to an interrupt.
#[derive(Debug, Clone, PartialEq)]
pub struct Resume {
    /// The action.
    pub interrupt_id: String,
    /// False: the client took the question away.
    pub is_resolved: bool,
    pub payload: Option<RawJson>,
}

impl Resume {
    /// The word of `action.resolved`: what the payload says, else that the answer was given.
    pub fn decision(&self) -> String {
        let member = |name: &str| -> Option<serde_json::Value> {
            let payload: serde_json::Value = self.payload.as_ref()?.to().ok()?;
            payload.get(name).cloned()
        };
        if !self.is_resolved {
            return "reject".to_owned();
        }
        if let Some(approved) = member("approved").and_then(|value| value.as_bool()) {
            return if approved { "approve" } else { "reject" }.to_owned();
        }
        let told = member("decision").or(member("type"));
        told.and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_else(|| "respond".to_owned())
    }
}

impl RunAgentInput {
    /// What is new: the last message of the user.
    pub fn turn_input(&self) -> Input {
        let last = self.messages.iter().rev().find(|message| message.role == "user");
        match last.map(|message| message.parts.as_slice()) {
            None | Some([]) => Input::from(""),
            Some([Block::Text(text)]) => Input::from(text.text.as_str()),
            Some(parts) => Input::Parts(parts.to_vec()),
        }
    }
}

pub fn decode(body: &[u8]) -> Result<RunAgentInput, Failure> {
    let text = checked(body)?;
    let mut object = Object::body(&text)?;
    Ok(RunAgentInput {
        thread_id: object.must_text("threadId")?,
        run_id: object.must_text("runId")?,
        parent_run_id: object.text("parentRunId")?,
        messages: object.list("messages")?.iter().map(message).collect::<Result<_, _>>()?,
        tools: object.list("tools")?.iter().map(tool).collect::<Result<_, _>>()?,
        state: object.raw("state"),
        context: object.raw("context"),
        forwarded_props: object.raw("forwardedProps"),
        resume: object.list("resume")?.iter().map(resume).collect::<Result<_, _>>()?,
    })
}

fn message(at: &At<'_>) -> Result<Message, Failure> {
    let mut object = Object::of(at)?;
    let role = object.must("role")?;
    let known = ["developer", "system", "assistant", "user", "tool", "activity", "reasoning"];
    let word = role.text()?;
    if !known.contains(&word.as_str()) {
        return Err(role.unknown(&word, &known));
    }
    let parts = match object.take("content") {
        None => Vec::new(),
        Some(content) if content.is_text() => vec![Part::plain(content.text()?)],
        Some(content) if content.is_list() => content.list()?.iter().map(part).collect::<Result<_, _>>()?,
        // An activity's content is the client's own object.
        Some(_) => Vec::new(),
    };
    let tool_call_id = object.text("toolCallId")?;
    Ok(Message { id: object.must_text("id")?, role: word, parts, tool_call_id, raw: at.json() })
}

fn part(at: &At<'_>) -> Result<Part, Failure> {
    let mut object = Object::of(at)?;
    let kind = object.must_text("type")?;
    if kind == "text" {
        return Ok(Part::plain(object.must_text("text")?));
    }
    let source = object.must("source")?;
    let mut source = Object::of(&source)?;
    let (form, value) = (source.must_text("type")?, source.must_text("value")?);
    let media_type = source.text("mimeType")?;
    let url = match form.as_str() {
        "data" => {
            format!("data:{};base64,{value}", media_type.as_deref().unwrap_or("application/octet-stream"))
        }
        _ => value,
    };
    let image = || serde_json::json!({"type": "image", "imageUrl": {"url": url}, "mediaType": media_type});
    let file = || serde_json::json!({"type": "file", "url": url, "mediaType": media_type});
    let mut value = if kind == "image" { image() } else { file() };
    if let Some(members) = value.as_object_mut() {
        members.retain(|_, value| !value.is_null());
    }
    serde_json::from_value(value).map_err(|_| at.wrong("a text, image, audio, video or document part"))
}

fn tool(at: &At<'_>) -> Result<Tool, Failure> {
    let mut object = Object::of(at)?;
    Ok(Tool {
        name: object.must_text("name")?,
        description: object.text("description")?,
        parameters: object.raw("parameters"),
        strict: None,
    })
}

fn resume(at: &At<'_>) -> Result<Resume, Failure> {
    let mut object = Object::of(at)?;
    let interrupt_id = object.must_text("interruptId")?;
    let status = object.must("status")?;
    let is_resolved = match status.text()?.as_str() {
        "resolved" => true,
        "cancelled" => false,
        other => return Err(status.unknown(other, &["resolved", "cancelled"])),
    };
    Ok(Resume { interrupt_id, is_resolved, payload: object.raw("payload") })
}
