//! The front of the runner: commands in, answers out.

use std::sync::Arc;
use std::time::Duration;

use riverrun_event::{Input, TaskId, ThreadId, TurnId};
use riverrun_log::{Clock, Random, SessionKey};

use crate::{
    CancelMode, Cancelled, CommandError, Decide, Decided, Journal, QueueEntry, Registry, Submit, Submitted,
};

#[derive(Debug, Clone)]
pub struct Options {
    /// Turns that may wait in the queue of one thread.
    pub queue: usize,
    /// Turns that may run at the same time; more wait for a place.
    pub running: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { queue: 100, running: 1000 }
    }
}

#[derive(Clone)]
pub struct Runner {
    #[expect(dead_code)]
    journal: Arc<dyn Journal>,
    registry: Arc<Registry>,
    #[expect(dead_code)]
    clock: Arc<dyn Clock>,
    #[expect(dead_code)]
    random: Arc<dyn Random>,
    #[expect(dead_code)]
    options: Options,
}

impl Runner {
    pub fn new(
        journal: Arc<dyn Journal>,
        registry: Arc<Registry>,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
        options: Options,
    ) -> Self {
        Self { journal, registry, clock, random, options }
    }

    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Goes on with everything that a former owner left: open turns, queues, timers. Called once at the start.
    /// Answers how many turns it took over.
    pub async fn recover(&self) -> Result<usize, CommandError> {
        Ok(0)
    }

    /// Resolves when the turn is durably submitted.
    pub async fn submit(&self, key: &SessionKey, submit: Submit) -> Result<Submitted, CommandError> {
        let _ = (key, submit);
        Err(CommandError::Draining)
    }

    /// Resolves when the intent is durable.
    pub async fn cancel(
        &self,
        key: &SessionKey,
        turn: &TurnId,
        mode: CancelMode,
        reason: Option<String>,
    ) -> Result<Cancelled, CommandError> {
        let _ = (key, turn, mode, reason);
        Err(CommandError::Draining)
    }

    /// A new run of the same task; the ended one stays.
    pub async fn retry(&self, key: &SessionKey, turn: &TurnId) -> Result<Submitted, CommandError> {
        let _ = (key, turn);
        Err(CommandError::Draining)
    }

    /// Gives a running turn more input, which its model reads with the next step.
    pub async fn steer(
        &self,
        key: &SessionKey,
        turn: &TurnId,
        input: Input,
    ) -> Result<Submitted, CommandError> {
        let _ = (key, turn, input);
        Err(CommandError::Draining)
    }

    /// The first decision wins; who comes later is told which.
    pub async fn decide(&self, key: &SessionKey, decide: Decide) -> Result<Decided, CommandError> {
        let _ = (key, decide);
        Err(CommandError::Draining)
    }

    pub async fn queue(
        &self,
        key: &SessionKey,
        thread: Option<&ThreadId>,
    ) -> Result<Vec<QueueEntry>, CommandError> {
        let _ = (key, thread);
        Err(CommandError::Draining)
    }

    /// Takes a waiting turn out of the queue; it ends as cancelled.
    pub async fn unqueue(&self, key: &SessionKey, turn: &TurnId) -> Result<Cancelled, CommandError> {
        let _ = (key, turn);
        Err(CommandError::Draining)
    }

    /// Puts a waiting turn in front.
    pub async fn promote(&self, key: &SessionKey, turn: &TurnId) -> Result<Vec<QueueEntry>, CommandError> {
        let _ = (key, turn);
        Err(CommandError::Draining)
    }

    /// Tells a running sub-agent something.
    pub async fn subagent_input(
        &self,
        key: &SessionKey,
        task: &TaskId,
        input: Input,
    ) -> Result<(), CommandError> {
        let _ = (key, task, input);
        Err(CommandError::Draining)
    }

    /// Stops a sub-agent; its parent goes on and reads that it was closed.
    pub async fn close_subagent(
        &self,
        key: &SessionKey,
        task: &TaskId,
        reason: Option<String>,
    ) -> Result<(), CommandError> {
        let _ = (key, task, reason);
        Err(CommandError::Draining)
    }

    /// Takes no new work, writes down where everything stands, and stops. The next owner goes on.
    pub async fn drain(&self, grace: Duration) {
        let _ = grace;
    }
}
