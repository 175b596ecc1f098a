//! What a client asks: chat, subscribe, stop, decide.

use std::sync::Arc;

use riverrun_dialect::blocks::client::{Chat, Decision, DecisionKind, StopMode};
use riverrun_dialect::blocks::server::APPROVAL_ALREADY_RESOLVED;
use riverrun_dialect::blocks::{Display, DisplayMode, EventId, server, status};
use riverrun_dialect::{Dialect, Framing};
use riverrun_event::{Cursor, FileBlock, Input, Part, RawJson, Sequence, TurnId};
use riverrun_fold::Action;
use riverrun_runner::{CancelMode, Decide, Fate, Submit};

use super::desk::Desk;
use super::fault::Fault;
use crate::app::App;
use crate::deliver::{CatchUp, Request, Subscription, open};
use crate::edge::{Caller, Scope};
use crate::foreign::start::{derived, start};
use crate::foreign::talk::{Said, Stream};
use crate::route::too_late;
use crate::runner::Asked;
use crate::session::Hub;

impl Desk {
    pub(super) async fn chat(&mut self, caller: &Caller, chat: Chat, said: &mut Said) -> Result<(), Fault> {
        caller.require(Scope::Write)?;
        caller.require_agent(chat.agent.as_deref())?;
        if chat.share_id.is_some() {
            return Err(Fault::new(
                "SHARE_NOT_FOUND",
                "there is no such share: sessions are not shared here",
            ));
        }
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
            request: chat.display_mode.and_then(DisplayMode::request),
            source: Some(Dialect::Blocks.name().to_owned()),
            ..Submit::default()
        };
        let is_new = known.is_none();
        let session = known.or_else(|| ids.map(|(session, _)| session));
        let (started, submitted) = start(&self.app, caller, session, submit).await?;
        let session = started.hub.session().to_string();
        if is_new && !submitted.duplicate {
            said.texts.push(server::session_created(&session));
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
            false => Display::within(None, &self.app.state_at(&hub.key, hub.head()).await?),
        };
        let after = Cursor::after(submitted.first.previous(), hub.origin());
        self.follow(caller, hub, Some(after), display, said).await?;
        Ok(())
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
        let state = self.app.state_at(&hub.key, hub.head()).await?;
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
        let request = Request { dialect: Dialect::Blocks, after, catch_up, ..Request::default() };
        let (permit, mut plan) = open(&self.app, hub, caller, &request, Framing::Cursored).await?;
        let session = hub.session().to_string();
        self.follows(&session, display)?;
        let first = std::mem::take(&mut plan.first);
        let is_snapshot = matches!(plan.opening, riverrun_dialect::Opening::Snapshot(_));
        if is_snapshot {
            // The first line is the word that opens the stream; the frames of the state follow it.
            for line in first.lines() {
                let frame = line.split_once(' ').filter(|(cursor, _)| !cursor.is_empty());
                let display = self.followed.get_mut(&session);
                said.texts.extend(frame.zip(display).and_then(|((_, json), display)| display.pass(json)));
            }
            let place = EventId { sequence: plan.at, part: EventId::WHOLE };
            said.texts.push(server::snapshot_end(&session, place));
        }
        let app = self.app.clone();
        let subscription = Subscription::new(app, hub.clone(), caller.clone(), permit, plan, request.follow);
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
        self.app.answered(Asked::Cancel, cancelled)?;
        said.texts.push(server::stop_accepted(session, Some(turn.as_str())));
        Ok(())
    }

    pub(super) async fn approve(
        &mut self,
        caller: &Caller,
        session: &str,
        approval_key: &str,
        decisions: &[Decision],
    ) -> Result<(), Fault> {
        caller.require(Scope::Approve)?;
        let hub = self.app.hub(caller, session).await?;
        let place = approval_key.strip_prefix(session).and_then(|rest| rest.strip_prefix('_'));
        let place = place.and_then(|number| number.parse().ok()).and_then(Sequence::new);
        let state = self.app.state_at(&hub.key, hub.head()).await?;
        let action = state.actions.iter().find(|action| Some(action.sequence) == place);
        let action = action.ok_or_else(|| {
            Fault::new("APPROVAL_NOT_FOUND", format!("there is no question `{}`", shown(approval_key)))
        })?;
        let resolved = |why: &str| Fault::new(APPROVAL_ALREADY_RESOLVED, why);
        let decide = decision(caller, action, decisions)?;
        let decided = self.app.answered(Asked::Decide, self.app.runner().decide(&hub.key, decide).await)?;
        // A second answer is told so in the words of this dialect, even if it is the same.
        match (decided.fate(), too_late(&hub, &decided)) {
            (Fate::Won, _) => Ok(()),
            (Fate::Expired | Fate::RunEnded, Some(problem)) => Err(problem.into()),
            (_, Some(problem)) => Err(resolved(problem.detail())),
            (_, None) => Err(resolved("this question was answered already")),
        }
    }
}

/// The decision for this question: the one that names its call, else the only one there is.
fn decision(caller: &Caller, action: &Action, decisions: &[Decision]) -> Result<Decide, Fault> {
    let call = action.tool_call_id.as_ref().map(|id| id.as_str());
    let named = decisions
        .iter()
        .find(|decision| decision.tool_use_id.is_some() && decision.tool_use_id.as_deref() == call);
    let only = match decisions {
        [only] if only.tool_use_id.is_none() => Some(only),
        _ => None,
    };
    let decision = named.or(only).ok_or_else(|| {
        let message = format!(
            "`decisions` has {} entries and none for this question, which asks for one decision",
            decisions.len()
        );
        Fault::new("INVALID_DECISIONS", message)
    })?;
    let request: serde_json::Value = action.request.to().unwrap_or_default();
    let message = decision.message.clone();
    let tool = request["toolName"].as_str();
    if let Some(named) = decision.name.as_deref().filter(|named| tool.is_some_and(|tool| tool != *named)) {
        let message = format!(
            "`edited_action.name` is `{}`, and the question is about `{}`: an edit changes the arguments, not the \
             tool; reject the call instead",
            shown(named),
            tool.unwrap_or_default()
        );
        return Err(Fault::new("INVALID_DECISIONS", message));
    }
    Ok(Decide {
        action: action.action_id.clone(),
        decision: match decision.kind {
            DecisionKind::Approve => riverrun_runner::Decision::Approve,
            DecisionKind::Reject => riverrun_runner::Decision::Reject,
            DecisionKind::Edit => {
                riverrun_runner::Decision::Edit(decision.arguments.clone().unwrap_or_default())
            }
            DecisionKind::Respond => {
                let answer = RawJson::of(&message.clone().unwrap_or_default()).unwrap_or_default();
                riverrun_runner::Decision::Respond(answer)
            }
        },
        // A client of this protocol has no word for the digest: it decides what it was shown.
        digest: request["digest"].as_str().map(str::to_owned),
        message,
        always: false,
        decided_by: Some(caller.key_id().to_string()),
    })
}

fn input(chat: &Chat) -> Input {
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
    let state = app.state_at(&hub.key, hub.head()).await?;
    // The one that runs, not one that waits behind it.
    Ok(state.turns.iter().find(|turn| !turn.status.is_terminal()).map(|turn| turn.turn_id.clone()))
}

fn no_turn() -> Fault {
    Fault::new("NOTHING_TO_STOP", "no turn of this session is open")
}

fn shown(text: &str) -> String {
    text.chars().take(80).filter(|c| !c.is_control()).collect()
}
