//! The commands of one session, one after the other.

pub(super) mod idempotency;

use riverrun_event::{Input, Item, ProcessId, TaskId, ThreadId, TurnId};
use riverrun_fold::Status;
use riverrun_tool::Terminate;
use tokio::sync::oneshot;

use crate::actor::{Actor, Stop};
use crate::{
    CancelMode, Cancelled, CommandError, Conversation, Decide, Decided, JournalError, Pause, Paused,
    ProcessOver, ProcessWrite, QueueEntry, RequestKey, Revoke, Revoked, Spawn, Submit, Submitted,
};

pub(crate) type Reply<T> = oneshot::Sender<Result<T, CommandError>>;

pub(crate) enum Command {
    /// Look whether something is due.
    Wake,
    Submit(Box<Submit>, Reply<Submitted>),
    Cancel {
        turn: TurnId,
        mode: CancelMode,
        reason: Option<String>,
        request: Option<RequestKey>,
        reply: Reply<Cancelled>,
    },
    Pause {
        turn: TurnId,
        task: TaskId,
        pause: Pause,
        request: Option<RequestKey>,
        reply: Reply<Paused>,
    },
    Retry(TurnId, Option<RequestKey>, Reply<Submitted>),
    Steer(TurnId, Input, Option<RequestKey>, Reply<Submitted>),
    Decide(Box<Decide>, Option<RequestKey>, Reply<Decided>),
    Revoke(Revoke, Option<RequestKey>, Reply<Revoked>),
    Queue(Option<ThreadId>, Reply<Vec<QueueEntry>>),
    Unqueue(TurnId, Option<RequestKey>, Reply<Cancelled>),
    Promote(TurnId, Option<RequestKey>, Reply<Vec<QueueEntry>>),
    SpawnSubagent(Box<Spawn>, Option<RequestKey>, Reply<Submitted>),
    TellSubagent(TaskId, Input, Option<RequestKey>, Reply<()>),
    CloseSubagent(TaskId, Option<String>, Option<RequestKey>, Reply<Option<Status>>),
    WriteProcess(Box<ProcessWrite>, Option<RequestKey>, Reply<()>),
    TerminateProcess(ProcessId, Terminate, Option<RequestKey>, Reply<ProcessOver>),
    Conversation(Conversation, Reply<Vec<Item>>),
}

/// Why a command had no effect: the caller is told, or the actor must stop as well.
pub(crate) enum Refusal {
    Told(CommandError),
    Stopped(Stop),
}

impl From<CommandError> for Refusal {
    fn from(error: CommandError) -> Self {
        Refusal::Told(error)
    }
}

impl From<JournalError> for Refusal {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::Full => Refusal::Told(CommandError::Full),
            JournalError::Quota { quota, limit, used } => {
                Refusal::Told(CommandError::Quota { quota, limit, used })
            }
            error => Refusal::Stopped(Stop::of(error)),
        }
    }
}

impl From<riverrun_log::Error> for Refusal {
    fn from(error: riverrun_log::Error) -> Self {
        Refusal::Told(CommandError::Unavailable(error.to_string()))
    }
}

impl Command {
    pub(crate) fn refuse(self, error: CommandError) {
        match self {
            Command::Wake => {}
            Command::Submit(_, reply)
            | Command::Retry(_, _, reply)
            | Command::Steer(_, _, _, reply)
            | Command::SpawnSubagent(_, _, reply) => {
                let _ = reply.send(Err(error));
            }
            Command::Cancel { reply, .. } | Command::Unqueue(_, _, reply) => {
                let _ = reply.send(Err(error));
            }
            Command::Pause { reply, .. } => {
                let _ = reply.send(Err(error));
            }
            Command::Decide(_, _, reply) => {
                let _ = reply.send(Err(error));
            }
            Command::Revoke(_, _, reply) => {
                let _ = reply.send(Err(error));
            }
            Command::Queue(_, reply) | Command::Promote(_, _, reply) => {
                let _ = reply.send(Err(error));
            }
            Command::TellSubagent(_, _, _, reply) | Command::WriteProcess(_, _, reply) => {
                let _ = reply.send(Err(error));
            }
            Command::CloseSubagent(_, _, _, reply) => {
                let _ = reply.send(Err(error));
            }
            Command::Conversation(_, reply) => {
                let _ = reply.send(Err(error));
            }
            Command::TerminateProcess(_, _, _, reply) => {
                let _ = reply.send(Err(error));
            }
        }
    }
}

impl Actor {
    pub(crate) async fn command(&mut self, command: Command) -> Result<(), Stop> {
        // Others may have written since the last one, and a command may be about exactly that.
        self.catch_up().await.map_err(Stop::of)?;
        match command {
            Command::Wake => Ok(()),
            Command::Submit(submit, reply) => answer(reply, self.submit(*submit).await),
            Command::Cancel { turn, mode, reason, request, reply } => {
                answer(reply, self.cancel(&turn, mode, reason, request).await)
            }
            Command::Pause { turn, task, pause, request, reply } => {
                answer(reply, self.halt(&turn, &task, pause, request).await)
            }
            Command::Retry(turn, request, reply) => answer(reply, self.retry(&turn, request).await),
            Command::Steer(turn, input, request, reply) => {
                answer(reply, self.steer(&turn, input, request).await)
            }
            Command::Decide(decide, request, reply) => answer(reply, self.decide(*decide, request).await),
            Command::Revoke(revoke, request, reply) => answer(reply, self.revoke(revoke, request).await),
            Command::Queue(thread, reply) => answer(reply, Ok(self.queue(thread.as_ref()))),
            Command::Unqueue(turn, request, reply) => answer(reply, self.unqueue(&turn, request).await),
            Command::Promote(turn, request, reply) => answer(reply, self.promote(&turn, request).await),
            Command::SpawnSubagent(spawn, request, reply) => {
                answer(reply, self.spawn_asked(*spawn, request).await)
            }
            Command::TellSubagent(task, input, request, reply) => {
                answer(reply, self.tell_subagent(&task, input, request).await)
            }
            Command::CloseSubagent(task, reason, request, reply) => {
                answer(reply, self.close_subagent(&task, reason, request).await)
            }
            Command::WriteProcess(write, request, reply) => {
                answer(reply, self.write_process(*write, request).await)
            }
            Command::Conversation(asked, reply) => answer(reply, self.conversation(asked).await),
            Command::TerminateProcess(process, terminate, request, reply) => {
                match self.terminate_process(process.as_str(), terminate, request, reply).await {
                    Ok(()) => Ok(()),
                    Err((refusal, reply)) => answer(reply, Err(refusal)),
                }
            }
        }
    }
}

fn answer<T>(reply: Reply<T>, result: Result<T, Refusal>) -> Result<(), Stop> {
    // Who asked may have gone; what they asked for is done all the same.
    match result {
        Ok(value) => {
            let _ = reply.send(Ok(value));
            Ok(())
        }
        Err(Refusal::Told(error)) => {
            let _ = reply.send(Err(error));
            Ok(())
        }
        Err(Refusal::Stopped(stop)) => {
            let _ = reply.send(Err(stop.clone().into()));
            Err(stop)
        }
    }
}
