//! The front of the runner: commands in, answers out.

mod idempotent;

use std::sync::{Arc, Weak};
use std::time::Duration;

use riverrun_event::{Input, Item, ProcessId, TaskId, ThreadId, TurnId};
use riverrun_fold::Status;
use riverrun_log::{Clock, Random, SessionKey, Shard, WorkScope};
use riverrun_session::{Sessions, Worker};
use riverrun_tool::Terminate;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

pub use idempotent::IdempotentRunner;

use crate::actor::{Stop, load_rules};
use crate::actors::{send, wake_due_sessions};
use crate::mailbox::{Reply, SessionCommand};
use crate::session_journal::SessionJournal;
use crate::shared::RunnerShared;
use crate::{
    CancelMode, Cancelled, CommandError, Conversation, CopiedTurns, CopyReason, Decide, Decided, Journal,
    Options, Pause, Paused, ProcessOver, ProcessWrite, QueueEntry, Registry, RequestKey, Rule, Spawn, Submit,
    Submitted,
};

/// Clones share everything. When the last one is dropped, all work stops where it is; the log has it.
#[derive(Clone)]
pub struct Runner {
    shared: Arc<RunnerShared>,
    _stop: Arc<StopOnDrop>,
}

struct StopOnDrop(Arc<RunnerShared>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.drain();
    }
}

fn wake(shared: &Arc<RunnerShared>, key: &SessionKey) {
    if !shared.is_draining() {
        send(shared, key, SessionCommand::Wake);
    }
}

/// The engine must not own the runner that works in its sessions.
struct WeakRunner(Weak<RunnerShared>);

impl Worker for WeakRunner {
    fn end(&self, session: &SessionKey) {
        if let Some(shared) = self.0.upgrade() {
            shared.mailboxes.end(session);
        }
    }

    fn wake(&self, session: &SessionKey) {
        if let Some(shared) = self.0.upgrade() {
            wake(&shared, session);
        }
    }
}

impl Runner {
    /// Must be called inside a tokio runtime.
    pub fn new(
        journal: Arc<dyn Journal>,
        registry: Arc<Registry>,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
        options: Options,
    ) -> Self {
        let shared = Arc::new(RunnerShared::new(journal, registry, clock, random, options));
        tokio::spawn(wake_due_sessions(shared.clone()));
        Self { _stop: Arc::new(StopOnDrop(shared.clone())), shared }
    }

    /// A runner over the engine. What it runs in a session ends when that session is deleted.
    pub fn over(
        sessions: &Sessions,
        registry: Arc<Registry>,
        random: Arc<dyn Random>,
        options: Options,
    ) -> Self {
        let journal = Arc::new(SessionJournal::new(sessions.clone()));
        let runner = Self::new(journal, registry, sessions.clock().clone(), random, options);
        sessions.set_worker(Arc::new(WeakRunner(Arc::downgrade(&runner.shared))));
        runner
    }

    pub fn registry(&self) -> Arc<Registry> {
        self.shared.registry()
    }

    /// Takes another registry. A session takes it up when it has no open turn.
    pub fn set_registry(&self, registry: Arc<Registry>) {
        self.shared.set_registry(registry);
    }

    pub(crate) async fn ask<T>(
        &self,
        key: &SessionKey,
        command: impl FnOnce(Reply<T>) -> SessionCommand,
    ) -> Result<T, CommandError> {
        if self.shared.stop.is_cancelled() {
            return Err(CommandError::Draining);
        }
        let (reply, answer) = oneshot::channel();
        let ended = send(&self.shared, key, command(reply));
        answer.await.unwrap_or_else(|_| Err(self.unanswered(&ended)))
    }

    /// Why a command that its actor had begun has no answer.
    fn unanswered(&self, ended: &CancellationToken) -> CommandError {
        if ended.is_cancelled() {
            CommandError::NoSession
        } else if self.shared.stop.is_cancelled() {
            CommandError::Draining
        } else {
            CommandError::Unavailable(
                "the session's runner stopped while it worked on this; whether it was done is unknown: \
                 read the session before you try again"
                    .to_owned(),
            )
        }
    }

    /// Goes on with everything that a former owner left: open turns, queues, timers. Called once at the start.
    /// Answers how many turns it took over.
    pub async fn recover(&self) -> Result<usize, CommandError> {
        let log = self.shared.journal.log();
        let mut open = Vec::new();
        for shard in Shard::all(log.shard_count()) {
            let of_shard = log.open_turns(WorkScope::Shard(shard)).await;
            open.extend(of_shard.map_err(|error| CommandError::Unavailable(error.to_string()))?);
        }
        let mut sessions: Vec<&SessionKey> = open.iter().map(|turn| &turn.key).collect();
        sessions.dedup();
        for key in sessions {
            self.wake(key);
        }
        Ok(open.len())
    }

    /// Lets the session look whether something is to be done: after somebody else wrote into its log.
    pub fn wake(&self, key: &SessionKey) {
        wake(&self.shared, key);
    }

    /// Ends all work of a session that is deleted, where it stands: nothing more of it is written. Whoever waits for an
    /// answer is told that there is no such session.
    pub fn end(&self, key: &SessionKey) {
        self.shared.mailboxes.end(key);
    }

    /// Follows the events of a copy, to end what is open in it.
    pub fn copied_turns(&self, reason: CopyReason) -> CopiedTurns {
        CopiedTurns::new(self.shared.clone(), reason)
    }

    /// The decisions that hold in a session until they are revoked, the oldest first.
    pub async fn rules(&self, key: &SessionKey) -> Result<Vec<Rule>, CommandError> {
        let incarnation = self.shared.journal.open(key).await.map_err(Stop::of)?;
        let state = self.shared.journal.state(&incarnation).await.map_err(Stop::of)?;
        Ok(load_rules(&self.shared, key, &state).await?.into_list())
    }

    /// Sessions that are held in memory now: those at work, and those that were a moment ago.
    pub fn resident(&self) -> usize {
        self.shared.mailboxes.len()
    }

    /// Turns of a tenant that are at work now.
    pub fn turns_at_work(&self, tenant: &riverrun_event::TenantId) -> u64 {
        self.shared.turns.of(tenant)
    }

    /// Resolves when the turn is durably submitted.
    pub async fn submit(&self, key: &SessionKey, submit: Submit) -> Result<Submitted, CommandError> {
        self.ask(key, |reply| SessionCommand::Submit(Box::new(submit), reply)).await
    }

    /// Commands that their sender may send again: one with the same key is carried out once, over any crash.
    pub fn idempotent(&self, request: Option<RequestKey>) -> IdempotentRunner<'_> {
        IdempotentRunner { runner: self, request }
    }

    /// Resolves when the intent is durable.
    pub async fn cancel(
        &self,
        key: &SessionKey,
        turn: &TurnId,
        mode: CancelMode,
        reason: Option<String>,
    ) -> Result<Cancelled, CommandError> {
        self.idempotent(None).cancel(key, turn, mode, reason).await
    }

    /// Halts a task of a running turn at its next boundary, or lets it go on. Resolves when the intent is durable.
    pub async fn pause(
        &self,
        key: &SessionKey,
        turn: &TurnId,
        task: &TaskId,
        pause: Pause,
        request: Option<RequestKey>,
    ) -> Result<Paused, CommandError> {
        let (turn, task) = (turn.clone(), task.clone());
        self.ask(key, |reply| SessionCommand::Pause { turn, task, pause, request, reply }).await
    }

    /// A new run of the same task; the ended one stays.
    pub async fn retry(
        &self,
        key: &SessionKey,
        turn: &TurnId,
        request: Option<RequestKey>,
    ) -> Result<Submitted, CommandError> {
        self.ask(key, |reply| SessionCommand::Retry(turn.clone(), request, reply)).await
    }

    /// Gives a running turn more input, which its model reads with the next step.
    pub async fn steer(
        &self,
        key: &SessionKey,
        turn: &TurnId,
        input: Input,
        request: Option<RequestKey>,
    ) -> Result<Submitted, CommandError> {
        self.ask(key, |reply| SessionCommand::Steer(turn.clone(), input, request, reply)).await
    }

    /// The first decision wins; who comes later is told which.
    pub async fn decide(&self, key: &SessionKey, decide: Decide) -> Result<Decided, CommandError> {
        self.idempotent(None).decide(key, decide).await
    }

    pub async fn queue(
        &self,
        key: &SessionKey,
        thread: Option<&ThreadId>,
    ) -> Result<Vec<QueueEntry>, CommandError> {
        self.ask(key, |reply| SessionCommand::Queue(thread.cloned(), reply)).await
    }

    /// Takes a waiting turn out of the queue; it ends as cancelled.
    pub async fn unqueue(&self, key: &SessionKey, turn: &TurnId) -> Result<Cancelled, CommandError> {
        self.idempotent(None).unqueue(key, turn).await
    }

    /// Puts a waiting turn in front.
    pub async fn promote(&self, key: &SessionKey, turn: &TurnId) -> Result<Vec<QueueEntry>, CommandError> {
        self.idempotent(None).promote(key, turn).await
    }

    /// Starts a sub-agent under a task that has not ended. The task's model reads its message before it goes on.
    pub async fn spawn_subagent(
        &self,
        key: &SessionKey,
        spawn: Spawn,
        request: Option<RequestKey>,
    ) -> Result<Submitted, CommandError> {
        self.ask(key, |reply| SessionCommand::SpawnSubagent(Box::new(spawn), request, reply)).await
    }

    /// Tells a running sub-agent something.
    pub async fn subagent_input(
        &self,
        key: &SessionKey,
        task: &TaskId,
        input: Input,
        request: Option<RequestKey>,
    ) -> Result<(), CommandError> {
        self.ask(key, |reply| SessionCommand::SteerSubagent(task.clone(), input, request, reply)).await
    }

    /// Stops a sub-agent; its parent goes on and reads that it was closed. Answers how it ended if it had.
    pub async fn close_subagent(
        &self,
        key: &SessionKey,
        task: &TaskId,
        reason: Option<String>,
    ) -> Result<Option<Status>, CommandError> {
        self.idempotent(None).close_subagent(key, task, reason).await
    }

    /// Gives a running process something to read. Resolves when that is durable.
    pub async fn write_process(
        &self,
        key: &SessionKey,
        write: ProcessWrite,
        request: Option<RequestKey>,
    ) -> Result<(), CommandError> {
        self.ask(key, |reply| SessionCommand::WriteProcess(Box::new(write), request, reply)).await
    }

    /// Ends a running process. Resolves when its end is durable.
    pub async fn terminate_process(
        &self,
        key: &SessionKey,
        process: &ProcessId,
        terminate: Terminate,
        request: Option<RequestKey>,
    ) -> Result<ProcessOver, CommandError> {
        self.ask(key, |reply| SessionCommand::TerminateProcess(process.clone(), terminate, request, reply))
            .await
    }

    /// Reads or changes the conversation that the next turn of the main thread reads. Refused while a turn is at work
    /// there, unless it only reads.
    pub async fn conversation(
        &self,
        key: &SessionKey,
        asked: Conversation,
    ) -> Result<Vec<Item>, CommandError> {
        self.ask(key, |reply| SessionCommand::Conversation(asked, reply)).await
    }

    /// Begins nothing new, and waits at most this long until every model and tool call that is open has ended and is
    /// written down. Turns then stand between two steps, where the next owner goes on. What only has to be recorded,
    /// such as a decision or a cancel, is still taken; new work is refused. True if nothing is open any more.
    pub async fn hand_over(&self, time: Duration) -> bool {
        self.shared.hand_over.cancel();
        self.all_gone(time).await
    }

    /// Takes nothing and stops what runs, with nothing terminal written. The next owner goes on.
    pub async fn drain(&self, grace: Duration) {
        self.shared.drain();
        self.all_gone(grace).await;
    }

    async fn all_gone(&self, time: Duration) -> bool {
        const LOOK: Duration = Duration::from_millis(10);
        let all_gone = async {
            while self.shared.mailboxes.len() > 0 {
                tokio::time::sleep(LOOK).await;
            }
        };
        tokio::time::timeout(time, all_gone).await.is_ok()
    }
}
