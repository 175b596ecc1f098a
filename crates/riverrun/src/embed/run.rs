//! One run: what it does, what it waits for, how it ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use riverrun_dialect::{Dialect, before_turn};
use riverrun_event::{ErrorInfo, Input, RawJson, Sequence, SessionId, TurnId, Usage};
use riverrun_fold::view::final_output;
use riverrun_fold::{State, Status};
use riverrun_log::SessionKey;
use riverrun_runner::{CancelMode, Cancelled};
use riverrun_session::Hub;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::follow::Follow;
use super::standing::{Standing, pending, standing, turn};
use super::{Error, EventStream, Interruption, ProjectedStream, Riverrun};

/// A handle on one run: a turn of a session. Clones are the same run.
///
/// Dropping it does not cancel the run, unless it was the last handle of its runtime.
#[derive(Clone)]
pub struct RunStream(Arc<Shared>);

/// What the handles and streams of a run share.
pub(super) struct Shared {
    home: Riverrun,
    key: SessionKey,
    turn: TurnId,
    first: Sequence,
    /// The last event that a stream handed out.
    seen: AtomicU64,
    /// An end before this event is not the run's end: it was tried again.
    retried: AtomicU64,
}

impl Shared {
    pub fn home(&self) -> &Riverrun {
        &self.home
    }

    pub fn turn(&self) -> &TurnId {
        &self.turn
    }

    pub fn first(&self) -> Sequence {
        self.first
    }

    /// The state before the run.
    pub fn blank(&self) -> State {
        before_turn(&self.key.session, self.first)
    }

    pub fn note_seen(&self, sequence: Sequence) {
        self.seen.fetch_max(sequence.get(), Ordering::AcqRel);
    }

    pub fn seen(&self) -> Sequence {
        Sequence::new(self.seen.load(Ordering::Acquire)).unwrap_or_default()
    }

    pub fn note_retried(&self, head: Sequence) {
        self.retried.fetch_max(head.get(), Ordering::AcqRel);
    }

    pub fn retried(&self) -> Sequence {
        Sequence::new(self.retried.load(Ordering::Acquire)).unwrap_or_default()
    }

    pub async fn hub(&self) -> Result<Arc<Hub>, Error> {
        if self.home.is_closed() {
            return Err(Error::Closed);
        }
        let absent = || Error::NoRun { session: self.key.session.to_string(), turn: self.turn.to_string() };
        self.home.sessions().hubs().get(&self.key).await?.ok_or_else(absent)
    }
}

/// How a run ended, or what it waits for.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// The run ended well, with this output.
    Completed(Value),
    /// The code is one word, such as `max_turns_exceeded`; the message is for people.
    Failed(ErrorInfo),
    /// The run was cancelled.
    Cancelled,
    /// The run waits for these decisions.
    Paused(Vec<Interruption>),
}

impl RunStream {
    pub(super) fn new(home: Riverrun, key: SessionKey, turn: TurnId, first: Sequence) -> Self {
        let seen = AtomicU64::new(first.previous().get());
        let retried = AtomicU64::new(0);
        Self(Arc::new(Shared { home, key, turn, first, seen, retried }))
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.0
    }

    pub(super) fn key(&self) -> &SessionKey {
        &self.0.key
    }

    /// The session that the run is in.
    pub fn session_id(&self) -> &SessionId {
        &self.0.key.session
    }

    /// The turn that the run works on.
    pub fn turn_id(&self) -> &TurnId {
        &self.0.turn
    }

    /// The runtime that runs it.
    pub fn runtime(&self) -> &Riverrun {
        &self.0.home
    }

    /// The events as they become durable: those of the run, and those of the session as a whole. A stream begins where
    /// the one before it stopped, so that after a pause the next one goes on. It ends with the run, or when nothing
    /// more comes until somebody decides.
    pub fn stream_events(&self) -> EventStream {
        self.events_after(self.0.seen())
    }

    /// The events behind this place, also those that were handed out before. `Sequence::ZERO` is all.
    pub fn events_after(&self, after: Sequence) -> EventStream {
        EventStream::new(Follow::new(self.0.clone(), after))
    }

    /// The same run in the words of another protocol, as JSON. With [`Dialect::AgentsSdk`] these are the stream events
    /// of the OpenAI Agents SDK.
    pub fn stream_events_as(&self, dialect: Dialect) -> ProjectedStream {
        ProjectedStream::new(Follow::new(self.0.clone(), Sequence::ZERO), dialect)
    }

    /// Asks the run to stop, at once or after its present step. Resolves when the wish is durable; keep reading.
    pub async fn cancel(&self, mode: CancelMode) -> Result<Cancelled, Error> {
        let runner = self.0.home.runner();
        Ok(runner.cancel(&self.0.key, &self.0.turn, mode, None).await?)
    }

    /// Says more to the run while it works: its model reads it with the next step. Resolves when it is durable; a run
    /// that has ended takes no more.
    pub async fn steer(&self, input: impl Into<Input>) -> Result<(), Error> {
        let runner = self.0.home.runner();
        runner.steer(&self.0.key, &self.0.turn, input.into(), None).await?;
        Ok(())
    }

    /// Everything that the run's events tell, up to now.
    pub async fn state(&self) -> Result<State, Error> {
        Follow::new(self.0.clone(), Sequence::MAX).now().await
    }

    /// Reads on until the run ended or waits, and says which. What streams hand out is not touched.
    pub async fn outcome(&self) -> Result<Outcome, Error> {
        let mut events = Follow::new(self.0.clone(), Sequence::MAX);
        while events.next().await?.is_some() {}
        Ok(self.outcome_in(events.state()))
    }

    fn outcome_in(&self, state: &State) -> Outcome {
        let Some(known) = turn(state, &self.0.turn).filter(|turn| turn.status.is_terminal()) else {
            return Outcome::Paused(self.interruptions_in(state));
        };
        match (&known.status, &known.error) {
            (Status::Completed, _) => Outcome::Completed(value(final_output(state, known).as_ref())),
            (Status::Cancelled, _) => Outcome::Cancelled,
            (_, Some(error)) => Outcome::Failed(error.clone()),
            (status, None) => {
                Outcome::Failed(ErrorInfo { message: status.as_str().to_owned(), ..ErrorInfo::default() })
            }
        }
    }

    fn interruptions_in(&self, state: &State) -> Vec<Interruption> {
        pending(state, &self.0.turn).map(|action| Interruption::of(state, action)).collect()
    }

    /// What waits for a decision now.
    pub async fn interruptions(&self) -> Result<Vec<Interruption>, Error> {
        Ok(self.interruptions_in(&self.state().await?))
    }

    /// True if nothing more comes, but for a decision: the run ended, or it waits.
    pub async fn is_complete(&self) -> Result<bool, Error> {
        Ok(standing(&self.state().await?, &self.0.turn) != Standing::Running)
    }

    /// What the run said in the end; None before that, and if it did not complete.
    pub async fn final_output(&self) -> Result<Option<Value>, Error> {
        let state = self.state().await?;
        let known = turn(&state, &self.0.turn).filter(|turn| turn.status == Status::Completed);
        Ok(known.map(|turn| value(final_output(&state, turn).as_ref())))
    }

    /// The same as a type of yours, for an agent with an output type.
    pub async fn final_output_as<T: DeserializeOwned>(&self) -> Result<Option<T>, Error> {
        let read = |output| match output {
            Value::String(text) => serde_json::from_str(&text),
            output => serde_json::from_value(output),
        };
        self.final_output().await?.map(read).transpose().map_err(Error::Output)
    }

    /// The agent that acts now: after a hand-off another one than the run began with.
    pub async fn current_agent(&self) -> Result<Option<String>, Error> {
        let state = self.state().await?;
        let of_turn = turn(&state, &self.0.turn).and_then(|turn| turn.agent.clone());
        Ok(state.agent.clone().or(of_turn))
    }

    /// The tokens of the run so far.
    pub async fn usage(&self) -> Result<Usage, Error> {
        let state = self.state().await?;
        Ok(turn(&state, &self.0.turn).map(|turn| turn.usage.clone()).unwrap_or_default())
    }
}

fn value(raw: Option<&RawJson>) -> Value {
    raw.and_then(|raw| raw.to().ok()).unwrap_or_default()
}
