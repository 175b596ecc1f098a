//! What a client sends.

use riverrun_event::RawJson;

use super::display::DisplayMode;
use super::event_id::EventId;
use crate::request::Failure;
use crate::request::reader::{At, Object, checked};
use crate::{Approvals, Language};

/// One message of a client. The token is never shown by `Debug`.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    Auth {
        token: Secret,
        /// Of the texts that no model wrote.
        language: Option<Language>,
        approvals: Option<Approvals>,
    },
    Chat(Box<Chat>),
    Subscribe {
        session_id: String,
        after: Option<EventId>,
        /// None shows each turn as it was asked for.
        display_mode: Option<DisplayMode>,
    },
    Unsubscribe {
        session_id: String,
    },
    Stop {
        session_id: String,
        message_id: Option<String>,
        mode: StopMode,
    },
    Approval {
        session_id: String,
        approval_key: String,
        decisions: Vec<Decision>,
    },
    /// `ts` is given back as it came.
    Ping {
        ts: RawJson,
    },
}

#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Chat {
    pub request_id: Option<String>,
    /// None begins a new session.
    pub session_id: Option<String>,
    pub message: String,
    /// Who answers; the server's chat agent without it.
    pub agent: Option<String>,
    pub content_urls: Vec<String>,
    /// How the turn is shown, here and to those who subscribe later.
    pub display_mode: Option<DisplayMode>,
    /// Continues what somebody shared, in a new session.
    pub share_id: Option<String>,
    /// The same one twice is the same turn.
    pub client_message_id: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StopMode {
    #[default]
    Immediate,
    AfterTurn,
}

/// One decision, for the call that it names or by its place in the list.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    pub kind: DecisionKind,
    pub tool_use_id: Option<String>,
    pub message: Option<String>,
    /// `name` of an edited action: it must be that of the call.
    pub name: Option<String>,
    /// `args` of an edited action.
    pub arguments: Option<RawJson>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecisionKind {
    Approve,
    Edit,
    Reject,
    Respond,
}

impl DecisionKind {
    /// The word of `action.resolved`.
    pub fn as_str(self) -> &'static str {
        match self {
            DecisionKind::Approve => "approve",
            DecisionKind::Edit => "edit",
            DecisionKind::Reject => "reject",
            DecisionKind::Respond => "respond",
        }
    }
}

/// Reads one text frame. A failure is answered by an `error` message; the socket stays open.
pub fn decode(frame: &[u8]) -> Result<Message, Failure> {
    let text = checked(frame)?;
    let mut object = Object::body(&text)?;
    let kind = object.must("type")?;
    let word = kind.text()?;
    match word.as_str() {
        "auth" => auth(object),
        "chat" => chat(object).map(|chat| Message::Chat(Box::new(chat))),
        "subscribe" => subscribe(object),
        "unsubscribe" => Ok(Message::Unsubscribe { session_id: object.must_text("session_id")? }),
        "stop" => stop(object),
        "approval" => approval(object),
        "ping" => {
            let ts = object.raw("ts").unwrap_or_default();
            Ok(Message::Ping { ts })
        }
        other => {
            Err(kind
                .unknown(other, &["auth", "chat", "subscribe", "unsubscribe", "stop", "approval", "ping"]))
        }
    }
}

/// What the answer to a message names, also if the message is otherwise not understood.
pub fn request_id(frame: &[u8]) -> Option<String> {
    Object::body(&checked(frame).ok()?).ok()?.text("request_id").ok()?
}

fn auth(mut object: Object<'_>) -> Result<Message, Failure> {
    let token = Secret(object.must_text("token")?);
    let language = match object.take("language") {
        None => None,
        Some(at) => Some(Language::parse(&at.text()?).ok_or_else(|| {
            let message = "`language` is a language tag, such as `en` or `vi`";
            Failure::new(400, "invalid_value", message).param("language")
        })?),
    };
    let approvals = match object.take("approvals") {
        None => None,
        Some(at) => {
            let word = at.text()?;
            let found = Approvals::parse(&word);
            Some(found.ok_or_else(|| at.unknown(&word, &["together", "separate"]))?)
        }
    };
    Ok(Message::Auth { token, language, approvals })
}

fn chat(mut object: Object<'_>) -> Result<Chat, Failure> {
    let display_mode = display_mode(&mut object)?;
    Ok(Chat {
        request_id: object.text("request_id")?,
        session_id: object.text("session_id")?,
        message: object.must_text("message")?,
        agent: object.text("agent")?,
        content_urls: object.list("content_urls")?.iter().map(url).collect::<Result<_, _>>()?,
        display_mode,
        share_id: object.text("share_id")?,
        client_message_id: object.text("client_message_id")?,
    })
}

fn display_mode(object: &mut Object<'_>) -> Result<Option<DisplayMode>, Failure> {
    let Some(at) = object.take("display_mode") else { return Ok(None) };
    match at.text()?.as_str() {
        "agent" => Ok(Some(DisplayMode::Agent)),
        "chat" => Ok(Some(DisplayMode::Chat)),
        other => Err(at.unknown(other, &["agent", "chat"])),
    }
}

/// An address, bare or in an object.
fn url(at: &At<'_>) -> Result<String, Failure> {
    if at.is_object() { Object::of(at)?.must_text("url") } else { at.text() }
}

fn subscribe(mut object: Object<'_>) -> Result<Message, Failure> {
    let session_id = object.must_text("session_id")?;
    let after = match object.text("last_event_id")? {
        None => None,
        Some(text) => Some(EventId::parse(&text).ok_or_else(|| {
            let shown: String = text.chars().take(40).collect();
            let message =
                format!("`last_event_id` is no event id: `{shown}`; send one that a message carried");
            Failure::new(400, "invalid_cursor", message).param("last_event_id")
        })?),
    };
    Ok(Message::Subscribe { session_id, after, display_mode: display_mode(&mut object)? })
}

fn stop(mut object: Object<'_>) -> Result<Message, Failure> {
    let session_id = object.must_text("session_id")?;
    let message_id = object.text("message_id")?;
    let mode = object.take("mode");
    let mode = match &mode {
        None => StopMode::Immediate,
        Some(at) => match at.text()?.as_str() {
            "immediate" => StopMode::Immediate,
            "after_turn" => StopMode::AfterTurn,
            other => return Err(at.unknown(other, &["immediate", "after_turn"])),
        },
    };
    Ok(Message::Stop { session_id, message_id, mode })
}

fn approval(mut object: Object<'_>) -> Result<Message, Failure> {
    let session_id = object.must_text("session_id")?;
    let approval_key = object.must_text("approval_key")?;
    let decisions = object.must("decisions")?.list()?;
    let decisions = decisions.iter().map(decision).collect::<Result<Vec<_>, _>>()?;
    if decisions.is_empty() {
        let message = "`decisions` must not be empty: one decision per action";
        return Err(Failure::new(400, "invalid_value", message).param("decisions"));
    }
    Ok(Message::Approval { session_id, approval_key, decisions })
}

fn decision(at: &At<'_>) -> Result<Decision, Failure> {
    let mut object = Object::of(at)?;
    let word = object.must("type")?;
    let kind = match word.text()?.as_str() {
        "approve" => DecisionKind::Approve,
        "edit" => DecisionKind::Edit,
        "reject" => DecisionKind::Reject,
        "respond" => DecisionKind::Respond,
        other => return Err(word.unknown(other, &["approve", "edit", "reject", "respond"])),
    };
    let (name, arguments) = match (kind, object.take("edited_action")) {
        (DecisionKind::Edit, None) => return Err(object.missing("edited_action")),
        (_, Some(edited)) => {
            let mut edited = Object::of(&edited)?;
            (edited.text("name")?, edited.raw("args"))
        }
        (_, None) => (None, None),
    };
    let message = object.text("message")?;
    if kind == DecisionKind::Respond && message.is_none() {
        return Err(object.missing("message"));
    }
    Ok(Decision { kind, tool_use_id: object.text("tool_use_id")?, message, name, arguments })
}
