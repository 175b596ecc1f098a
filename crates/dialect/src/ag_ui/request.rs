//! `RunAgentInput`: what a client posts to start or resume a run.

use riverrun_event::{Block, Input, Part, RawJson};

use crate::request::reader::{At, Object, checked};
use crate::request::{FunctionOutput, InputItem, ListedMessage, RequestFailure, RequestedTool};

/// The request as the gateway needs it. Which messages are new is found by their ids.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunAgentInput {
    /// The session.
    pub thread_id: String,
    /// The turn; the same one twice is the same run.
    pub run_id: String,
    pub parent_run_id: Option<String>,
    /// The whole conversation as the client knows it, oldest first.
    pub messages: Vec<AgUiMessage>,
    /// The functions that the client runs.
    pub tools: Vec<RequestedTool>,
    pub state: Option<RawJson>,
    /// What the application wants the agent to know: a description and a value each.
    pub context: Vec<(String, String)>,
    pub forwarded_props: Option<RawJson>,
    pub resume: Vec<InterruptAnswer>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct AgUiMessage {
    pub id: String,
    pub role: String,
    pub parts: Vec<Part>,
    /// The calls that a message of role `assistant` makes.
    pub tool_calls: Vec<InputItem>,
    /// The call that a message of role `tool` answers.
    pub tool_call_id: Option<String>,
    /// Why that call failed.
    pub error: Option<String>,
    /// Members that the decoder does not read, verbatim.
    pub raw: RawJson,
}

/// The answer to an interrupt.
#[derive(Debug, Clone, PartialEq)]
pub struct InterruptAnswer {
    /// The action.
    pub interrupt_id: String,
    /// False: the client took the question away.
    pub is_resolved: bool,
    pub payload: Option<RawJson>,
}

impl InterruptAnswer {
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
        let instructions = member("decision").or(member("type"));
        instructions
            .and_then(|value| value.as_str().map(str::to_owned))
            .unwrap_or_else(|| "respond".to_owned())
    }
}

impl RunAgentInput {
    /// What is new: the last message of the user.
    pub fn turn_input(&self) -> Input {
        match self.asked().map(|(_, message)| message.parts.as_slice()) {
            None | Some([]) => Input::from(""),
            Some([Block::Text(text)]) => Input::from(text.text.as_str()),
            Some(parts) => Input::Parts(parts.to_vec()),
        }
    }

    /// The client's id of what is new.
    pub fn input_id(&self) -> Option<&str> {
        self.asked().map(|(_, message)| message.id.as_str())
    }

    fn asked(&self) -> Option<(usize, &AgUiMessage)> {
        self.messages.iter().enumerate().rfind(|(_, message)| message.role == "user")
    }

    /// The conversation before what is new; all of it if that is a result.
    pub fn earlier(&self) -> Vec<ListedMessage> {
        let asked = self.asked().filter(|_| self.asks_anew());
        let end = asked.map_or(self.messages.len(), |(at, _)| at);
        let listed = |message: &AgUiMessage| ListedMessage { id: message.id.clone(), items: items(message) };
        self.messages[..end].iter().map(listed).filter(|listed| !listed.items.is_empty()).collect()
    }

    /// The results of the client's own tools, as far as the request has them.
    pub fn outputs(&self) -> Vec<FunctionOutput> {
        self.messages.iter().filter_map(output).collect()
    }

    /// True unless the last word is the result of a call. What a screen shows beside the conversation is no word.
    pub fn asks_anew(&self) -> bool {
        self.last().is_none_or(|last| last.role != "tool")
    }

    /// The call whose result is the last word.
    pub fn answered_call(&self) -> Option<&str> {
        self.last().filter(|last| last.role == "tool")?.tool_call_id.as_deref()
    }

    fn last(&self) -> Option<&AgUiMessage> {
        self.messages.iter().rfind(|message| !matches!(message.role.as_str(), "activity" | "reasoning"))
    }

    /// The model's instructions: the system messages and the application's context.
    pub fn instructions(&self) -> Option<String> {
        let is_instruction = |message: &&AgUiMessage| matches!(message.role.as_str(), "system" | "developer");
        let instructions = self.messages.iter().filter(is_instruction).map(|message| text(&message.parts));
        let context = self.context.iter().map(|(description, value)| format!("{description}: {value}"));
        let all: Vec<String> = instructions.chain(context).filter(|text| !text.is_empty()).collect();
        (!all.is_empty()).then(|| all.join("\n\n"))
    }
}

fn text(parts: &[Part]) -> String {
    parts.iter().filter_map(Part::text).collect::<Vec<_>>().join("\n")
}

/// A message as entries of a history. What a model thought and what only a screen shows have none.
fn items(message: &AgUiMessage) -> Vec<InputItem> {
    let parts = message.parts.clone();
    match message.role.as_str() {
        "user" => vec![InputItem::User { parts }],
        "assistant" => {
            let assistant = (!parts.is_empty()).then_some(InputItem::Assistant { parts });
            assistant.into_iter().chain(message.tool_calls.iter().cloned()).collect()
        }
        "tool" => {
            let call_id = message.tool_call_id.clone().unwrap_or_default();
            vec![InputItem::ToolResult { call_id, parts, is_error: message.error.is_some() }]
        }
        _ => Vec::new(),
    }
}

/// A text as text, other parts as they are.
fn output(message: &AgUiMessage) -> Option<FunctionOutput> {
    let call_id = message.tool_call_id.clone().filter(|_| message.role == "tool")?;
    let result = match (&message.error, message.parts.as_slice()) {
        (Some(error), _) => Err(error.clone()),
        (None, [Block::Text(text)]) => Ok(RawJson::of(&text.text).unwrap_or_default()),
        (None, parts) => Ok(RawJson::of(&parts).unwrap_or_default()),
    };
    Some(FunctionOutput { call_id, result })
}

pub fn decode(body: &[u8]) -> Result<RunAgentInput, RequestFailure> {
    let text = checked(body)?;
    let mut object = Object::body(&text)?;
    Ok(RunAgentInput {
        thread_id: object.must_text("threadId")?,
        run_id: object.must_text("runId")?,
        parent_run_id: object.text("parentRunId")?,
        messages: object.list("messages")?.iter().map(message).collect::<Result<_, _>>()?,
        tools: object.list("tools")?.iter().map(tool).collect::<Result<_, _>>()?,
        state: object.raw("state"),
        context: object.list("context")?.iter().map(context).collect::<Result<_, _>>()?,
        forwarded_props: object.raw("forwardedProps"),
        resume: object.list("resume")?.iter().map(resume).collect::<Result<_, _>>()?,
    })
}

fn message(at: &At<'_>) -> Result<AgUiMessage, RequestFailure> {
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
        Some(_) if word == "activity" => Vec::new(),
        Some(content) => return Err(content.wrong("a string or an array")),
    };
    Ok(AgUiMessage {
        id: object.must_text("id")?,
        role: word,
        parts,
        tool_calls: object.list("toolCalls")?.iter().map(call).collect::<Result<_, _>>()?,
        tool_call_id: object.text("toolCallId")?,
        error: object.text("error")?,
        raw: at.json(),
    })
}

fn call(at: &At<'_>) -> Result<InputItem, RequestFailure> {
    let mut object = Object::of(at)?;
    let mut function = Object::of(&object.must("function")?)?;
    let (name, arguments) = (function.must_text("name")?, function.text("arguments")?);
    let call_id = object.must_text("id")?;
    Ok(InputItem::ToolCall { call_id, name, arguments: arguments.unwrap_or_default() })
}

/// A value that is not text is written as JSON.
fn context(at: &At<'_>) -> Result<(String, String), RequestFailure> {
    let mut object = Object::of(at)?;
    let description = object.text("description")?.unwrap_or_default();
    let value = object.raw("value").unwrap_or_default();
    let text = value.as_text().map_or_else(|| value.get().to_owned(), |text| text.into_owned());
    Ok((description, text))
}

fn part(at: &At<'_>) -> Result<Part, RequestFailure> {
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

fn tool(at: &At<'_>) -> Result<RequestedTool, RequestFailure> {
    let mut object = Object::of(at)?;
    Ok(RequestedTool {
        name: object.must_text("name")?,
        description: object.text("description")?,
        parameters: object.raw("parameters"),
        strict: None,
    })
}

fn resume(at: &At<'_>) -> Result<InterruptAnswer, RequestFailure> {
    let mut object = Object::of(at)?;
    let interrupt_id = object.must_text("interruptId")?;
    let status = object.must("status")?;
    let is_resolved = match status.text()?.as_str() {
        "resolved" => true,
        "cancelled" => false,
        other => return Err(status.unknown(other, &["resolved", "cancelled"])),
    };
    Ok(InterruptAnswer { interrupt_id, is_resolved, payload: object.raw("payload") })
}
