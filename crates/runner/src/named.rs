//! Commands with the name of their request.

use riverrun_event::{TaskId, TurnId};
use riverrun_fold::Status;
use riverrun_log::SessionKey;

use crate::actor::Command;
use crate::{
    CancelMode, Cancelled, CommandError, Decide, Decided, QueueEntry, RequestKey, Revoke, Revoked, Runner,
};

/// The runner, for one request. What a command with a name came to is stored with its events: sent again, it answers
/// that and does nothing.
pub struct Named<'a> {
    pub(crate) runner: &'a Runner,
    pub(crate) request: Option<RequestKey>,
}

impl Named<'_> {
    pub async fn cancel(
        &self,
        key: &SessionKey,
        turn: &TurnId,
        mode: CancelMode,
        reason: Option<String>,
    ) -> Result<Cancelled, CommandError> {
        let (turn, request) = (turn.clone(), self.request);
        self.runner.ask(key, |reply| Command::Cancel { turn, mode, reason, request, reply }).await
    }

    pub async fn decide(&self, key: &SessionKey, decide: Decide) -> Result<Decided, CommandError> {
        self.runner.ask(key, |reply| Command::Decide(Box::new(decide), self.request, reply)).await
    }

    /// Takes back a decision that was given for always.
    pub async fn revoke(&self, key: &SessionKey, revoke: Revoke) -> Result<Revoked, CommandError> {
        self.runner.ask(key, |reply| Command::Revoke(revoke, self.request, reply)).await
    }

    pub async fn unqueue(&self, key: &SessionKey, turn: &TurnId) -> Result<Cancelled, CommandError> {
        self.runner.ask(key, |reply| Command::Unqueue(turn.clone(), self.request, reply)).await
    }

    pub async fn promote(&self, key: &SessionKey, turn: &TurnId) -> Result<Vec<QueueEntry>, CommandError> {
        self.runner.ask(key, |reply| Command::Promote(turn.clone(), self.request, reply)).await
    }

    pub async fn close_subagent(
        &self,
        key: &SessionKey,
        task: &TaskId,
        reason: Option<String>,
    ) -> Result<Option<Status>, CommandError> {
        self.runner.ask(key, |reply| Command::CloseSubagent(task.clone(), reason, self.request, reply)).await
    }
}
