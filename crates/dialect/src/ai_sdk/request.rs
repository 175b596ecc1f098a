//! What `DefaultChatTransport` posts.

use riverrun_event::{Block, Input, Part, RawJson};

use crate::request::Failure;
use crate::request::reader::{At, Object, checked};

#[derive(Debug, Clone, PartialEq, Default)]
pub struct ChatRequest {
    /// The chat: the session.
    pub id: String,
    pub trigger: Trigger,
    /// The message that is made anew.
    pub message_id: Option<String>,
    /// The whole conversation as the client knows it, oldest first.
    pub messages: Vec<Message>,
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
pub struct Message {
    pub id: String,
    pub role: String,
    pub parts: Vec<Part>,
    /// What the user decided about calls of this message.
    pub approvals: Vec<Approval>,
    /// What the client's own tools put out: call id and output.
    pub outputs: Vec<(String, RawJson)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// The action.
    pub id: String,
    pub approved: bool,
    pub reason: Option<String>,
}

impl ChatRequest {
    /// Decisions that this request brings: then it goes on with a turn and starts none.
    pub fn approvals(&self) -> &[Approval] {
        match self.messages.last() {
            Some(last) if last.role == "assistant" => &last.approvals,
            Some(_) | None => &[],
        }
    }

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

pub fn decode(body: &[u8]) -> Result<ChatRequest, Failure> {
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
        extra: object.rest(),
    })
}

fn message(at: &At<'_>) -> Result<Message, Failure> {
    let mut object = Object::of(at)?;
    let role = object.must("role")?;
    let word = role.text()?;
    if !["system", "user", "assistant"].contains(&word.as_str()) {
        return Err(role.unknown(&word, &["system", "user", "assistant"]));
    }
    let mut message = Message {
        id: object.text("id")?.unwrap_or_default(),
        role: word,
        parts: Vec::new(),
        approvals: Vec::new(),
        outputs: Vec::new(),
    };
    for at in object.list("parts")? {
        part(&at, &mut message)?;
    }
    Ok(message)
}

/// Parts that only the client needs (steps, sources, data) are left out.
fn part(at: &At<'_>, message: &mut Message) -> Result<(), Failure> {
    let mut object = Object::of(at)?;
    let kind = object.must_text("type")?;
    match kind.as_str() {
        "text" => message.parts.push(Part::plain(object.must_text("text")?)),
        "file" => {
            let (url, media_type) = (object.must_text("url")?, object.text("mediaType")?);
            let is_image = media_type.as_deref().is_some_and(|kind| kind.starts_with("image/"));
            let value = if is_image {
                serde_json::json!({"type": "image", "imageUrl": {"url": url}})
            } else {
                serde_json::json!({"type": "file", "url": url, "mediaType": media_type.unwrap_or_default()})
            };
            message.parts.push(serde_json::from_value(value).map_err(|_| at.wrong("a file part"))?);
        }
        kind if kind.starts_with("tool-") || kind == "dynamic-tool" => tool(object, message)?,
        _ => {}
    }
    Ok(())
}

fn tool(mut object: Object<'_>, message: &mut Message) -> Result<(), Failure> {
    let call = object.must_text("toolCallId")?;
    let state = object.text("state")?;
    if let (Some("output-available"), Some(output)) = (state.as_deref(), object.raw("output")) {
        message.outputs.push((call, output));
    }
    if let (Some("approval-responded"), Some(at)) = (state.as_deref(), object.take("approval")) {
        let mut approval = Object::of(&at)?;
        let approved = approval.flag("approved")?.ok_or_else(|| approval.missing("approved"))?;
        let (id, reason) = (approval.must_text("id")?, approval.text("reason")?);
        message.approvals.push(Approval { id, approved, reason });
    }
    Ok(())
}
