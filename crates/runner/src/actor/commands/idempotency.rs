//! Requests that their sender may send again: what the log remembers of the first one, in the same append as its events.

use bytes::Bytes;
use riverrun_event::{CommandId, RunId, Sequence, TaskId, TurnId};
use riverrun_log::{Command, CommandChange, NewCommand};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::actor::Actor;
use crate::actor::commands::Refusal;
use crate::actor::subagents::spawned::SPAWNED;
use crate::page::Page;
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

impl Actor {
    /// What the first request of this name came to. Err if it asked for something else.
    pub(crate) async fn done_before(
        &self,
        request: Option<RequestKey>,
    ) -> Result<Option<Submitted>, Refusal> {
        match self.stored(request).await? {
            Some(command) => self.told_before(&command).await,
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

    async fn stored(&self, request: Option<RequestKey>) -> Result<Option<Command>, Refusal> {
        let Some(request) = request else { return Ok(None) };
        let id = CommandId::from_bytes(request.id);
        let Some(command) = self.core.journal.log().command(&self.key, &id).await? else { return Ok(None) };
        if command.request.digest != request.digest {
            return Err(CommandError::RequestMismatch.into());
        }
        Ok(Some(command))
    }

    /// Stores the answer with what it tells.
    pub(crate) fn remember_answer(
        &self,
        request: Option<RequestKey>,
        told: &impl Serialize,
        page: &mut Page,
    ) {
        let Some(RequestKey { id, digest }) = request else { return };
        let id = CommandId::from_bytes(id);
        let name = format!("request:{id}");
        self.remember_command(id, name, digest, told, page);
    }

    pub(crate) fn remember_request(&self, request: Option<RequestKey>, told: &Submitted, page: &mut Page) {
        let told = Remembered {
            turn_id: told.turn_id.clone(),
            task_id: told.task_id.clone(),
            run_id: told.run_id.clone(),
            status: told.status.clone(),
        };
        self.remember_answer(request, &told, page);
    }

    pub(crate) fn remember_command(
        &self,
        id: CommandId,
        name: String,
        digest: [u8; 32],
        told: &impl Serialize,
        page: &mut Page,
    ) {
        let body = Bytes::from(serde_json::to_vec(told).unwrap_or_default());
        page.commands.push(CommandChange::Enqueue(NewCommand {
            id: id.clone(),
            key: self.key.clone(),
            idempotency_key: name,
            digest,
            body,
            created_at: self.core.clock.now(),
        }));
        page.commands.push(CommandChange::Complete { id, outcome: Bytes::new() });
    }

    /// The answer of a command that was carried out, as things stand now.
    pub(crate) async fn told_before(&self, command: &Command) -> Result<Option<Submitted>, Refusal> {
        let Ok(mut told) = serde_json::from_slice::<Remembered>(&command.request.body) else {
            return Ok(None);
        };
        let record = self.core.journal.log().turn(&self.key, &told.turn_id).await?;
        let first = record.as_ref().map_or(Sequence::ZERO, |record| record.fact.first);
        // Of a turn it is told how it stands now; what was said to one, or begun in it, stays as it was told.
        if !matches!(told.status.as_str(), "steered" | SPAWNED) {
            let known = self.state.turns.iter().find(|known| known.turn_id == told.turn_id);
            let status = known.map(|known| known.status.as_str().to_owned());
            told.status = status.or(record.map(|record| record.fact.status)).unwrap_or(told.status);
        }
        Ok(Some(told.answer(first, true)))
    }
}
