//! What a client asks: chat, subscribe, stop, decide.

use std::sync::Arc;

use riverrun_dialect::blocks::client::{ChatInput, StopMode};
use riverrun_dialect::blocks::{self, Display, DisplayMode, EventId, TurnRequest, server, status};
use riverrun_dialect::{Dialect, Framing, Languages};
use riverrun_event::{Cursor, FileBlock, Input, Item, MessageItem, Part, Sequence, TurnId};
use riverrun_runner::{CancelMode, Submit};
use serde_json::Value;

use super::desk::Desk;
use super::fault::Fault;
use crate::app::App;
use crate::deliver::open;
use crate::derived_ids::derived;
use crate::edge::{Caller, Scope};
use crate::gateway::protocol_socket::{Said, Stream};
use crate::gateway::turn::start_with;
use crate::route::{NewSessionBody, live_share};
use riverrun_api::RunnerCommand;
use riverrun_session::Hub;
use riverrun_session::{CatchUp, Request};

impl Desk {
    pub(super) async fn chat(
        &mut self,
        caller: &Caller,
        chat: ChatInput,
        said: &mut Said,
    ) -> Result<(), Fault> {
        caller.require(Scope::Write)?;
        caller.require_agent(chat.agent.as_deref())?;
        let shared = match &chat.share_id {
            Some(id) => Some(self.shared(&chat, id).await?),
            None => None,
        };
        let known = match &chat.session_id {
            Some(id) => Some(self.app.hub(caller, id).await?.session().clone()),
            None => None,
        };
        let scope = known.as_ref().map_or("", |id| id.as_str());
        let ids = chat.client_message_id.as_deref().map(|id| derived(caller, &["blocks", scope, id]));
        let submit = Submit {
            turn_id: ids.as_ref().map(|(_, turn)| turn.clone()),
            agent: chat.agent.clone().or_else(|| self.app.agents().chat_agent.clone()),
            input: Some(input(&chat)),
            request: TurnRequest::write(chat.display_mode, chat.share_id.as_deref()),
            history: shared.as_ref().map(|shared| shared.history.clone()).unwrap_or_default(),
            source: Some(Dialect::Blocks.name().to_owned()),
            ..Submit::default()
        };
        let is_new = known.is_none();
        let session = known.or_else(|| ids.map(|(session, _)| session));
        let title = shared.map(|shared| shared.title).filter(|title| !title.is_empty());
        let new = NewSessionBody { session_id: session, title, ..NewSessionBody::default() };
        let (started, submitted) = start_with(&self.app, caller, new, submit).await?;
        let session = started.hub.session().to_string();
        if is_new && !submitted.duplicate {
            said.texts.push(server::session_created(&session, chat.share_id.is_some()));
        }
        let is_queued = submitted.status == "queued";
        let request = chat.request_id.as_deref();
        said.texts.push(server::chat_accepted(request, &session, submitted.turn_id.as_str(), is_queued));
        if let Some(display) = self.followed.get_mut(&session) {
            if chat.display_mode.is_some() {
                display.follow_turns();
            }
            return Ok(());
        }
        let hub = &started.hub;
        let display = match is_new {
            true => Display::new(None),
            // A turn before this one may still run, and is heard from its middle.
            false => Display::within(None, &self.app.sessions().state_at(&hub.key, hub.head()).await?),
        };
        let after = Cursor::after(submitted.first.previous(), hub.origin());
        self.follow(caller, hub, Some(after), display, said).await?;
        Ok(())
    }

    /// What a share lets its readers see, for a session that goes on from there.
    async fn shared(&self, chat: &ChatInput, id: &str) -> Result<Shared, Fault> {
        if chat.session_id.is_some() {
            let message = "`share_id` begins a new session: send it without `session_id`";
            return Err(Fault::new("INVALID_VALUE", message));
        }
        let share = live_share(&self.app, id).await?;
        let share = share.ok_or_else(|| Fault::new("SHARE_NOT_FOUND", "there is no such share"))?;
        let state = self.app.sessions().long_state_at(&share.key, share.through).await?;
        let messages = blocks::messages(&state, Languages::default());
        Ok(Shared { title: share.title, history: messages.iter().filter_map(said).collect() })
    }

    pub(super) async fn subscribe(
        &mut self,
        caller: &Caller,
        session: &str,
        after: Option<EventId>,
        display_mode: Option<DisplayMode>,
        said: &mut Said,
    ) -> Result<(), Fault> {
        let hub = self.app.hub(caller, session).await?;
        if self.followed.remove(session).is_some() {
            // Who subscribes again begins again where it says.
            said.left.push(session.to_owned());
        }
        let state = self.app.sessions().state_at(&hub.key, hub.head()).await?;
        let cursor = after.map(|after| cursor(after, &hub));
        let at = said.texts.len();
        let is_snapshot =
            self.follow(caller, &hub, cursor, Display::within(display_mode, &state), said).await?;
        let from = after.filter(|_| !is_snapshot).map_or(String::new(), EventId::write);
        said.texts.insert(at, server::subscribed(session, status(&state), &from, is_snapshot));
        Ok(())
    }

    /// Follows a session: what there is behind the cursor, else the open turn as it stands. True for the latter.
    async fn follow(
        &mut self,
        caller: &Caller,
        hub: &Arc<Hub>,
        after: Option<Cursor>,
        display: Display,
        said: &mut Said,
    ) -> Result<bool, Fault> {
        let catch_up = if after.is_some() { CatchUp::Replay } else { CatchUp::Snapshot };
        let options = self.options();
        let request = Request { dialect: Dialect::Blocks, after, catch_up, options, ..Request::default() };
        let mut opened = open(&self.app, hub, caller, &request, Framing::Messages).await?;
        let session = hub.session().to_string();
        self.follows(&session, display)?;
        let first = std::mem::take(&mut opened.plan.first);
        let outcome = opened.plan.opened.as_ref().map(|opened| opened.outcome);
        let is_snapshot = matches!(outcome, Some(riverrun_dialect::Opening::Snapshot(_)));
        if is_snapshot {
            let display = self.followed.get_mut(&session);
            let frames = display.map(|display| {
                first.messages().filter_map(|message| display.pass(message.json)).collect::<Vec<_>>()
            });
            said.texts.extend(frames.unwrap_or_default());
            let position = EventId { sequence: opened.plan.at(), part: EventId::WHOLE };
            said.texts.push(server::snapshot_end(&session, position));
        }
        let subscription = opened.subscribe(hub.clone(), request.follow);
        said.begun.push(Stream::new(session, subscription));
        Ok(is_snapshot)
    }

    pub(super) async fn stop(
        &mut self,
        caller: &Caller,
        session: &str,
        message_id: Option<String>,
        mode: StopMode,
        said: &mut Said,
    ) -> Result<(), Fault> {
        caller.require(Scope::Write)?;
        let hub = self.app.hub(caller, session).await?;
        let turn = match message_id {
            Some(id) => TurnId::new(&id).map_err(|_| no_turn())?,
            None => open_turn(&self.app, &hub).await?.ok_or_else(no_turn)?,
        };
        let mode = match mode {
            StopMode::Immediate => CancelMode::Immediate,
            StopMode::AfterTurn => CancelMode::AfterTurn,
        };
        let cancelled = self.app.runner().cancel(&hub.key, &turn, mode, None).await;
        self.app.answered(RunnerCommand::Cancel, cancelled)?;
        said.texts.push(server::stop_accepted(session, Some(turn.as_str())));
        Ok(())
    }
}

/// What a new session takes over from a share.
struct Shared {
    title: String,
    history: Vec<Item>,
}

/// What somebody said, as an item of the new session's history. Thoughts and calls stay behind.
fn said(message: &Value) -> Option<Item> {
    let role = message["role"].as_str().filter(|role| matches!(*role, "user" | "assistant"))?;
    let parts = message["content"].as_array()?;
    let texts = parts.iter().filter(|part| part["type"] == "text").filter_map(|part| part["text"].as_str());
    let content: Vec<Part> = texts.filter(|text| !text.is_empty()).map(Part::plain).collect();
    let item = MessageItem { role: Some(role.to_owned()), content: Some(content), ..MessageItem::default() };
    item.content.as_ref().is_some_and(|content| !content.is_empty()).then_some(Item::Message(item))
}

fn input(chat: &ChatInput) -> Input {
    if chat.content_urls.is_empty() {
        return Input::Text(chat.message.clone());
    }
    let file = |url: &String| Part::File(FileBlock { url: Some(url.clone()), ..FileBlock::default() });
    let text = (!chat.message.is_empty()).then(|| Part::plain(chat.message.clone()));
    Input::Parts(text.into_iter().chain(chat.content_urls.iter().map(file)).collect())
}

/// A place inside an event is told by the event before it and the frames that were seen.
fn cursor(after: EventId, hub: &Hub) -> Cursor {
    match after.part {
        _ if after.sequence == Sequence::ZERO => Cursor::after(Sequence::ZERO, hub.origin()),
        EventId::WHOLE => Cursor::after(after.sequence, hub.origin()),
        part => {
            let part = part.saturating_add(1);
            Cursor { sequence: after.sequence.previous(), part, origin: Some(hub.origin()) }
        }
    }
}

async fn open_turn(app: &App, hub: &Hub) -> Result<Option<TurnId>, Fault> {
    let state = app.sessions().state_at(&hub.key, hub.head()).await?;
    // The one that runs, not one that waits behind it.
    Ok(state.turns.iter().find(|turn| !turn.status.is_terminal()).map(|turn| turn.turn_id.clone()))
}

fn no_turn() -> Fault {
    Fault::new("NOTHING_TO_STOP", "no turn of this session is open")
}
