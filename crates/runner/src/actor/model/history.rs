//! The conversation of a task, gathered from the state and from sealed turns.

use std::collections::HashSet;
use std::sync::Arc;

use foldhash::HashMap;
use riverrun_event::{Input, Item, Part, TaskId, ThreadId, TurnId};
use riverrun_fold::{SealedTurn, TaskState, TurnState};
use riverrun_provider::HistoryEntry;
use serde_json::Value;

use crate::actor::recovery::authors::OwnContext;
use crate::actor::session::HostedSession;
use crate::actor::turn::end::TRIPPED;
use crate::history::{self, Making, Reader};

/// What the actor knows of the conversation beside the state.
pub(crate) struct SessionHistory {
    /// The newest facts about the conversation that this server's runner wrote.
    pub context: OwnContext,
    /// Turns that left the state, as they were read from the store.
    pub sealed: HashMap<TurnId, Arc<SealedTurn>>,
    /// Root tasks whose older turns were measured against the limit of tokens.
    pub compacted: HashSet<TaskId>,
}

impl SessionHistory {
    pub fn new(context: OwnContext) -> Self {
        Self { context, sealed: HashMap::default(), compacted: HashSet::default() }
    }
}

impl SessionHistory {
    /// What the model of this task reads. Err says why the agent's own way of putting it together failed.
    pub(crate) async fn history(
        &mut self,
        session: &HostedSession,
        task: &TaskId,
        provider: &str,
    ) -> Result<Vec<HistoryEntry>, String> {
        let is_root = session.view.task(task).is_some_and(|(_, view)| view.parent.is_none());
        let mut out = match is_root {
            true => self.read_before(session, task, provider).await?,
            false => session.objective(task),
        };
        out.append(&mut session.own_items(task, provider));
        let Some((_, view)) = session.view.task(task) else { return Ok(out) };
        let known = session.state.tasks.iter().find(|known| known.task_id == *task);
        if view.repairs > 0 && view.is_call_due {
            let request = repair(known, view.misfit.as_deref().unwrap_or("it does not fit"));
            history::user(&Input::Text(request), &mut out);
        }
        Ok(history::pair(out))
    }

    /// What the model of a root task reads before its own items: the conversation and the turn's input, as the turn
    /// itself or its agent puts them together.
    async fn read_before(
        &mut self,
        session: &HostedSession,
        task: &TaskId,
        provider: &str,
    ) -> Result<Vec<HistoryEntry>, String> {
        let (mut past, mut asked) = (Vec::new(), Vec::new());
        let (Some(persona), Some((turn, _))) = (session.persona(task), session.view.task(task)) else {
            return Ok(asked);
        };
        let (turn_id, thread) = (turn.turn.clone(), turn.thread.clone());
        if let Some(conversation) = &persona.settings.conversation {
            history::items(conversation, |_| false, &Making::Past, &mut asked);
            return Ok(asked);
        }
        self.past(session, &thread, &turn_id, None, &mut past).await;
        if let Some(turn) = session.state.turns.iter().find(|known| known.turn_id == turn_id) {
            history::asked(turn, &Making::Given { provider }, &mut asked);
        }
        history::merged(past, asked, persona.spec.merge.as_ref())
    }

    /// What was said before a request that goes out in the caller's own words.
    pub(crate) async fn history_before_request(
        &mut self,
        session: &HostedSession,
        task: &TaskId,
        reader: &Reader<'_>,
    ) -> Vec<HistoryEntry> {
        let mut out = Vec::new();
        let Some((turn, _)) = session.view.task(task) else { return out };
        let (turn_id, thread) = (turn.turn.clone(), turn.thread.clone());
        self.past(session, &thread, &turn_id, Some(reader), &mut out).await;
        if out.is_empty() {
            return out;
        }
        // What the request itself says may answer a call before it.
        let turn = session.state.turns.iter().find(|known| known.turn_id == turn_id);
        let asked = turn.and_then(|turn| history::given(turn, reader)).unwrap_or_default();
        let count = asked.len();
        out.extend(asked);
        let mut out = history::pair(out);
        out.truncate(out.len().saturating_sub(count));
        out
    }

    /// The turns of the thread before this one.
    pub(crate) async fn past(
        &mut self,
        session: &HostedSession,
        thread: &ThreadId,
        before: &TurnId,
        reader: Option<&Reader<'_>>,
        out: &mut Vec<HistoryEntry>,
    ) {
        let recorded = self.recorded_summary();
        let of_thread = self.past_turns(session, thread, before);
        let covered: Vec<&str> =
            recorded["affectedTurns"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        // The newest summary may be that of another thread.
        let is_known = |turn: &&str| of_thread.iter().any(|known| known == turn);
        // Its newest turn may have been taken out of the conversation since.
        let is_current = covered.last().is_some_and(|turn| is_known(turn) || *turn == before.as_str());
        let is_ours = is_current && covered.iter().any(is_known);
        let summary = if is_ours { session.summary_text(&recorded).await } else { None };
        let is_reported = |turn: &TurnId| summary.is_some() && covered.contains(&turn.as_str());
        if let Some(text) = &summary {
            let text = format!("Summary of the conversation so far:\n{text}");
            history::user(&Input::Text(text), out);
        }
        for turn in self.older_turns(session, thread).into_iter().filter(|turn| !is_reported(turn)) {
            if let Some(sealed) = self.sealed_turn(session, &turn).await {
                let root =
                    sealed.tasks.iter().find(|task| Some(&task.task_id) == sealed.turn.task_id.as_ref());
                if is_refused(&sealed.turn, root) {
                    continue;
                }
                history::past_turn(&sealed.turn, root, reader, out);
            }
        }
        for turn in session.ended_turns(thread, before).into_iter().filter(|turn| !is_reported(&turn.turn_id))
        {
            let root = session.state.tasks.iter().find(|task| Some(&task.task_id) == turn.task_id.as_ref());
            if is_refused(turn, root) {
                continue;
            }
            history::past_turn(turn, root, reader, out);
        }
    }
}

impl HostedSession {
    /// What a sub-agent is to do.
    fn objective(&self, task: &TaskId) -> Vec<HistoryEntry> {
        let mut out = Vec::new();
        let known = self.state.tasks.iter().find(|known| known.task_id == *task);
        if let Some(objective) = known.and_then(|known| known.objective.clone()) {
            history::user(&Input::Text(objective), &mut out);
        }
        out
    }

    /// What the task has said and read itself.
    pub(crate) fn own_items(&self, task: &TaskId, provider: &str) -> Vec<HistoryEntry> {
        let mut out = Vec::new();
        let known = self.state.tasks.iter().find(|known| known.task_id == *task);
        let (Some((_, view)), Some(known)) = (self.view.task(task), known) else { return out };
        let making = Making::Present { makers: &view.makers, provider };
        history::items(&known.output, |position| known.retracted.contains(&position), &making, &mut out);
        if let Some(tokens) = view.results_fit {
            history::cut_results(&mut out, tokens);
        }
        out
    }
}

/// True for a turn whose input a guardrail refused before a model read it: no later one reads it either.
pub(crate) fn is_refused(turn: &TurnState, root: Option<&TaskState>) -> bool {
    let code = turn.error.as_ref().and_then(|error| error.code.as_deref());
    code == Some(TRIPPED) && root.is_none_or(|root| root.output.is_empty())
}

/// What a model reads of an answer that was taken back because it did not fit its schema.
fn repair(task: Option<&TaskState>, problem: &str) -> String {
    const LONGEST: usize = 4_000;
    let tail = task.into_iter().flat_map(|task| {
        let tail = task.output.iter().enumerate().rev();
        tail.take_while(|(position, _)| task.retracted.contains(position)).map(|(_, item)| item)
    });
    let messages: Vec<&Item> = tail.filter(|item| matches!(item, Item::Message(_))).collect();
    let blocks = messages.iter().rev().flat_map(|item| match item {
        Item::Message(message) => message.block_list.as_deref().unwrap_or_default(),
        _ => &[],
    });
    let text: String = blocks.filter_map(Part::text).collect();
    let text = &text[..text.floor_char_boundary(LONGEST)];
    format!(
        "Your last answer was not taken: {problem}. It was:\n{text}\n\nAnswer again with JSON that fits the schema, and nothing else."
    )
}
