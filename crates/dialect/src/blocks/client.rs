//! What a client sends.

use riverrun_event::RawJson;

use super::display::DisplayMode;
use super::event_id::EventId;
use crate::request::RequestFailure;
use crate::request::reader::{At, Object, checked};
use crate::{Approvals, Language};

/// One message of a client. The token is never shown by `Debug`.
#[derive(Debug, Clone, PartialEq)]
pub enum ClientMessage {
    Auth {
        token: ClientToken,
        /// Of the texts that no model wrote.
        language: Option<Language>,
        approvals: Option<Approvals>,
    },
    Chat(Box<ChatInput>),
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
        decisions: Vec<ClientDecision>,
    },
    /// `ts` is given back as it came.
    Ping {
        ts: RawJson,
    },
}

#[derive(Clone, PartialEq, Eq)]
pub struct ClientToken(pub String);

impl std::fmt::Debug for ClientToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct ChatInput {
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
pub struct ClientDecision {
    pub kind: ClientDecisionKind,
    pub tool_use_id: Option<String>,
    pub message: Option<String>,
    /// `name` of an edited action: it must be that of the call.
    pub name: Option<String>,
    /// `args` of an edited action.
    pub arguments: Option<RawJson>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientDecisionKind {
    Approve,
    Edit,
    Reject,
    Respond,
}

impl ClientDecisionKind {
    /// The word of `action.resolved`.
    pub fn as_str(self) -> &'static str {
        match self {
            ClientDecisionKind::Approve => "approve",
            ClientDecisionKind::Edit => "edit",
            ClientDecisionKind::Reject => "reject",
            ClientDecisionKind::Respond => "respond",
        }
    }
}

/// Reads one text frame. A failure is answered by an `error` message; the socket stays open.
pub fn decode(frame: &[u8]) -> Result<ClientMessage, RequestFailure> {
    let text = checked(frame)?;
    let mut object = Object::body(&text)?;
    let kind = object.must("type")?;
    let word = kind.text()?;
    match word.as_str() {
        "auth" => auth(object),
        "chat" => chat(object).map(|chat| ClientMessage::Chat(Box::new(chat))),
        "subscribe" => subscribe(object),
        "unsubscribe" => Ok(ClientMessage::Unsubscribe { session_id: object.must_text("session_id")? }),
        "stop" => stop(object),
        "approval" => approval(object),
        "ping" => {
            let ts = object.raw("ts").unwrap_or_default();
            Ok(ClientMessage::Ping { ts })
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

fn auth(mut object: Object<'_>) -> Result<ClientMessage, RequestFailure> {
    let token = ClientToken(object.must_text("token")?);
    let language = match object.take("language") {
        None => None,
        Some(at) => Some(Language::parse(&at.text()?).ok_or_else(|| {
            let message = "`language` is a language tag, such as `en` or `vi`";
            RequestFailure::new(400, "invalid_value", message).param("language")
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
    Ok(ClientMessage::Auth { token, language, approvals })
}

fn chat(mut object: Object<'_>) -> Result<ChatInput, RequestFailure> {
    let display_mode = display_mode(&mut object)?;
    Ok(ChatInput {
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

fn display_mode(object: &mut Object<'_>) -> Result<Option<DisplayMode>, RequestFailure> {
    let Some(at) = object.take("display_mode") else { return Ok(None) };
    match at.text()?.as_str() {
        "agent" => Ok(Some(DisplayMode::Agent)),
        "chat" => Ok(Some(DisplayMode::Chat)),
        other => Err(at.unknown(other, &["agent", "chat"])),
    }
}

/// An address, bare or in an object.
fn url(at: &At<'_>) -> Result<String, RequestFailure> {
    if at.is_object() { Object::of(at)?.must_text("url") } else { at.text() }
}

fn subscribe(mut object: Object<'_>) -> Result<ClientMessage, RequestFailure> {
    let session_id = object.must_text("session_id")?;
    let after = match object.text("last_event_id")? {
        None => None,
        Some(text) => Some(EventId::parse(&text).ok_or_else(|| {
            let shown: String = text.chars().take(40).collect();
            let message =
                format!("`last_event_id` is no event id: `{shown}`; send one that a message carried");
            RequestFailure::new(400, "invalid_cursor", message).param("last_event_id")
        })?),
    };
    Ok(ClientMessage::Subscribe { session_id, after, display_mode: display_mode(&mut object)? })
}

fn stop(mut object: Object<'_>) -> Result<ClientMessage, RequestFailure> {
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
    Ok(ClientMessage::Stop { session_id, message_id, mode })
}

fn approval(mut object: Object<'_>) -> Result<ClientMessage, RequestFailure> {
    let session_id = object.must_text("session_id")?;
    let approval_key = object.must_text("approval_key")?;
    let decisions = object.must("decisions")?.list()?;
    let decisions = decisions.iter().map(decision).collect::<Result<Vec<_>, _>>()?;
    if decisions.is_empty() {
        let message = "`decisions` must not be empty: one decision per action";
        return Err(RequestFailure::new(400, "invalid_value", message).param("decisions"));
    }
    Ok(ClientMessage::Approval { session_id, approval_key, decisions })
}

fn decision(at: &At<'_>) -> Result<ClientDecision, RequestFailure> {
    let mut object = Object::of(at)?;
    let word = object.must("type")?;
    let kind = match word.text()?.as_str() {
        "approve" => ClientDecisionKind::Approve,
        "edit" => ClientDecisionKind::Edit,
        "reject" => ClientDecisionKind::Reject,
        "respond" => ClientDecisionKind::Respond,
        other => return Err(word.unknown(other, &["approve", "edit", "reject", "respond"])),
    };
    let (name, arguments) = match (kind, object.take("edited_action")) {
        (ClientDecisionKind::Edit, None) => return Err(object.missing("edited_action")),
        (_, Some(edited)) => {
            let mut edited = Object::of(&edited)?;
            (edited.text("name")?, edited.raw("args"))
        }
        (_, None) => (None, None),
    };
    let message = object.text("message")?;
    if kind == ClientDecisionKind::Respond && message.is_none() {
        return Err(object.missing("message"));
    }
    Ok(ClientDecision { kind, tool_use_id: object.text("tool_use_id")?, message, name, arguments })
}
