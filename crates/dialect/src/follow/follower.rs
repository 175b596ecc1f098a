//! Follows one turn, or one turn after the other.

use riverrun_event::{Event, Payload, Sequence, TurnId};
use riverrun_fold::{ApplyOutcome, Change, State, TurnState};

use super::emitted::Emitted;
use super::happening::Happening;
use super::phase::{Phase, phase};
use super::read::{is_child, is_input, turn};
use super::sync::Sync;
use crate::ReaderOptions;

#[derive(Debug, Clone)]
pub(crate) struct Follower {
    state: State,
    /// The first event of the only turn to project; None follows the running turn.
    wanted: Option<Sequence>,
    current: Option<TurnId>,
    emitted: Emitted,
    changes: Vec<Change>,
    happenings: Vec<Happening>,
    /// Before it nothing is a pause.
    decided: Option<Sequence>,
    /// Input that came while the turn ran is emitted too.
    with_input: bool,
}

impl Follower {
    /// A follower whose reader already has `state`.
    pub(crate) fn new(state: State, options: ReaderOptions) -> Self {
        let wanted = options.turn;
        let current = match wanted {
            Some(first) => named(&state, first),
            None => running(&state).or_else(|| last_ended(&state)),
        };
        let mut follower = Self {
            state,
            wanted,
            decided: options.decided,
            current,
            emitted: Emitted::default(),
            changes: Vec::new(),
            happenings: Vec::new(),
            with_input: false,
        };
        let (emitted, _) = follower.whole();
        follower.emitted = emitted;
        follower
    }

    /// For a dialect that has words for what people say: to the others all text is the agent's.
    pub(crate) fn with_input(self) -> Self {
        Self { with_input: true, ..self }
    }

    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    /// The projected turn; None before the first.
    pub(crate) fn turn(&self) -> Option<&TurnId> {
        self.current.as_ref()
    }

    /// True between a beginning and a pause or an end.
    pub(crate) fn is_open(&self) -> bool {
        self.emitted.is_open
    }

    /// What the last event brought.
    pub(crate) fn happenings(&self) -> &[Happening] {
        &self.happenings
    }

    /// Takes the next event. The happenings are places in the state after it.
    pub(crate) fn event(&mut self, event: &Event) {
        self.happenings.clear();
        self.changes.clear();
        match self.state.apply(event, &mut self.changes) {
            ApplyOutcome::Applied => {}
            ApplyOutcome::Duplicate | ApplyOutcome::Gap { .. } => return,
        }
        match self.wanted {
            Some(first) if self.current.is_none() => self.current = named(&self.state, first),
            None if !self.emitted.is_open => self.choose_next(),
            Some(_) | None => {}
        }
        self.apply(event);
        if self.wanted.is_none() && !self.emitted.is_open && self.emitted.is_ended {
            self.follow_next();
        }
    }

    /// True if the projected turn ended, or (`or_paused`) waits for a decision.
    pub(crate) fn is_over(&self, or_paused: bool) -> bool {
        self.wanted.is_some()
            && self.emitted.has_begun
            && !self.emitted.is_open
            && (or_paused || self.emitted.is_ended)
    }

    /// Everything that a reader without a state needs.
    pub(crate) fn opening(&self) -> Vec<Happening> {
        self.whole().1
    }

    /// After an end the next turn that runs is followed; it may have been running for a while.
    fn choose_next(&mut self) {
        let is_over = match self.current.as_ref().map(|id| turn(&self.state, id)) {
            None | Some(None) => true,
            Some(Some(turn)) => turn.status.is_terminal(),
        };
        if !is_over {
            return;
        }
        if let Some(next) = running(&self.state).filter(|next| self.current.as_ref() != Some(next)) {
            self.current = Some(next);
            self.emitted = Emitted::default();
        }
    }

    fn follow_next(&mut self) {
        let before = self.current.clone();
        self.choose_next();
        if self.current != before {
            let (emitted, whole) = self.whole();
            self.emitted = emitted;
            self.happenings.extend(whole);
        }
    }

    fn whole(&self) -> (Emitted, Vec<Happening>) {
        let turn = self.current.as_ref().and_then(|id| turn(&self.state, id));
        let (emitted, mut out) = turn.map(|turn| whole(&self.state, turn)).unwrap_or_default();
        self.leave_out(&mut out);
        (emitted, out)
    }

    fn leave_out(&self, out: &mut Vec<Happening>) {
        if !self.with_input {
            out.retain(|happening| happening.item().is_none_or(|at| !is_input(&self.state, at)));
        }
    }

    fn apply(&mut self, event: &Event) {
        let Some(id) = self.current.clone() else { return };
        let Some(turn) = turn(&self.state, &id) else { return };
        let phase = match phase(&self.state, turn) {
            Phase::Paused if self.decided.is_some_and(|last| self.state.sequence < last) => Phase::Running,
            phase => phase,
        };
        if phase == Phase::Absent || (phase == Phase::Ended && self.emitted.is_ended) {
            return;
        }
        let mut out = std::mem::take(&mut self.happenings);
        let is_first = !self.emitted.has_begun;
        let is_appended = matches!(
            event.payload,
            Ok(Payload::ModelDelta(_) | Payload::ReasoningDelta(_) | Payload::ToolArgs(_))
        );
        let mut sync = Sync { state: &self.state, emitted: &mut self.emitted, out: &mut out, is_appended };
        if is_first {
            sync.whole_turn(&id);
        } else {
            self.changes.iter().for_each(|change| sync_change(&mut sync, change, &id));
        }
        self.leave_out(&mut out);
        let has_output = out.iter().any(|happening| happening.is_output());
        if !self.emitted.is_open && (is_first || has_output || phase != Phase::Paused) {
            out.insert(0, Happening::Began { again: !is_first });
            self.emitted.is_open = true;
            self.emitted.has_begun = true;
            self.emitted.is_ended = false;
        }
        if !self.emitted.is_open {
            out.retain(|happening| happening.is_output());
        }
        if self.emitted.is_open && phase == Phase::Ended {
            out.push(Happening::Ended);
            (self.emitted.is_open, self.emitted.is_ended) = (false, true);
        }
        if self.emitted.is_open && phase == Phase::Paused {
            out.push(Happening::Paused);
            self.emitted.is_open = false;
        }
        self.happenings = out;
    }
}

/// All happenings of a turn, and what a reader has after them.
fn whole(state: &State, turn: &TurnState) -> (Emitted, Vec<Happening>) {
    let (mut emitted, mut out) = (Emitted::default(), Vec::new());
    let phase = phase(state, turn);
    if phase == Phase::Absent {
        return (emitted, out);
    }
    out.push(Happening::Began { again: false });
    let mut sync = Sync { state, emitted: &mut emitted, out: &mut out, is_appended: false };
    sync.whole_turn(&turn.turn_id);
    emitted.has_begun = true;
    emitted.is_open = phase == Phase::Running;
    emitted.is_ended = phase == Phase::Ended;
    match phase {
        Phase::Paused => out.push(Happening::Paused),
        Phase::Ended => out.push(Happening::Ended),
        Phase::Absent | Phase::Running => {}
    }
    (emitted, out)
}

/// The happenings of a whole turn.
pub(crate) fn happenings(state: &State, turn: &TurnState) -> Vec<Happening> {
    whole(state, turn).1
}

fn sync_change(sync: &mut Sync<'_>, change: &Change, turn: &TurnId) {
    let is_ours = |task: usize| sync.state.tasks[task].turn_id.as_ref() == Some(turn);
    match change {
        Change::TaskCreated { task } if is_ours(*task) && is_child(sync.state, *task) => {
            sync.task_started(*task);
        }
        Change::TaskStatus { task } if is_ours(*task) && is_child(sync.state, *task) => {
            sync.task_ended(*task);
        }
        Change::ItemAdded(at) if is_ours(at.task) => sync.item_added(*at),
        Change::ItemDone(at) | Change::ItemRetracted(at) | Change::ArgumentsDone(at) if is_ours(at.task) => {
            sync.item(*at)
        }
        Change::Arguments { at, .. } if is_ours(at.task) => sync.item(*at),
        Change::SummaryAdded(at)
        | Change::SummaryDone(at)
        | Change::BlockAdded(at)
        | Change::BlockDone(at)
        | Change::SummaryText { at, .. }
        | Change::ReasoningText { at, .. }
        | Change::BlockText { at, .. }
        | Change::BlockReplaced { at, .. }
            if is_ours(at.item.task) =>
        {
            sync.item(at.item);
        }
        Change::ActionRequired { action } | Change::ActionResolved { action }
            if sync.state.actions[*action].turn_id.as_ref() == Some(turn) =>
        {
            sync.action(*action);
        }
        Change::ToolCall { call } if sync.state.tool_calls[*call].turn_id.as_ref() == Some(turn) => {
            sync.out.push(Happening::Tool(*call));
        }
        Change::Turn { turn: at } if is_with_files(&sync.state.turns[*at], turn) => {
            sync.out.push(Happening::Files);
        }
        Change::Agent => sync.out.push(Happening::Agent),
        Change::Session => sync.out.push(Happening::Session),
        Change::Usage => sync.out.push(Happening::Model),
        // Of another turn, or nothing that a reader of a turn sees.
        Change::TaskCreated { .. }
        | Change::TaskStatus { .. }
        | Change::ItemAdded(_)
        | Change::ItemDone(_)
        | Change::ItemRetracted(_)
        | Change::ArgumentsDone(_)
        | Change::Arguments { .. }
        | Change::SummaryAdded(_)
        | Change::SummaryDone(_)
        | Change::BlockAdded(_)
        | Change::BlockDone(_)
        | Change::SummaryText { .. }
        | Change::ReasoningText { .. }
        | Change::BlockText { .. }
        | Change::BlockReplaced { .. }
        | Change::ActionRequired { .. }
        | Change::ActionResolved { .. }
        | Change::ToolCall { .. }
        | Change::TurnSealed(_)
        | Change::Thread { .. }
        | Change::Turn { .. }
        | Change::Queue
        | Change::Ledger
        | Change::Problem => {}
    }
}

fn is_with_files(of: &TurnState, turn: &TurnId) -> bool {
    of.turn_id == *turn && !of.files.is_empty()
}

/// The turn that runs and was started first.
fn running(state: &State) -> Option<TurnId> {
    let begun =
        state.turns.iter().filter(|turn| !turn.status.is_terminal() && phase(state, turn) != Phase::Absent);
    begun.min_by_key(|turn| turn.started_at).map(|turn| turn.turn_id.clone())
}

fn last_ended(state: &State) -> Option<TurnId> {
    let ended = state.turns.iter().filter(|turn| turn.status.is_terminal());
    ended.max_by_key(|turn| turn.last_sequence).map(|turn| turn.turn_id.clone())
}

fn named(state: &State, first: Sequence) -> Option<TurnId> {
    state.turns.iter().find(|turn| turn.first_sequence == first).map(|turn| turn.turn_id.clone())
}
