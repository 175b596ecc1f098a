//! One session: its chunks and what is known of it.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use riverrun_event::{ActionId, CommandId, ProducerId, Sequence, TaskId, TurnId};

use crate::seeded::{self, Bug};
use crate::{
    AT_WORK, ActionRecord, Chunk, CommandChange, CommandState, Fact, HALTED, LogError, NewCommand, OpenWork,
    ProducerState, Resolution, Sealed, SealedTurnRecord, SessionChange, SessionRecord, Snapshot,
    SnapshotFound, StatusUpdate, StoredCommand, TaskFact, TurnFact, TurnRecord, UnixMillis, WorkProgress,
};

pub struct MemorySession {
    pub number: u64,
    pub record: SessionRecord,
    pub chunks: BTreeMap<Sequence, Chunk>,
    pub producers: HashMap<ProducerId, ProducerState>,
    /// With the number that orders them.
    pub actions: BTreeMap<u64, ActionRecord>,
    pub turns: BTreeMap<TurnId, TurnFact>,
    pub tasks: BTreeMap<TaskId, TaskFact>,
    pub commands: BTreeMap<u64, StoredCommand>,
    pub snapshots: BTreeMap<Sequence, Snapshot>,
    pub sealed: BTreeMap<TurnId, SealedTurnRecord>,
}

/// How many snapshots of a session are kept.
const SNAPSHOTS: usize = 4;

impl MemorySession {
    pub fn new(number: u64, record: SessionRecord) -> Self {
        Self {
            number,
            record,
            chunks: BTreeMap::new(),
            producers: HashMap::new(),
            actions: BTreeMap::new(),
            turns: BTreeMap::new(),
            tasks: BTreeMap::new(),
            commands: BTreeMap::new(),
            snapshots: BTreeMap::new(),
            sealed: BTreeMap::new(),
        }
    }

    pub fn read(&self, after: Sequence, max_bytes: usize) -> Result<Vec<Chunk>, LogError> {
        let first_available = self.record.head.first_available;
        if after >= self.record.head.last {
            return Ok(Vec::new());
        }
        if after.next().is_some_and(|next| next < first_available) {
            return Err(LogError::Retired { first_available });
        }
        let begin = self.chunks.range(..=after.next().unwrap_or(Sequence::MAX)).next_back();
        let begin = begin.map_or(Sequence::ZERO, |(first, _)| *first);
        let mut bytes = 0;
        let within = |chunk: &&Chunk| {
            let room = bytes == 0 || bytes + chunk.bytes().len() <= max_bytes;
            bytes += chunk.bytes().len();
            room
        };
        Ok(self.chunks.range(begin..).map(|(_, chunk)| chunk).take_while(within).cloned().collect())
    }

    /// The session's status is derived once, after all facts.
    pub fn apply_facts(&mut self, facts: Vec<Fact>, numbers: &mut u64) {
        let mut newest = None;
        for fact in facts {
            match &fact {
                Fact::Session(SessionChange { status: Some(_), .. }) => newest = None,
                Fact::Status(update) => newest = Some(update.clone()),
                Fact::Halted { task, halted } => newest = self.halt(task, *halted).or(newest),
                _ => {}
            }
            self.apply_fact(fact, numbers);
        }
        if let Some(update) = newest {
            self.record.status = self.open_work().weigh(&update).to_owned();
        }
    }

    fn apply_fact(&mut self, fact: Fact, numbers: &mut u64) {
        match fact {
            Fact::Status(_) | Fact::Halted { .. } => {}
            Fact::Session(change) => self.change(change),
            Fact::ActionOpened(opened) => {
                if self.action(&opened.action).is_none() {
                    *numbers += 1;
                    let record = ActionRecord { key: self.record.key.clone(), opened, resolution: None };
                    self.actions.insert(*numbers, record);
                }
            }
            Fact::ActionResolved { action, resolution, resolved_at } => {
                let record = self.actions.values_mut().find(|record| record.opened.action == action);
                if let Some(record) = record.filter(|record| record.resolution.is_none()) {
                    record.resolution = Some(Resolution { body: resolution, resolved_at });
                }
            }
            Fact::Turn(turn) => {
                let first = self.turns.get(&turn.turn).map_or(turn.first, |known| known.first);
                self.turns.insert(turn.turn.clone(), TurnFact { first, ..turn });
            }
            Fact::Task(task) => {
                self.tasks.entry(task.task.clone()).or_insert(task);
            }
            // The blob notes its sessions itself.
            Fact::Blob(_) => {}
        }
    }

    fn halt(&mut self, task: &TaskId, halted: bool) -> Option<StatusUpdate> {
        let task = self.tasks.get(task).filter(|task| task.parent.is_none())?;
        let turn = self.turns.get_mut(&task.turn).filter(|turn| turn.progress == WorkProgress::Open)?;
        let (from, to) = if halted { (AT_WORK, HALTED) } else { (HALTED, AT_WORK) };
        if turn.status != from {
            return None;
        }
        turn.status = to.to_owned();
        Some(StatusUpdate { status: to.to_owned(), progress: WorkProgress::Open })
    }

    fn open_work(&self) -> OpenWork {
        let is_open =
            |turn: &TurnFact, status: &str| turn.progress == WorkProgress::Open && turn.status == status;
        let mut pending = self.actions.values().filter(|action| action.resolution.is_none());
        let halted = |turn: &TurnId| self.turns.get(turn).is_some_and(|turn| is_open(turn, HALTED));
        OpenWork {
            waits: pending.any(|action| !action.opened.turn.as_ref().is_some_and(halted)),
            works: self.turns.values().any(|turn| is_open(turn, AT_WORK)),
            is_halted: self.turns.values().any(|turn| is_open(turn, HALTED)),
        }
    }

    fn change(&mut self, change: SessionChange) {
        let record = &mut self.record;
        if let Some(status) = change.status {
            record.status = status;
        }
        if let Some(mut tags) = change.tags {
            tags.sort();
            tags.dedup();
            record.tags = tags;
        }
        record.title = change.title.or(record.title.take());
        record.agent = change.agent.or(record.agent.take());
        record.metadata = change.metadata.or(record.metadata.take());
    }

    pub fn action(&self, action: &ActionId) -> Option<ActionRecord> {
        self.actions.values().find(|record| record.opened.action == *action).cloned()
    }

    pub fn turn(&self, turn: &TurnId) -> Option<TurnRecord> {
        self.turns.get(turn).map(|fact| TurnRecord { key: self.record.key.clone(), fact: fact.clone() })
    }

    pub fn turns_before(&self, before: Option<Sequence>, most: usize) -> Vec<TurnRecord> {
        let mut facts: Vec<&TurnFact> = self.turns.values().collect();
        facts.retain(|fact| before.is_none_or(|before| fact.first < before));
        facts.sort_by(|a, b| (b.first, &b.turn).cmp(&(a.first, &a.turn)));
        let record = |fact: &TurnFact| TurnRecord { key: self.record.key.clone(), fact: fact.clone() };
        facts.into_iter().take(most).map(record).collect()
    }

    pub fn command(&self, id: &CommandId) -> Option<&StoredCommand> {
        self.commands.values().find(|command| command.request.id == *id)
    }

    pub fn command_with_key(&self, idempotency_key: &str) -> Option<&StoredCommand> {
        self.commands.values().find(|command| command.request.idempotency_key == idempotency_key)
    }

    pub fn store_command(&mut self, number: u64, request: NewCommand) -> StoredCommand {
        let command = StoredCommand { number, request, state: CommandState::Pending };
        self.commands.insert(number, command.clone());
        command
    }

    /// Whether the changes could be made, one after the other.
    pub fn check_commands(&self, changes: &[CommandChange]) -> Result<(), LogError> {
        let mut enqueued: Vec<&NewCommand> = Vec::new();
        for change in changes {
            match change {
                CommandChange::Enqueue(request) => {
                    let same = |earlier: &&&NewCommand| earlier.idempotency_key == request.idempotency_key;
                    if let Some(known) = enqueued.iter().find(same) {
                        return Err(LogError::CommandExists(known.id.clone()));
                    }
                    self.check_new(request)?;
                    enqueued.push(request);
                }
                CommandChange::Claim(id) | CommandChange::Complete { id, .. } => {
                    if !enqueued.iter().any(|request| request.id == *id) {
                        self.check_not_done(id)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn check_new(&self, request: &NewCommand) -> Result<(), LogError> {
        if let Some(known) = self.command_with_key(&request.idempotency_key) {
            return Err(LogError::CommandExists(known.request.id.clone()));
        }
        self.check_id(&request.id)
    }

    /// An id names one command of its session.
    pub fn check_id(&self, id: &CommandId) -> Result<(), LogError> {
        match self.command(id) {
            Some(_) => Err(LogError::Immutable { kind: "command", id: id.to_string() }),
            None => Ok(()),
        }
    }

    fn check_not_done(&self, id: &CommandId) -> Result<(), LogError> {
        match self.command(id).map(|command| &command.state) {
            None => Err(LogError::NotFound { kind: "command", id: id.to_string() }),
            Some(CommandState::Done { .. }) => {
                Err(LogError::Immutable { kind: "command", id: id.to_string() })
            }
            Some(CommandState::Pending | CommandState::Claimed) => Ok(()),
        }
    }

    pub fn claim(&mut self, id: &CommandId) {
        if let Some(command) = self.commands.values_mut().find(|command| command.request.id == *id) {
            command.state = CommandState::Claimed;
        }
    }

    pub fn complete(&mut self, id: &CommandId, outcome: Bytes) -> Result<(), LogError> {
        self.check_not_done(id)?;
        if let Some(command) = self.commands.values_mut().find(|command| command.request.id == *id) {
            command.state = CommandState::Done { outcome };
        }
        Ok(())
    }

    pub fn put_snapshot(&mut self, snapshot: Snapshot) -> Result<(), LogError> {
        self.snapshots.insert(snapshot.sequence, snapshot);
        while self.snapshots.len() > SNAPSHOTS {
            self.snapshots.pop_first();
        }
        Ok(())
    }

    pub fn snapshot(&self, at_or_before: Sequence) -> SnapshotFound {
        let snapshot =
            self.snapshots.range(..=at_or_before).next_back().map(|(_, snapshot)| snapshot.clone());
        SnapshotFound { snapshot, problems: Vec::new() }
    }

    pub fn put_sealed_turn(&mut self, turn: SealedTurnRecord) -> Result<(), LogError> {
        match self.sealed.get(&turn.turn) {
            Some(stored) if stored.first == turn.first && *stored != turn => {
                Err(LogError::Immutable { kind: "sealed turn", id: turn.turn.to_string() })
            }
            Some(stored) if stored.first >= turn.first => Ok(()),
            Some(_) | None => {
                self.sealed.insert(turn.turn.clone(), turn);
                Ok(())
            }
        }
    }

    pub fn sealed_turns(&self, through: Sequence, most: usize, max_bytes: usize) -> Vec<SealedTurnRecord> {
        let mut found: Vec<_> = self.sealed.values().filter(|turn| turn.last <= through).cloned().collect();
        found.sort_by_key(|turn| std::cmp::Reverse(turn.first));
        found.truncate(most);
        let mut bytes = 0;
        let fit = found.iter().take_while(|turn| {
            let is_first = bytes == 0;
            bytes += turn.bytes.len();
            is_first || bytes <= max_bytes
        });
        let fit = fit.count();
        found.truncate(fit);
        found.reverse();
        found
    }

    /// Memory has nothing to pack; the answer counts what an engine with a disk would have packed.
    pub fn seal(&self, through: Sequence) -> Sealed {
        let mut sealed = Sealed::default();
        for chunk in self.chunks.values().take_while(|chunk| chunk.last() <= through) {
            sealed.chunks += 1;
            sealed.events += u64::from(chunk.count());
            sealed.bytes_before += chunk.bytes().len() as u64;
        }
        sealed.bytes_after = sealed.bytes_before;
        sealed
    }

    /// What its events take.
    pub fn bytes(&self) -> i64 {
        self.chunks.values().map(|chunk| chunk.bytes().len() as i64).sum()
    }

    /// Nothing is open in it.
    pub fn is_finished(&self) -> bool {
        self.turns.values().all(|turn| turn.progress == WorkProgress::Terminal)
            && self.actions.values().all(|action| action.resolution.is_some())
            && self.commands.values().all(|command| matches!(command.state, CommandState::Done { .. }))
    }

    pub fn retire(&mut self, through: Sequence, older_than: Option<UnixMillis>) -> Sequence {
        if !self.is_finished() && !seeded::is_on(Bug::RetireOpenTurns) {
            return self.record.head.first_available;
        }
        while let Some(entry) = self.chunks.first_entry() {
            let chunk = entry.get();
            if chunk.last() > through || older_than.is_some_and(|time| chunk.time() >= time) {
                break;
            }
            self.record.head.first_available = chunk.last().next().unwrap_or(Sequence::MAX);
            entry.remove();
        }
        self.record.head.first_available
    }
}
