//! The conversation of a thread as a list of items: read, added to and taken back between turns.

use std::collections::HashSet;

use riverrun_event::{
    EventScope, EventType, HistoryRollback, Input, Item, ItemStarted, MessageItem, Part, RunId,
    TaskCompleted, TaskId, TaskInfo, ThreadId, TurnCompleted, TurnId, TurnStarted, TurnSubmitted,
};
use riverrun_fold::{TaskState, TurnState};
use serde_json::Value;

use crate::actor::Actor;
use crate::actor::commands::Refusal;
use crate::actor::model::history::SessionHistory;
use crate::actor::model::history::is_refused;
use crate::actor::session::HostedSession;
use crate::actor::turn::rollback::write_completed;
use crate::event_batch::{EventBatch, turn_scope};
use crate::{CommandError, Conversation};

/// Items that may be added at once.
const MOST_ITEMS: usize = 500;

impl Actor {
    pub(crate) async fn conversation(&mut self, asked: Conversation) -> Result<Vec<Item>, Refusal> {
        let thread = crate::main_thread();
        match asked {
            Conversation::Items { limit } => {
                return Ok(self.history.newest_items(&self.session, &thread, limit).await);
            }
            Conversation::Add(_) | Conversation::Pop | Conversation::Clear
                if self.session.is_busy(&thread) =>
            {
                return Err(CommandError::ThreadAtWork(thread.to_string()).into());
            }
            Conversation::Add(items) => self.add_items(&thread, items).await?,
            Conversation::Pop => return Ok(self.pop_item(&thread).await?.into_iter().collect()),
            Conversation::Clear => {
                let turns = self.history.conversation_turns(&self.session, &thread);
                self.remove(&thread, &turns, "cleared", Vec::new()).await?;
            }
        }
        Ok(Vec::new())
    }

    async fn add_items(&mut self, thread: &ThreadId, items: Vec<Item>) -> Result<(), Refusal> {
        let invalid = |detail: String| CommandError::Invalid { field: "items".to_owned(), detail };
        if items.len() > MOST_ITEMS {
            let detail = format!("{} items were given, and one call takes {MOST_ITEMS}", items.len());
            return Err(invalid(detail).into());
        }
        if let Some(number) = items.iter().position(|item| !is_part_of_conversation(item)) {
            return Err(invalid(format!("item {number} is no finished part of a conversation")).into());
        }
        if items.is_empty() {
            return Ok(());
        }
        let mut batch = self.session.new_batch();
        self.history.write_added(&self.session, thread, items, true, &mut batch);
        self.append_once(&mut batch).await?;
        Ok(())
    }

    /// Takes the newest item back. Its turn leaves the conversation, and the items before it in that turn are written
    /// again, as two turns: taking back all of n items writes each about log n times.
    async fn pop_item(&mut self, thread: &ThreadId) -> Result<Option<Item>, Refusal> {
        let mut removed = Vec::new();
        for turn in self.history.conversation_turns(&self.session, thread).into_iter().rev() {
            let mut items = self.history.turn_items(&self.session, &turn).await;
            removed.push(turn);
            if let Some(popped) = items.pop() {
                self.remove(thread, &removed, "popped", items).await?;
                return Ok(Some(popped));
            }
        }
        Ok(None)
    }

    async fn remove(
        &mut self,
        thread: &ThreadId,
        removed: &[TurnId],
        reason: &str,
        remaining: Vec<Item>,
    ) -> Result<(), Refusal> {
        if removed.is_empty() {
            return Ok(());
        }
        let mut batch = self.session.new_batch();
        let rollback = HistoryRollback {
            target: Some(thread.to_string()),
            removed_turns: Some(removed.iter().map(ToString::to_string).collect()),
            reason: Some(reason.to_owned()),
            ..HistoryRollback::default()
        };
        let scope = EventScope { thread_id: Some(thread.clone()), ..EventScope::default() };
        batch.push(EventType::HistoryRollbackCompleted, &scope, &rollback);
        let is_removed = |turn: &TurnId| removed.contains(turn);
        self.history.write_turn_list(&self.session, thread, is_removed, &scope, &mut batch);
        // In halves, so that taking back the next items writes few again.
        let mut remaining = remaining;
        let newer = remaining.split_off(remaining.len() / 2);
        for half in [remaining, newer].into_iter().filter(|half| !half.is_empty()) {
            self.history.write_added(&self.session, thread, half, false, &mut batch);
        }
        self.append_once(&mut batch).await?;
        Ok(())
    }
}

impl SessionHistory {
    /// The turns that a next one would read, the oldest first.
    fn conversation_turns(&self, session: &HostedSession, thread: &ThreadId) -> Vec<TurnId> {
        let mut turns = self.older_turns(session, thread);
        turns.extend(session.thread_turns(thread).iter().map(|turn| turn.turn_id.clone()));
        turns
    }

    async fn newest_items(
        &mut self,
        session: &HostedSession,
        thread: &ThreadId,
        limit: Option<usize>,
    ) -> Vec<Item> {
        let limit = limit.unwrap_or(usize::MAX);
        let mut newest = Vec::new();
        for turn in self.conversation_turns(session, thread).iter().rev() {
            if newest.len() >= limit {
                break;
            }
            newest.extend(self.turn_items(session, turn).await.into_iter().rev());
        }
        newest.truncate(limit);
        newest.reverse();
        newest
    }

    async fn turn_items(&mut self, session: &HostedSession, id: &TurnId) -> Vec<Item> {
        if let Some(turn) = session.state.turns.iter().find(|turn| turn.turn_id == *id) {
            let root = session.state.tasks.iter().find(|task| Some(&task.task_id) == turn.task_id.as_ref());
            return items_of(turn, root);
        }
        let Some(sealed) = self.sealed_turn(session, id).await else { return Vec::new() };
        let root = sealed.tasks.iter().find(|task| Some(&task.task_id) == sealed.turn.task_id.as_ref());
        items_of(&sealed.turn, root)
    }

    /// Items that no run made, as a turn of their own that has ended.
    fn write_added(
        &self,
        session: &HostedSession,
        thread: &ThreadId,
        items: Vec<Item>,
        lists_turns: bool,
        batch: &mut EventBatch,
    ) {
        let turn = TurnId::from_bytes(session.shared.fresh());
        let task = TaskId::from_bytes(session.shared.fresh());
        let scope = turn_scope(thread, &turn, &task, &RunId::from_bytes(session.shared.fresh()));
        let (source, status) = (Some("session".to_owned()), Some("accepted".to_owned()));
        batch.push(
            EventType::TurnSubmitted,
            &scope,
            &TurnSubmitted { source, status, ..TurnSubmitted::default() },
        );
        batch.push(EventType::TaskCreated, &scope, &TaskInfo::default());
        batch.push(EventType::TurnStarted, &scope, &TurnStarted::default());
        if lists_turns {
            self.write_context(session, batch, &scope);
        }
        let mut ids = HashSet::new();
        for (position, item) in items.into_iter().enumerate() {
            let item = session.with_own_id(item, &mut ids);
            let output_index = u32::try_from(position).unwrap_or(u32::MAX);
            batch.push(EventType::ItemStarted, &scope, &ItemStarted { item: item.clone(), output_index });
            write_completed(&item, output_index, &scope, batch);
        }
        batch.push(EventType::TaskCompleted, &scope, &TaskCompleted::default());
        batch.push(EventType::TurnCompleted, &scope, &TurnCompleted::default());
    }
}

impl HostedSession {
    /// An id that is absent, or used by another item of the turn, gives way to a new one.
    fn with_own_id(&self, item: Item, ids: &mut HashSet<String>) -> Item {
        let id = item.id().map(|id| id.into_owned()).unwrap_or_default();
        if !id.is_empty() && ids.insert(id) {
            return item;
        }
        let id = TaskId::from_bytes(self.shared.fresh()).to_string();
        let renamed = serde_json::to_value(&item).ok().and_then(|mut value| {
            value["id"] = Value::from(id.as_str());
            serde_json::from_str(&value.to_string()).ok()
        });
        ids.insert(id);
        renamed.unwrap_or(item)
    }
}

/// What was brought along, the input, and what came of it.
fn items_of(turn: &TurnState, root: Option<&TaskState>) -> Vec<Item> {
    if is_refused(turn, root) {
        return Vec::new();
    }
    let mut items = turn.history.clone();
    items.extend(turn.input.as_ref().map(|input| input_item(turn, input)));
    let output = root.into_iter().flat_map(|root| {
        let is_current = |(position, _): &(usize, &Item)| !root.retracted.contains(position);
        root.output.iter().enumerate().filter(is_current).map(|(_, item)| item.clone())
    });
    items.extend(output.filter(is_part_of_conversation));
    items
}

fn input_item(turn: &TurnState, input: &Input) -> Item {
    let parts = match input {
        Input::Text(text) => vec![Part::plain(text.clone())],
        Input::Parts(parts) => parts.clone(),
    };
    Item::Message(MessageItem {
        id: format!("{}_input", turn.turn_id),
        role: Some("user".to_owned()),
        block_list: Some(parts),
        status: Some("completed".to_owned()),
        ..MessageItem::default()
    })
}

fn is_part_of_conversation(item: &Item) -> bool {
    let is_open = |status: &Option<String>| status.as_deref() == Some("in_progress");
    match item {
        Item::Message(item) => !is_open(&item.status),
        Item::Reasoning(item) => !is_open(&item.status),
        Item::ToolCall(item) => !is_open(&item.status),
        Item::ToolResult(item) => !is_open(&item.status),
        Item::Hosted(item) => !is_open(&item.status),
        Item::Handoff(_) => true,
        Item::Error(_) | Item::Other(_) => false,
    }
}
