//! Requests that their sender may send again: what the log remembers of the first one, in the same append as its events.

use bytes::Bytes;
use riverrun_event::{CommandId, RunId, Sequence, TaskId, TurnId};
use riverrun_log::{CommandChange, NewCommand, StoredCommand};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::actor::commands::Refusal;
use crate::actor::session::HostedSession;
use crate::actor::subagents::spawned::SPAWNED;
use crate::event_batch::EventBatch;
use crate::{CommandError, RequestKey, Submitted};

/// What a request came to.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Remembered {
    pub turn_id: TurnId,
    pub task_id: TaskId,
    pub run_id: RunId,
    pub status: String,
}

impl Remembered {
    pub fn answer(self, first: Sequence, duplicate: bool) -> Submitted {
        let Self { turn_id, task_id, run_id, status } = self;
        Submitted { turn_id, task_id, run_id, status, first, duplicate }
    }
}

impl HostedSession {
    /// What the first request of this name came to. Err if it asked for something else.
    pub(crate) async fn done_before(
        &self,
        request: Option<RequestKey>,
    ) -> Result<Option<Submitted>, Refusal> {
        match self.stored(request).await? {
            Some(command) => self.stored_answer(&command).await,
            None => Ok(None),
        }
    }

    /// The same for a request whose answer stands as it was told.
    pub(crate) async fn answered_before<T: DeserializeOwned>(
        &self,
        request: Option<RequestKey>,
    ) -> Result<Option<T>, Refusal> {
        let stored = self.stored(request).await?;
        Ok(stored.and_then(|command| serde_json::from_slice(&command.request.body).ok()))
    }

    async fn stored(&self, request: Option<RequestKey>) -> Result<Option<StoredCommand>, Refusal> {
        let Some(request) = request else { return Ok(None) };
        let id = CommandId::from_bytes(request.id);
        let Some(command) = self.shared.journal.log().command(&self.key, &id).await? else { return Ok(None) };
        if command.request.digest != request.digest {
            return Err(CommandError::RequestMismatch.into());
        }
        Ok(Some(command))
    }

    /// Stores the answer with what it tells.
    pub(crate) fn remember_answer(
        &self,
        request: Option<RequestKey>,
        answer: &impl Serialize,
        batch: &mut EventBatch,
    ) {
        let Some(RequestKey { id, digest }) = request else { return };
        let id = CommandId::from_bytes(id);
        let name = format!("request:{id}");
        self.remember_command(id, name, digest, answer, batch);
    }

    pub(crate) fn remember_request(
        &self,
        request: Option<RequestKey>,
        submitted: &Submitted,
        batch: &mut EventBatch,
    ) {
        let submitted = Remembered {
            turn_id: submitted.turn_id.clone(),
            task_id: submitted.task_id.clone(),
            run_id: submitted.run_id.clone(),
            status: submitted.status.clone(),
        };
        self.remember_answer(request, &submitted, batch);
    }

    pub(crate) fn remember_command(
        &self,
        id: CommandId,
        name: String,
        digest: [u8; 32],
        answer: &impl Serialize,
        batch: &mut EventBatch,
    ) {
        let body = Bytes::from(serde_json::to_vec(answer).unwrap_or_default());
        batch.commands.push(CommandChange::Enqueue(NewCommand {
            id: id.clone(),
            key: self.key.clone(),
            idempotency_key: name,
            digest,
            body,
            created_at: self.shared.clock.now(),
        }));
        batch.commands.push(CommandChange::Complete { id, outcome: Bytes::new() });
    }

    /// The answer of a command that was carried out, as things stand now.
    pub(crate) async fn stored_answer(&self, command: &StoredCommand) -> Result<Option<Submitted>, Refusal> {
        let Ok(mut remembered) = serde_json::from_slice::<Remembered>(&command.request.body) else {
            return Ok(None);
        };
        let record = self.shared.journal.log().turn(&self.key, &remembered.turn_id).await?;
        let first = record.as_ref().map_or(Sequence::ZERO, |record| record.fact.first);
        // Of a turn it is told how it stands now; what was said to one, or begun in it, stays as it was told.
        if !matches!(remembered.status.as_str(), "steered" | SPAWNED) {
            let known = self.state.turns.iter().find(|known| known.turn_id == remembered.turn_id);
            let status = known.map(|known| known.status.as_str().to_owned());
            remembered.status =
                status.or(record.map(|record| record.fact.status)).unwrap_or(remembered.status);
        }
        Ok(Some(remembered.answer(first, true)))
    }
}
