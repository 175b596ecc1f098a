//! Commands that are carried out once, however often their request is sent.

use riverrun_event::{TaskId, TurnId};
use riverrun_fold::Status;
use riverrun_log::SessionKey;

use super::Runner;
use crate::mailbox::SessionCommand;
use crate::{CancelMode, Cancelled, CommandError, Decide, Decided, QueueEntry, RequestKey, Revoke, Revoked};

/// The runner for one request. The answer of a command with a request key is stored with the command's events: the same
/// request sent again is answered with it and has no effect.
pub struct IdempotentRunner<'a> {
    pub(crate) runner: &'a Runner,
    pub(crate) request: Option<RequestKey>,
}

impl IdempotentRunner<'_> {
    pub async fn cancel(
        &self,
        key: &SessionKey,
        turn: &TurnId,
        mode: CancelMode,
        reason: Option<String>,
    ) -> Result<Cancelled, CommandError> {
        let (turn, request) = (turn.clone(), self.request);
        self.runner.ask(key, |reply| SessionCommand::Cancel { turn, mode, reason, request, reply }).await
    }

    pub async fn decide(&self, key: &SessionKey, decide: Decide) -> Result<Decided, CommandError> {
        self.runner.ask(key, |reply| SessionCommand::Decide(Box::new(decide), self.request, reply)).await
    }

    /// Takes back a decision that was given for always.
    pub async fn revoke(&self, key: &SessionKey, revoke: Revoke) -> Result<Revoked, CommandError> {
        self.runner.ask(key, |reply| SessionCommand::Revoke(revoke, self.request, reply)).await
    }

    pub async fn unqueue(&self, key: &SessionKey, turn: &TurnId) -> Result<Cancelled, CommandError> {
        self.runner.ask(key, |reply| SessionCommand::Unqueue(turn.clone(), self.request, reply)).await
    }

    pub async fn promote(&self, key: &SessionKey, turn: &TurnId) -> Result<Vec<QueueEntry>, CommandError> {
        self.runner.ask(key, |reply| SessionCommand::Promote(turn.clone(), self.request, reply)).await
    }

    pub async fn close_subagent(
        &self,
        key: &SessionKey,
        task: &TaskId,
        reason: Option<String>,
    ) -> Result<Option<Status>, CommandError> {
        self.runner
            .ask(key, |reply| SessionCommand::CloseSubagent(task.clone(), reason, self.request, reply))
            .await
    }
}
