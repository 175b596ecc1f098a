//! The way to the actors of sessions: their commands, and the mailbox of each.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use riverrun_event::{Input, Item, ProcessId, TaskId, ThreadId, TurnId};
use riverrun_fold::Status;
use riverrun_log::SessionKey;
use riverrun_tool::Terminate;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::{
    CancelMode, Cancelled, CommandError, Conversation, Decide, Decided, Pause, Paused, ProcessOver,
    ProcessWrite, QueueEntry, RequestKey, Revoke, Revoked, Spawn, Submit, Submitted,
};

pub(crate) type Reply<T> = oneshot::Sender<Result<T, CommandError>>;

pub(crate) enum SessionCommand {
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
    SteerSubagent(TaskId, Input, Option<RequestKey>, Reply<()>),
    CloseSubagent(TaskId, Option<String>, Option<RequestKey>, Reply<Option<Status>>),
    WriteProcess(Box<ProcessWrite>, Option<RequestKey>, Reply<()>),
    TerminateProcess(ProcessId, Terminate, Option<RequestKey>, Reply<ProcessOver>),
    Conversation(Conversation, Reply<Vec<Item>>),
}

impl SessionCommand {
    pub fn refuse(self, error: CommandError) {
        match self {
            SessionCommand::Wake => {}
            SessionCommand::Submit(_, reply)
            | SessionCommand::Retry(_, _, reply)
            | SessionCommand::Steer(_, _, _, reply)
            | SessionCommand::SpawnSubagent(_, _, reply) => {
                let _ = reply.send(Err(error));
            }
            SessionCommand::Cancel { reply, .. } | SessionCommand::Unqueue(_, _, reply) => {
                let _ = reply.send(Err(error));
            }
            SessionCommand::Pause { reply, .. } => {
                let _ = reply.send(Err(error));
            }
            SessionCommand::Decide(_, _, reply) => {
                let _ = reply.send(Err(error));
            }
            SessionCommand::Revoke(_, _, reply) => {
                let _ = reply.send(Err(error));
            }
            SessionCommand::Queue(_, reply) | SessionCommand::Promote(_, _, reply) => {
                let _ = reply.send(Err(error));
            }
            SessionCommand::SteerSubagent(_, _, _, reply) | SessionCommand::WriteProcess(_, _, reply) => {
                let _ = reply.send(Err(error));
            }
            SessionCommand::CloseSubagent(_, _, _, reply) => {
                let _ = reply.send(Err(error));
            }
            SessionCommand::Conversation(_, reply) => {
                let _ = reply.send(Err(error));
            }
            SessionCommand::TerminateProcess(_, _, _, reply) => {
                let _ = reply.send(Err(error));
            }
        }
    }
}

/// The mailboxes of all actors.
#[derive(Default)]
pub(crate) struct Mailboxes(Mutex<HashMap<SessionKey, Mailbox>>);

/// The way to one actor.
struct Mailbox {
    commands: mpsc::UnboundedSender<SessionCommand>,
    /// Cancelled when the session was deleted.
    ended: CancellationToken,
}

/// An actor's end of its mailbox.
pub(crate) struct Mail {
    pub commands: mpsc::UnboundedReceiver<SessionCommand>,
    pub ended: CancellationToken,
}

/// A command in a mailbox.
pub(crate) struct Delivery {
    /// Cancelled when the actor is ended because its session is deleted.
    pub ended: CancellationToken,
    /// Set if the session had no actor: the caller must start one with it.
    pub new_mail: Option<Mail>,
}

impl Mailboxes {
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionKey, Mailbox>> {
        // Only single inserts and removes: a panic elsewhere leaves the map consistent.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a command to the session's actor, or opens a mailbox for a new one.
    pub fn send(&self, key: &SessionKey, command: SessionCommand) -> Delivery {
        let mut mailboxes = self.lock();
        let command = match mailboxes.get(key) {
            Some(mailbox) => match mailbox.commands.send(command) {
                Ok(()) => return Delivery { ended: mailbox.ended.clone(), new_mail: None },
                Err(mpsc::error::SendError(command)) => command,
            },
            None => command,
        };
        let (sender, receiver) = mpsc::unbounded_channel();
        // We hold the receiver, so this cannot fail.
        let _ = sender.send(command);
        let ended = CancellationToken::new();
        mailboxes.insert(key.clone(), Mailbox { commands: sender, ended: ended.clone() });
        let mail = Mail { commands: receiver, ended: ended.clone() };
        Delivery { ended, new_mail: Some(mail) }
    }

    /// Ends the session's actor at once. A later command starts another one.
    pub fn end(&self, key: &SessionKey) {
        let mailbox = self.lock().remove(key);
        if let Some(mailbox) = mailbox {
            mailbox.ended.cancel();
        }
    }

    /// Closes the mailbox of an actor that is about to leave, unless a command came in the meantime. Commands are sent
    /// under the same lock.
    pub fn close(
        &self,
        key: &SessionKey,
        receiver: &mut mpsc::UnboundedReceiver<SessionCommand>,
    ) -> Option<SessionCommand> {
        let mut mailboxes = self.lock();
        if let Ok(command) = receiver.try_recv() {
            return Some(command);
        }
        receiver.close();
        // An actor that was ended may have a successor, whose mailbox is open.
        if mailboxes.get(key).is_some_and(|mailbox| mailbox.commands.is_closed()) {
            mailboxes.remove(key);
        }
        None
    }
}
