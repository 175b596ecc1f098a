//! The commands of one session, one after the other.

pub(super) mod idempotency;

use crate::actor::Actor;
use crate::actor::Stop;
use crate::mailbox::{Reply, SessionCommand};
use crate::{CommandError, JournalError};

/// Why a command had no effect: the caller is told, or the actor must stop as well.
pub(crate) enum Refusal {
    Rejected(CommandError),
    Stopped(Stop),
}

impl From<CommandError> for Refusal {
    fn from(error: CommandError) -> Self {
        Refusal::Rejected(error)
    }
}

impl From<JournalError> for Refusal {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::Full => Refusal::Rejected(CommandError::Full),
            JournalError::Quota { quota, limit, used } => {
                Refusal::Rejected(CommandError::Quota { quota, limit, used })
            }
            error => Refusal::Stopped(Stop::of(error)),
        }
    }
}

impl From<riverrun_log::LogError> for Refusal {
    fn from(error: riverrun_log::LogError) -> Self {
        Refusal::Rejected(CommandError::Unavailable(error.to_string()))
    }
}

impl Actor {
    pub(crate) async fn command(&mut self, command: SessionCommand) -> Result<(), Stop> {
        // Others may have written since the last one, and a command may be about exactly that.
        self.catch_up().await.map_err(Stop::of)?;
        match command {
            SessionCommand::Wake => Ok(()),
            SessionCommand::Submit(submit, reply) => answer(reply, self.submit(*submit).await),
            SessionCommand::Cancel { turn, mode, reason, request, reply } => {
                answer(reply, self.cancel(&turn, mode, reason, request).await)
            }
            SessionCommand::Pause { turn, task, pause, request, reply } => {
                answer(reply, self.halt(&turn, &task, pause, request).await)
            }
            SessionCommand::Retry(turn, request, reply) => answer(reply, self.retry(&turn, request).await),
            SessionCommand::Steer(turn, input, request, reply) => {
                answer(reply, self.steer(&turn, input, request).await)
            }
            SessionCommand::Decide(decide, request, reply) => {
                answer(reply, self.decide(*decide, request).await)
            }
            SessionCommand::Revoke(revoke, request, reply) => {
                answer(reply, self.revoke(revoke, request).await)
            }
            SessionCommand::Queue(thread, reply) => answer(reply, Ok(self.session.queue(thread.as_ref()))),
            SessionCommand::Unqueue(turn, request, reply) => {
                answer(reply, self.unqueue(&turn, request).await)
            }
            SessionCommand::Promote(turn, request, reply) => {
                answer(reply, self.promote(&turn, request).await)
            }
            SessionCommand::SpawnSubagent(spawn, request, reply) => {
                answer(reply, self.spawn_asked(*spawn, request).await)
            }
            SessionCommand::SteerSubagent(task, input, request, reply) => {
                answer(reply, self.steer_subagent(&task, input, request).await)
            }
            SessionCommand::CloseSubagent(task, reason, request, reply) => {
                answer(reply, self.close_subagent(&task, reason, request).await)
            }
            SessionCommand::WriteProcess(write, request, reply) => {
                answer(reply, self.write_process(*write, request).await)
            }
            SessionCommand::Conversation(asked, reply) => answer(reply, self.conversation(asked).await),
            SessionCommand::TerminateProcess(process, terminate, request, reply) => {
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
        Err(Refusal::Rejected(error)) => {
            let _ = reply.send(Err(error));
            Ok(())
        }
        Err(Refusal::Stopped(stop)) => {
            let _ = reply.send(Err(stop.clone().into()));
            Err(stop)
        }
    }
}
