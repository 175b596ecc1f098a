//! What of a session is run here, and may therefore be told by the runner alone.
//!
//! A session in which nothing is hosted costs its producers one comparison per batch. Otherwise every id of a hosted turn
//! is known (turns, tasks, runs, calls, actions, processes), so that an event which names one of them is recognised,
//! whatever else it names.

use std::collections::HashSet;
use std::hash::BuildHasher;
use std::sync::{Arc, LazyLock};

use foldhash::quality::RandomState;
use riverrun_event::{
    Author, Decoded, EventFamily, EventScope, EventType, Item, Payload, Record, Sequence, TaskId, TurnId,
};
use riverrun_fold::{AttemptState, State, TaskState, TurnState};
use riverrun_log::seeded::{self, Bug};
use riverrun_log::{Log, LogError, SessionHead, SessionKey};

use super::append::Batch;
use super::hub::Hub;
use crate::chunk_fold::fold_chunk;
use crate::lock::lock;
use crate::{AppendError, READ_BYTES};

/// Ids are kept as hashes: a session may have many, and none is ever shown.
static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::default);

#[derive(Debug, Default)]
pub(super) enum Hosted {
    /// The log was not asked yet.
    #[default]
    Unknown,
    Nothing,
    Some(Box<Ids>),
}

#[derive(Debug, Default)]
pub(super) struct Ids {
    hosted: HashSet<u64>,
    /// Turns and tasks that were looked up and are not hosted.
    foreign: HashSet<u64>,
    /// What the log had before this server opened the session is here too.
    is_loaded: bool,
    /// Turns of the session left its state: those are looked up one by one.
    has_older: bool,
}

impl Hub {
    /// Takes note of what the runner begins, and refuses what only the runner may tell. Called with the session's owner
    /// held, so that nothing comes between.
    pub(super) async fn check_authors(
        &self,
        log: &Arc<dyn Log>,
        head: &SessionHead,
        batch: &Batch,
    ) -> Result<(), AppendError> {
        let mut has_producer = false;
        for event in &batch.events {
            match event.draft.author {
                Author::Runner => self.note(event),
                Author::Copied => {}
                Author::Unknown | Author::Writer | Author::Approver => has_producer = true,
            }
        }
        if !has_producer || seeded::is_on(Bug::BelieveProducers) {
            return Ok(());
        }
        if !self.is_hosted_loaded() {
            let loaded = load(log, &self.key, head).await?;
            self.put_loaded(loaded);
        }
        let has_hosted = match &*lock(&self.hosted) {
            Hosted::Unknown | Hosted::Nothing => return Ok(()),
            Hosted::Some(ids) => !ids.hosted.is_empty(),
        };
        for (index, event) in batch.events.iter().enumerate() {
            let author = event.draft.author;
            if matches!(author, Author::Runner | Author::Copied) || is_decision(event) {
                continue;
            }
            let kind = &event.draft.kind;
            let is_refused = (has_hosted && is_of_session(kind))
                || (is_reserved(kind) && self.is_about_hosted(log, event).await?);
            if is_refused {
                return Err(AppendError::RunnerOnly { index, kind: kind.as_str().to_owned() });
            }
        }
        Ok(())
    }

    fn is_hosted_loaded(&self) -> bool {
        match &*lock(&self.hosted) {
            Hosted::Unknown => false,
            Hosted::Nothing => true,
            Hosted::Some(ids) => ids.is_loaded,
        }
    }

    fn put_loaded(&self, loaded: Option<Ids>) {
        let mut hosted = lock(&self.hosted);
        *hosted = match (std::mem::take(&mut *hosted), loaded) {
            (Hosted::Some(mut ids), loaded) => {
                let loaded = loaded.unwrap_or_default();
                ids.hosted.extend(loaded.hosted);
                (ids.is_loaded, ids.has_older) = (true, loaded.has_older);
                Hosted::Some(ids)
            }
            (Hosted::Unknown | Hosted::Nothing, Some(ids)) => Hosted::Some(Box::new(ids)),
            (Hosted::Unknown | Hosted::Nothing, None) => Hosted::Nothing,
        };
    }

    /// The ids that an event of the runner brings into use. Its other events name no new ones.
    fn note(&self, event: &Decoded) {
        use EventType::*;
        let is_first = matches!(
            event.draft.kind,
            TurnSubmitted
                | TurnStarted
                | TaskCreated
                | TaskAttemptStarted
                | ActionRequired
                | ItemStarted
                | ProcessStarted
                | SubagentSpawned
        );
        if !is_first {
            return;
        }
        let mut hosted = lock(&self.hosted);
        if matches!(*hosted, Hosted::Unknown) {
            *hosted = Hosted::Some(Box::default());
        } else if matches!(*hosted, Hosted::Nothing) {
            *hosted = Hosted::Some(Box::new(Ids { is_loaded: true, ..Ids::default() }));
        }
        let Hosted::Some(ids) = &mut *hosted else { return };
        names(&event.scope).for_each(|id| ids.add(id));
        event.scope.tool_call_id.iter().for_each(|id| ids.add(id.as_str()));
        event.subject.iter().for_each(|id| ids.add(id));
        if let Payload::ItemStarted(started) = &event.payload
            && let Item::ToolCall(call) = &started.item
        {
            ids.add(&call.call_id);
        }
    }

    async fn is_about_hosted(&self, log: &Arc<dyn Log>, event: &Decoded) -> Result<bool, LogError> {
        let has_older = match &*lock(&self.hosted) {
            Hosted::Unknown | Hosted::Nothing => return Ok(false),
            Hosted::Some(ids) if ids.is_named_by(event) => return Ok(true),
            Hosted::Some(ids) => ids.has_older,
        };
        if !has_older {
            return Ok(false);
        }
        // The event may name what left the state long ago.
        if let Some(turn) = &event.scope.turn_id
            && self.is_older_hosted(log, turn.as_str(), turn).await?
        {
            return Ok(true);
        }
        let tasks = [event.scope.task_id.as_ref(), event.scope.parent_task_id.as_ref()];
        for task in tasks.into_iter().flatten() {
            if self.is_older_task(log, task).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn is_older_task(&self, log: &Arc<dyn Log>, task: &TaskId) -> Result<bool, LogError> {
        if let Some(known) = self.known(task.as_str()) {
            return Ok(known);
        }
        let found = log.find_task(&self.key.tenant, task).await?;
        let Some(record) = found.into_iter().find(|record| record.key == self.key) else {
            self.remember(task.as_str(), false);
            return Ok(false);
        };
        self.is_older_hosted(log, task.as_str(), &record.fact.turn).await
    }

    /// Looks the turn up and remembers the answer for the id.
    async fn is_older_hosted(&self, log: &Arc<dyn Log>, id: &str, turn: &TurnId) -> Result<bool, LogError> {
        if let Some(known) = self.known(id) {
            return Ok(known);
        }
        let author = match log.turn(&self.key, turn).await? {
            Some(record) => author_at(log, &self.key, record.fact.first).await?,
            None => None,
        };
        let is_hosted = author.is_some_and(Author::is_runner);
        self.remember(id, is_hosted);
        Ok(is_hosted)
    }

    fn known(&self, id: &str) -> Option<bool> {
        let id = HASHER.hash_one(id);
        match &*lock(&self.hosted) {
            Hosted::Some(ids) if ids.hosted.contains(&id) => Some(true),
            Hosted::Some(ids) if ids.foreign.contains(&id) => Some(false),
            Hosted::Some(_) | Hosted::Unknown | Hosted::Nothing => None,
        }
    }

    fn remember(&self, id: &str, is_hosted: bool) {
        if let Hosted::Some(ids) = &mut *lock(&self.hosted) {
            let set = if is_hosted { &mut ids.hosted } else { &mut ids.foreign };
            set.insert(HASHER.hash_one(id));
        }
    }
}

impl Ids {
    fn add(&mut self, id: &str) {
        self.hosted.insert(HASHER.hash_one(id));
    }

    fn has(&self, id: &str) -> bool {
        self.hosted.contains(&HASHER.hash_one(id))
    }

    /// A call is known by its id alone only where no task is named: providers number calls anew in every conversation.
    fn is_named_by(&self, event: &Decoded) -> bool {
        let scope = &event.scope;
        let call = scope.tool_call_id.as_ref().filter(|_| scope.task_id.is_none());
        let parent = scope.parent_tool_call_id.as_ref().filter(|_| scope.parent_task_id.is_none());
        let calls = [call, parent].into_iter().flatten().map(|call| call.as_str());
        let is_process = event.draft.kind.family() == EventFamily::Process;
        let process = event.subject.as_deref().filter(|_| is_process);
        names(scope).chain(calls).chain(process).any(|id| self.has(id))
    }

    fn add_turn(&mut self, state: &State, turn: &TurnState) {
        self.add(turn.turn_id.as_str());
        turn.task_id.iter().for_each(|id| self.add(id.as_str()));
        turn.run_id.iter().for_each(|id| self.add(id.as_str()));
        let of_turn = |known: &Option<TurnId>| known.as_ref() == Some(&turn.turn_id);
        for task in state.tasks.iter().filter(|task| of_turn(&task.turn_id)) {
            self.add(task.task_id.as_str());
            let runs = task.attempts.iter().filter_map(|attempt| attempt.run_id.as_ref());
            runs.chain(&task.run_id).for_each(|id| self.add(id.as_str()));
            for item in &task.output {
                if let Item::ToolCall(call) = item {
                    self.add(&call.call_id);
                }
            }
        }
        for call in state.tool_calls.iter().filter(|call| of_turn(&call.turn_id)) {
            self.add(call.tool_call_id.as_str());
        }
        for action in state.actions.iter().filter(|action| of_turn(&action.turn_id)) {
            self.add(action.action_id.as_str());
        }
        for process in state.processes.entries.iter().filter(|process| of_turn(&process.turn_id)) {
            self.add(&process.process_id);
        }
    }
}

/// The ids of the envelope that name something at work, but for those of calls.
fn names(scope: &EventScope) -> impl Iterator<Item = &str> {
    let ids = [
        scope.turn_id.as_ref().map(|id| id.as_str()),
        scope.task_id.as_ref().map(|id| id.as_str()),
        scope.run_id.as_ref().map(|id| id.as_str()),
        scope.action_id.as_ref().map(|id| id.as_str()),
        scope.parent_task_id.as_ref().map(|id| id.as_str()),
        scope.subagent_id.as_deref(),
    ];
    ids.into_iter().flatten()
}

/// A decision of a key that may decide counts in a hosted turn too.
fn is_decision(event: &Decoded) -> bool {
    let is_it = matches!(event.draft.kind, EventType::ActionResolved | EventType::PolicyChanged);
    is_it && event.draft.author.may_decide()
}

/// True for types that are about the session as a whole and that the runner goes by.
fn is_of_session(kind: &EventType) -> bool {
    use EventType::*;
    matches!(
        kind,
        QueueChanged
            | ContextResolved
            | ContextCompactionStarted
            | ContextCompactionCompleted
            | ContextCompactionFailed
            | HistoryRollbackStarted
            | HistoryRollbackCompleted
    )
}

/// True for types by which the runner tells what it does. Producers may add others to a hosted turn: nothing acts on
/// them.
fn is_reserved(kind: &EventType) -> bool {
    match kind.family() {
        EventFamily::Turn
        | EventFamily::Task
        | EventFamily::Run
        | EventFamily::Item
        | EventFamily::Model
        | EventFamily::Reasoning
        | EventFamily::Tool
        | EventFamily::Action
        | EventFamily::Queue
        | EventFamily::Agent
        | EventFamily::Handoff
        | EventFamily::Input
        | EventFamily::File
        | EventFamily::Context
        | EventFamily::Subagent
        | EventFamily::Limit
        | EventFamily::Snapshot
        | EventFamily::Runtime
        | EventFamily::Permission
        | EventFamily::Hook
        | EventFamily::Policy
        | EventFamily::Process
        | EventFamily::Routing
        | EventFamily::Cost
        | EventFamily::RateLimit
        | EventFamily::Quota => true,
        EventFamily::Session
        | EventFamily::Thread
        | EventFamily::Artifact
        | EventFamily::Evidence
        | EventFamily::Sandbox
        | EventFamily::Channel
        | EventFamily::Job
        | EventFamily::Output
        | EventFamily::History
        | EventFamily::Benchmark
        | EventFamily::Other => false,
    }
}

/// What is hosted in a session, as its log tells. None if nothing is.
async fn load(log: &Arc<dyn Log>, key: &SessionKey, head: &SessionHead) -> Result<Option<Ids>, LogError> {
    if head.last == Sequence::ZERO {
        return Ok(None);
    }
    let newest = log.turns(key, None, MOST_TURNS).await?;
    if newest.is_empty() {
        return Ok(None);
    }
    let state = state_at(log, key, head.last).await?;
    let mut ids = Ids { is_loaded: true, has_older: newest.len() > state.turns.len(), ..Ids::default() };
    for turn in &state.turns {
        if is_hosted(log, key, &state, turn).await? {
            ids.add_turn(&state, turn);
        }
    }
    let is_nothing = ids.hosted.is_empty() && !ids.has_older;
    Ok(Some(ids).filter(|_| !is_nothing))
}

/// More than a state holds.
const MOST_TURNS: usize = 1000;

/// By its author; for a turn that was copied or is of an older version, by who its events say works on it.
async fn is_hosted(
    log: &Arc<dyn Log>,
    key: &SessionKey,
    state: &State,
    turn: &TurnState,
) -> Result<bool, LogError> {
    let author = author_at(log, key, turn.first_sequence).await?;
    Ok(match author {
        Some(Author::Runner) => true,
        Some(Author::Writer | Author::Approver) => false,
        Some(Author::Copied | Author::Unknown) | None => {
            let mut tasks = state.tasks.iter().filter(|task| task.turn_id.as_ref() == Some(&turn.turn_id));
            tasks.any(|task: &TaskState| task.attempts.iter().any(AttemptState::is_hosted))
        }
    })
}

async fn author_at(log: &Arc<dyn Log>, key: &SessionKey, at: Sequence) -> Result<Option<Author>, LogError> {
    let chunks = match log.read(key, at.previous(), 1).await {
        Ok(chunks) => chunks,
        Err(LogError::Retired { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut records = chunks.iter().flat_map(|chunk| chunk.records_after(at.previous()));
    let found = records.find(|(sequence, _)| *sequence == at);
    Ok(found.and_then(|(_, bytes)| Record::read(bytes).ok()).map(|record| record.author))
}

/// The state after event `at`.
async fn state_at(log: &Arc<dyn Log>, key: &SessionKey, at: Sequence) -> Result<State, LogError> {
    let snapshot = log.snapshot(key, at).await?.snapshot;
    let text = snapshot.as_ref().and_then(|snapshot| std::str::from_utf8(&snapshot.bytes).ok());
    let state = text.and_then(|text| State::from_json(text).ok());
    let mut state = state.unwrap_or_else(|| State::new(key.session.clone()));
    let mut changes = Vec::new();
    while state.sequence < at {
        let chunks = match log.read(key, state.sequence, READ_BYTES).await {
            Ok(chunks) => chunks,
            Err(LogError::Retired { first_available }) if state.sequence == Sequence::ZERO => {
                state.sequence = first_available.previous();
                continue;
            }
            Err(error) => return Err(error),
        };
        if chunks.is_empty() {
            break;
        }
        for chunk in &chunks {
            fold_chunk(&mut state, chunk, at, &mut changes);
            changes.clear();
        }
        tokio::task::yield_now().await;
    }
    Ok(state)
}
