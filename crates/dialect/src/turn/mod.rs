//! One turn of a log, for the dialects that show one answer: the output of the turn's root task.
//!
//! Such a dialect is a [`EncodeTurn`]: it is shown the turn as it stands and tells what it has not told. Frames and
//! opening come from the same code, so that they cannot differ. [`TurnProjector`] finds the turn, follows it and says
//! when it is over.

mod cited;
mod ending;
mod facts;
mod line;
mod lookup;
mod progress;
mod service;

use riverrun_event::{Event, ModelCompleted, Payload, Record, Sequence, SessionId, Timestamp, TurnId};
use riverrun_fold::{ApplyOutcome, Change, State, TaskState, TurnState};

use crate::{Frames, OffsetUnit, Projector, ReaderOptions, WholeAnswer};
pub(crate) use cited::{Citation, citations};
pub(crate) use ending::Cause;
pub use ending::{Stop, TurnEnding};
pub use facts::Facts;
pub(crate) use line::{Line, Shown, Step, encrypted, is_assistant, redacted, signature, thought_signature};
pub(crate) use lookup::stop_of;
use lookup::{completed_of, item_of, position_of, root_of};
pub(crate) use progress::Progress;
pub use service::Vendor;

/// The turn as it stands.
pub struct View<'a> {
    pub state: &'a State,
    pub turn: &'a TurnState,
    pub root: Option<&'a TaskState>,
    pub facts: &'a Facts,
    pub was_queued: bool,
    pub ending: Option<TurnEnding>,
    pub unit: OffsetUnit,
    /// The items of the root task that the event changed; None to look at all of them.
    pub touched: Option<&'a [usize]>,
    /// Parts that the event replaced as a whole.
    pub replaced: &'a [(usize, usize)],
    /// How the last model call of the root task ended.
    pub completed: Option<&'a ModelCompleted>,
    /// The event is a word of the service's that has no place here.
    pub vendor: Option<Vendor<'a>>,
    pub at: Sequence,
}

impl View<'_> {
    /// What the client asked for, or who answers.
    pub(crate) fn model(&self) -> String {
        let agent = || self.turn.agent.as_ref().map(|agent| format!("agent/{agent}"));
        self.facts.text("model").or_else(agent).unwrap_or_else(|| "riverrun".to_owned())
    }

    /// Seconds since 1970.
    pub(crate) fn created(&self) -> u64 {
        seconds(self.turn.submitted_at.or(self.turn.started_at).unwrap_or_default())
    }
}

pub(crate) fn seconds(timestamp: Timestamp) -> u64 {
    u64::try_from(timestamp.millis() / 1000).unwrap_or_default()
}

/// The state from which a turn is projected: nothing of the session but the place before the turn's first event.
///
/// What a turn shows does not depend on what came before it, so nothing has to be read but the turn's own events:
///
/// ```text
///   log  [ 1 … 41 | 42 turn.submitted … 97 turn.completed | 98 … ]
///                 ^ before_turn(session, 42)     feed 42, 43, … until `Projector::is_over`
/// ```
pub fn before_turn(session: &SessionId, first: Sequence) -> State {
    let mut state = State::new(session.clone());
    state.sequence = first.previous();
    state
}

/// A dialect that shows one turn.
pub trait EncodeTurn: Send {
    /// Tells what is new. It is called after every event of the turn, and never after the end was told.
    fn encode(&mut self, view: &View<'_>, frames: &mut Frames);

    /// One that has told nothing yet, and will tell the same in the same order.
    fn fresh(&self) -> Self;

    /// Numbers its frames so that the last of `count` frames has the number that `told` gave last.
    fn number_up_to(&mut self, _previous: &Self, _count: usize)
    where
        Self: Sized,
    {
    }

    fn answer(&self, view: &View<'_>) -> WholeAnswer;
}

/// Follows one turn and lets a teller tell it.
#[derive(Debug)]
pub struct TurnProjector<T> {
    state: State,
    options: ReaderOptions,
    turn: Option<TurnId>,
    facts: Facts,
    was_queued: bool,
    completed: Option<Box<ModelCompleted>>,
    is_over: bool,
    encoder: T,
    changes: Vec<Change>,
}

impl<T: EncodeTurn> TurnProjector<T> {
    pub(crate) fn with(state: State, options: ReaderOptions, encoder: T) -> Self {
        let is_wanted = |turn: &&TurnState| match options.turn {
            Some(first) => turn.first_sequence == first,
            None => !turn.status.is_terminal(),
        };
        let known = state.turns.iter().rev().find(is_wanted);
        let facts = known.and_then(|turn| turn.request.as_ref()).map(Facts::of_request).unwrap_or_default();
        let turn = known.map(|turn| turn.turn_id.clone());
        let completed = turn.as_ref().and_then(|turn| completed_of(&state, turn)).map(Box::new);
        let mut projector = Self {
            state,
            options,
            turn,
            facts,
            was_queued: false,
            completed,
            is_over: false,
            encoder,
            changes: Vec::new(),
        };
        // A reader of the tail has been told everything so far, by an opening.
        projector.emit(None, &[], None, &mut Frames::default());
        projector
    }

    fn view<'a>(&'a self, touched: Option<&'a [usize]>, replaced: &'a [(usize, usize)]) -> Option<View<'a>> {
        view(
            &self.state,
            self.turn.as_ref()?,
            &self.facts,
            self.completed.as_deref(),
            self.options.index_unit,
        )
        .map(|view| View { was_queued: self.was_queued, touched, replaced, ..view })
    }

    fn emit(
        &mut self,
        touched: Option<&[usize]>,
        replaced: &[(usize, usize)],
        vendor: Option<Vendor<'_>>,
        frames: &mut Frames,
    ) {
        let Some(turn) = &self.turn else { return };
        let completed = self.completed.as_deref();
        let view = view(&self.state, turn, &self.facts, completed, self.options.index_unit);
        let Some(view) = view.filter(|_| !self.is_over) else { return };
        let view = View { was_queued: self.was_queued, touched, replaced, vendor, ..view };
        self.encoder.encode(&view, frames);
        self.is_over = view.ending.is_some();
    }

    /// Finds the turn, and learns what only single events say.
    fn learn(&mut self, event: &Event) {
        if self.turn.is_none() {
            let begins = match self.options.turn {
                Some(first) => event.sequence == first,
                None => matches!(event.payload, Ok(Payload::TurnSubmitted(_) | Payload::TurnStarted(_))),
            };
            self.turn = event.scope.turn_id.clone().filter(|_| begins);
        }
        if self.turn.is_none() || event.scope.turn_id != self.turn {
            return;
        }
        match &event.payload {
            Ok(Payload::TurnSubmitted(submitted)) => {
                self.facts = submitted.request.as_ref().map(Facts::of_request).unwrap_or_default();
                self.was_queued = submitted.status.as_deref() == Some("queued");
            }
            Ok(Payload::ModelCompleted(completed)) if self.is_of_root(event) => {
                self.completed = Some(completed.clone());
            }
            Ok(_) | Err(_) => {}
        }
    }

    fn is_of_root(&self, event: &Event) -> bool {
        let root = self.view(None, &[]).and_then(|view| view.root.map(|task| task.task_id.clone()));
        event.scope.task_id.is_none() || event.scope.task_id == root
    }
}

impl<T: EncodeTurn> Projector for TurnProjector<T> {
    fn event(&mut self, _: &Record<'_>, event: &Event, frames: &mut Frames) {
        self.changes.clear();
        match self.state.apply(event, &mut self.changes) {
            ApplyOutcome::Applied => {}
            ApplyOutcome::Duplicate | ApplyOutcome::Gap { .. } => return,
        }
        self.learn(event);
        if self.is_over || self.turn.is_none() {
            return;
        }
        let changes = std::mem::take(&mut self.changes);
        let root = self.view(None, &[]).and_then(|view| position_of(view.state, view.root));
        let (mut touched, mut replaced) = (Vec::new(), Vec::new());
        for change in &changes {
            let item = item_of(change).filter(|at| Some(at.task) == root).map(|at| at.item);
            touched.extend(item.filter(|item| !touched.contains(item)));
            if let Change::BlockReplaced { at, .. } = change
                && Some(at.item.task) == root
            {
                replaced.push((at.item.item, at.part));
            }
        }
        self.changes = changes;
        let vendor = Vendor::of(event).filter(|_| event.scope.turn_id == self.turn && self.is_of_root(event));
        self.emit(Some(&touched), &replaced, vendor, frames);
    }

    fn opening(&self, frames: &mut Frames) {
        let Some(view) = self.view(None, &[]) else { return };
        let mut counted = Frames::default();
        self.encoder.fresh().encode(&view, &mut counted);
        let mut encoder = self.encoder.fresh();
        encoder.number_up_to(&self.encoder, counted.len());
        encoder.encode(&view, frames);
    }

    fn state(&self) -> Option<&State> {
        Some(&self.state)
    }

    fn sequence(&self) -> Sequence {
        self.state.sequence
    }

    fn is_over(&self) -> bool {
        self.is_over
    }

    fn answer(&self) -> WholeAnswer {
        self.view(None, &[]).map_or(WholeAnswer::None, |view| self.encoder.answer(&view))
    }
}

fn view<'a>(
    state: &'a State,
    turn: &TurnId,
    facts: &'a Facts,
    completed: Option<&'a ModelCompleted>,
    unit: OffsetUnit,
) -> Option<View<'a>> {
    let stop = completed.and_then(|completed| completed.stop_reason.as_deref());
    let stop = stop.map(Stop::parse).unwrap_or_default();
    let turn = state.turns.iter().rev().find(|known| known.turn_id == *turn)?;
    Some(View {
        state,
        turn,
        root: root_of(state, turn),
        facts,
        was_queued: false,
        ending: TurnEnding::of(turn, stop),
        unit,
        touched: None,
        replaced: &[],
        completed,
        vendor: None,
        at: state.sequence,
    })
}
