//! What `DefaultChatTransport` posts.

use riverrun_event::{Block, Input, Part, RawJson, TurnId};

use crate::request::reader::{At, Object, checked};
use crate::request::{FunctionOutput, InputItem, ListedMessage, RequestFailure, RequestedTool};

#[derive(Debug, Clone, PartialEq, Default)]
pub struct ChatRequest {
    /// The chat: the session.
    pub id: String,
    pub trigger: Trigger,
    /// The message that is made anew.
    pub message_id: Option<String>,
    /// The whole conversation as the client knows it, oldest first.
    pub messages: Vec<UiMessage>,
    /// The functions that the client runs.
    pub tools: Vec<RequestedTool>,
    /// Other members of the body, such as `scenario`, verbatim.
    pub extra: Vec<(String, RawJson)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Trigger {
    #[default]
    Submit,
    Regenerate,
}

#[derive(Debug, Clone, PartialEq)]
pub struct UiMessage {
    pub id: String,
    pub role: String,
    pub parts: Vec<Part>,
    /// What the user decided about calls of this message.
    pub approvals: Vec<ApprovalAnswer>,
    /// What the calls of this message came to.
    pub outputs: Vec<FunctionOutput>,
    /// Its texts and calls, in order.
    pub items: Vec<InputItem>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalAnswer {
    /// The action.
    pub id: String,
    pub approved: bool,
    pub reason: Option<String>,
}

impl ChatRequest {
    /// Decisions that this request brings: then it goes on with a turn and starts none.
    pub fn approvals(&self) -> &[ApprovalAnswer] {
        match self.messages.last() {
            Some(last) if last.role == "assistant" => &last.approvals,
            Some(_) | None => &[],
        }
    }

    /// Outputs of calls that this request brings. Those of calls that ran elsewhere are among them too.
    pub fn outputs(&self) -> &[FunctionOutput] {
        match self.messages.last() {
            Some(last) if last.role == "assistant" => &last.outputs,
            Some(_) | None => &[],
        }
    }

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
        self.asked().map(|(_, message)| message.id.as_str()).filter(|id| !id.is_empty())
    }

    fn asked(&self) -> Option<(usize, &UiMessage)> {
        self.messages.iter().enumerate().rfind(|(_, message)| message.role == "user")
    }

    /// The conversation before what is new.
    pub fn earlier(&self) -> Vec<ListedMessage> {
        let end = self.asked().map_or(self.messages.len(), |(at, _)| at);
        let listed =
            |message: &UiMessage| ListedMessage { id: message.id.clone(), items: message.items.clone() };
        self.messages[..end].iter().filter(|it| it.role != "system").map(listed).collect()
    }

    /// The instructions of the system messages and of the member `system`.
    pub fn instructions(&self) -> Option<String> {
        let system = self.messages.iter().filter(|message| message.role == "system");
        let answer =
            system.map(|message| message.parts.iter().filter_map(Part::text).collect::<Vec<_>>().join("\n"));
        let member = self.extra.iter().find(|(name, _)| name == "system").and_then(|(_, raw)| raw.as_text());
        let all = member.map(|text| text.into_owned()).into_iter().chain(answer);
        let all: Vec<String> = all.filter(|text| !text.is_empty()).collect();
        (!all.is_empty()).then(|| all.join("\n\n"))
    }
}

/// The turn that one of our assistant messages shows.
pub fn turn_of(message: &str) -> Option<TurnId> {
    TurnId::new(message.strip_prefix("msg_")?).ok()
}

pub fn decode(body: &[u8]) -> Result<ChatRequest, RequestFailure> {
    let text = checked(body)?;
    let mut object = Object::body(&text)?;
    let trigger = match object.take("trigger") {
        None => Trigger::Submit,
        Some(at) => match at.text()?.as_str() {
            "submit-message" => Trigger::Submit,
            "regenerate-message" => Trigger::Regenerate,
            other => return Err(at.unknown(other, &["submit-message", "regenerate-message"])),
        },
    };
    Ok(ChatRequest {
        id: object.must_text("id")?,
        trigger,
        message_id: object.text("messageId")?,
        messages: object.must("messages")?.list()?.iter().map(message).collect::<Result<_, _>>()?,
        tools: tools(object.take("tools"))?,
        extra: object.into_unread(),
    })
}

fn message(at: &At<'_>) -> Result<UiMessage, RequestFailure> {
    let mut object = Object::of(at)?;
    let role = object.must("role")?;
    let word = role.text()?;
    if !["system", "user", "assistant"].contains(&word.as_str()) {
        return Err(role.unknown(&word, &["system", "user", "assistant"]));
    }
    let mut message = UiMessage {
        id: object.text("id")?.unwrap_or_default(),
        role: word,
        parts: Vec::new(),
        approvals: Vec::new(),
        outputs: Vec::new(),
        items: Vec::new(),
    };
    for at in object.list("parts")? {
        part(&at, &mut message)?;
    }
    Ok(message)
}

/// An object of functions by their names, as chat libraries send it, or a list of functions.
fn tools(at: Option<At<'_>>) -> Result<Vec<RequestedTool>, RequestFailure> {
    let Some(at) = at else { return Ok(Vec::new()) };
    let function = |name: Option<String>, at: &At<'_>| -> Result<RequestedTool, RequestFailure> {
        let mut object = Object::of(at)?;
        Ok(RequestedTool {
            name: name.map_or_else(|| object.must_text("name"), Ok)?,
            description: object.text("description")?,
            parameters: object.raw("parameters").or_else(|| object.raw("inputSchema")),
            strict: None,
        })
    };
    if at.is_list() {
        return at.list()?.iter().map(|at| function(None, at)).collect();
    }
    Object::of(&at)?.each().into_iter().map(|(name, at)| function(Some(name), &at)).collect()
}

/// Parts that only the client needs (steps, sources, data) are left out.
fn part(at: &At<'_>, message: &mut UiMessage) -> Result<(), RequestFailure> {
    let mut object = Object::of(at)?;
    let kind = object.must_text("type")?;
    match kind.as_str() {
        "text" => push_part(message, Part::plain(object.must_text("text")?)),
        "file" => {
            let (url, media_type) = (object.must_text("url")?, object.text("mediaType")?);
            let is_image = media_type.as_deref().is_some_and(|kind| kind.starts_with("image/"));
            let value = if is_image {
                serde_json::json!({"type": "image", "imageUrl": {"url": url}})
            } else {
                serde_json::json!({"type": "file", "url": url, "mediaType": media_type.unwrap_or_default()})
            };
            push_part(message, serde_json::from_value(value).map_err(|_| at.wrong("a file part"))?);
        }
        kind if kind.starts_with("tool-") || kind == "dynamic-tool" => tool(kind, object, message)?,
        _ => {}
    }
    Ok(())
}

fn push_part(message: &mut UiMessage, part: Part) {
    message.parts.push(part.clone());
    match message.items.last_mut() {
        Some(InputItem::User { parts } | InputItem::Assistant { parts }) => parts.push(part),
        Some(_) | None if message.role == "user" => message.items.push(InputItem::User { parts: vec![part] }),
        Some(_) | None => message.items.push(InputItem::Assistant { parts: vec![part] }),
    }
}

fn tool(kind: &str, mut object: Object<'_>, message: &mut UiMessage) -> Result<(), RequestFailure> {
    let call_id = object.must_text("toolCallId")?;
    let name = match kind.strip_prefix("tool-") {
        Some(name) => name.to_owned(),
        None => object.text("toolName")?.unwrap_or_default(),
    };
    let state = object.text("state")?.unwrap_or_default();
    let arguments = object.raw("input").map_or_else(|| "{}".to_owned(), |raw| raw.get().to_owned());
    if state != "input-streaming" {
        message.items.push(InputItem::ToolCall { call_id: call_id.clone(), name, arguments });
    }
    let result = match state.as_str() {
        "output-available" => object.raw("output").map(Ok),
        "output-error" => {
            Some(Err(object.text("errorText")?.unwrap_or_else(|| "the tool failed".to_owned())))
        }
        _ => None,
    };
    if let Some(result) = result {
        message.items.push(InputItem::ToolResult {
            call_id: call_id.clone(),
            parts: vec![Part::plain(result_text(&result))],
            is_error: result.is_err(),
        });
        message.outputs.push(FunctionOutput { call_id, result });
    }
    if state == "approval-responded"
        && let Some(at) = object.take("approval")
    {
        let mut approval = Object::of(&at)?;
        let approved = approval.flag("approved")?.ok_or_else(|| approval.missing("approved"))?;
        let (id, reason) = (approval.must_text("id")?, approval.text("reason")?);
        message.approvals.push(ApprovalAnswer { id, approved, reason });
    }
    Ok(())
}

fn result_text(result: &Result<RawJson, String>) -> String {
    match result {
        Ok(output) => output.as_text().map_or_else(|| output.get().to_owned(), |text| text.into_owned()),
        Err(error) => error.clone(),
    }
}
