//! One connection: who it is, what it follows, how it sees it.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use riverrun_dialect::blocks::client::{ClientMessage, decode, request_id};
use riverrun_dialect::blocks::{Display, close, server};
use riverrun_dialect::{Approvals, Languages, ReaderOptions};
use riverrun_event::SessionId;

use super::fault::Fault;
use crate::app::App;
use crate::edge::{Caller, PageOrigin, Problem, Scope};
use crate::gateway::protocol_socket::{Protocol, Said};
use crate::gateway::upgrade::Opener;
use crate::websocket::Close;

/// Sessions that one connection may follow.
pub const MAX_FOLLOWED: usize = 64;
/// Bad messages in a row after which a peer does not speak this protocol.
const MAX_BAD: u32 = 20;

const FORBIDDEN: Close = Close::Own(close::FORBIDDEN, "the key does not have the scope `read`");
const SESSION_GONE: Close = Close::Own(close::SESSION_NOT_FOUND, "there is no such session");
const NOT_SPOKEN: Close = Close::Own(close::PROTOCOL_ERROR, "too many messages that are not understood");

pub struct Desk {
    pub app: App,
    pub caller: Option<Caller>,
    ip: Option<IpAddr>,
    origin: PageOrigin,
    connection_id: String,
    /// The sessions that are followed, and how each is shown.
    pub followed: HashMap<String, Display>,
    /// Of the texts that no model wrote.
    pub languages: Languages,
    pub approvals: Approvals,
    bad: u32,
}

impl Desk {
    pub fn new(app: App, opener: Opener) -> Result<Self, Problem> {
        let Opener { caller, ip, origin, languages, approvals } = opener;
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)
            .map_err(|_| Problem::new(riverrun_event::ErrorCode::Internal, "there is no randomness"))?;
        let connection_id = format!("conn_{}", SessionId::from_bytes(bytes));
        let followed = HashMap::new();
        Ok(Self { app, caller, ip, origin, connection_id, followed, languages, approvals, bad: 0 })
    }

    /// What the reader of this connection chose. Each session's `Display` picks the view.
    pub fn options(&self) -> ReaderOptions {
        ReaderOptions {
            languages: self.languages,
            approvals: self.approvals,
            all_views: true,
            ..ReaderOptions::default()
        }
    }

    /// How a session that is followed from now on is shown.
    pub fn follows(&mut self, session: &str, display: Display) -> Result<(), Fault> {
        if self.followed.len() >= MAX_FOLLOWED && !self.followed.contains_key(session) {
            let message = format!("this connection follows {MAX_FOLLOWED} sessions, which is the limit");
            return Err(Fault::new("TOO_MANY_SUBSCRIPTIONS", message));
        }
        self.followed.insert(session.to_owned(), display);
        Ok(())
    }

    fn authenticate(&mut self, token: &str, said: &mut Said) {
        let edge = self.app.edge();
        let found = match token.starts_with("rt_") {
            true => edge.redeem(token, self.ip),
            false => edge.authenticate_text(token, self.ip, &self.origin),
        };
        match (found, &self.caller) {
            (Ok(caller), Some(known)) if known.key_id() != caller.key_id() => {
                let fault =
                    Fault::new("ALREADY_AUTHENTICATED", "this connection has a key; open another one");
                said.texts.push(fault.text(None));
            }
            (Ok(_), Some(known)) => said.texts.push(server::auth_ok(known.key_id().as_str())),
            (Ok(caller), None) => match caller.require(Scope::Read) {
                Ok(()) => {
                    said.texts.push(server::auth_ok(caller.key_id().as_str()));
                    self.caller = Some(caller);
                }
                Err(problem) => {
                    said.texts.push(Fault::from(problem).auth_text());
                    said.close = Some(FORBIDDEN);
                }
            },
            (Err(problem), _) => {
                said.texts.push(Fault::from(problem).auth_text());
                said.close = Some(Self::UNAUTHENTICATED);
            }
        }
    }

    async fn carry_out(&mut self, message: ClientMessage, said: &mut Said) -> Result<(), Fault> {
        let Some(caller) = self.caller.clone() else {
            said.close = Some(Self::UNAUTHENTICATED);
            let message = "the first message must be `auth` with a valid key in `token`";
            said.texts.push(Fault::new("UNAUTHENTICATED", message).auth_text());
            return Ok(());
        };
        match message {
            ClientMessage::Auth { .. } | ClientMessage::Ping { .. } => Ok(()),
            ClientMessage::Chat(chat) => self.chat(&caller, *chat, said).await,
            ClientMessage::Subscribe { session_id, after, display_mode } => {
                self.subscribe(&caller, &session_id, after, display_mode, said).await
            }
            ClientMessage::Unsubscribe { session_id } => {
                if self.followed.remove(&session_id).is_none() {
                    let message = "this connection does not follow that session";
                    return Err(Fault::new("NOT_SUBSCRIBED", message));
                }
                said.texts.push(server::unsubscribed(&session_id));
                said.left.push(session_id);
                Ok(())
            }
            ClientMessage::Stop { session_id, message_id, mode } => {
                self.stop(&caller, &session_id, message_id, mode, said).await
            }
            ClientMessage::Approval { session_id, approval_key, decisions } => {
                self.approve(&caller, &session_id, &approval_key, &decisions).await
            }
        }
    }
}

impl Protocol for Desk {
    const STALLED: Close =
        Close::Own(close::REPLACED, "nothing was taken for too long; connect again and resume");
    const SILENT: Close =
        Close::Own(close::HEARTBEAT_TIMEOUT, "nothing was heard for too long; connect again and resume");
    const UNAUTHENTICATED: Close = Close::Own(close::UNAUTHENTICATED, "a valid key is needed");
    const AUTH_TIME: Option<Duration> = Some(Duration::from_secs(10));

    fn caller(&self) -> Option<&Caller> {
        self.caller.as_ref()
    }

    fn opened(&mut self, said: &mut Said) {
        let heartbeat = self.app.edge().limits().ping_every.as_secs();
        said.texts.push(server::connected(&self.connection_id, heartbeat));
        if let Some(caller) = &self.caller {
            said.texts.push(server::auth_ok(caller.key_id().as_str()));
        }
    }

    async fn hear(&mut self, text: &str, said: &mut Said) {
        match decode(text.as_bytes()) {
            Ok(ClientMessage::Auth { token, language, approvals }) => {
                self.languages = language.map_or(self.languages, Languages::one);
                self.approvals = approvals.unwrap_or(self.approvals);
                self.authenticate(&token.0, said);
            }
            Ok(ClientMessage::Ping { ts }) => said.texts.push(server::pong(ts.get())),
            Ok(message) => {
                self.bad = 0;
                if let Err(fault) = Box::pin(self.carry_out(message, said)).await {
                    said.texts.push(fault.text(request_id(text.as_bytes()).as_deref()));
                }
            }
            Err(failure) => {
                self.bad += 1;
                said.texts.push(Fault::from(failure).text(request_id(text.as_bytes()).as_deref()));
            }
        }
        if self.bad >= MAX_BAD {
            said.close = Some(NOT_SPOKEN);
        }
    }

    fn frame(&mut self, stream: &str, json: &str) -> Option<String> {
        self.followed.get_mut(stream)?.pass(json)
    }

    async fn over(&mut self, stream: &str, cut: Option<String>, said: &mut Said) {
        self.followed.remove(stream);
        let reason = cut.unwrap_or_else(|| "the session has no more events".to_owned());
        said.texts.push(Fault::new("SUBSCRIPTION_ENDED", format!("session `{stream}`: {reason}")).text(None));
        let caller = self.caller.as_ref().filter(|caller| caller.is_live());
        let is_gone = match caller {
            Some(caller) => self.app.hub(caller, stream).await.is_err(),
            None => false,
        };
        if is_gone && self.followed.is_empty() {
            said.close = Some(SESSION_GONE);
        }
    }
}
