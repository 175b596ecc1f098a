//! Commands, answers and blobs.

use std::collections::BTreeSet;

use riverrun_event::{SessionId, TenantId};

use super::instances::InstanceId;
use super::state::MemoryState;
use crate::{
    BlobContent, BlobId, BlobInfo, CommandState, Enqueued, IdempotencyRecord, LogError, NewBlob, NewCommand,
    Remembered, RemoteChange, SessionKey, StoredCommand, UnixMillis, Urgency, UsageChange, WorkScope,
};

pub struct StoredBlob {
    pub blob: BlobContent,
    /// Put without a session at least once, so no session's end removes it.
    pub pinned: bool,
    pub sessions: BTreeSet<SessionId>,
}

impl MemoryState {
    pub fn delete_session(&mut self, by: InstanceId, key: &SessionKey) -> bool {
        let Some(removed) = self.sessions.remove(key) else { return false };
        let mut change = UsageChange { sessions: -1, log_bytes: -removed.bytes(), blob_bytes: 0 };
        self.blobs.retain(|(tenant, _), stored| {
            let was_used = *tenant == key.tenant && stored.sessions.remove(&key.session);
            let stays = !was_used || stored.pinned || !stored.sessions.is_empty();
            if !stays {
                change.blob_bytes -= stored.blob.info.size as i64;
            }
            stays
        });
        self.change_usage(&key.tenant, change);
        self.shares.retain(|share| share.key != *key);
        let incarnation = removed.record.head.incarnation;
        self.instances.changed(by, &RemoteChange::Deleted { key: key.clone(), incarnation });
        true
    }

    /// The oldest goes when there are too many for a memory.
    pub fn note_deletion(&mut self, key: &SessionKey, at: UnixMillis) {
        const MOST: usize = 10_000;
        if self.deletions.len() >= MOST {
            let oldest = self.deletions.iter().min_by_key(|(_, at)| **at).map(|(key, _)| key.clone());
            oldest.map(|key| self.deletions.remove(&key));
        }
        self.deletions.insert(key.clone(), at);
    }

    pub fn enqueue(&mut self, command: NewCommand) -> Result<Enqueued, LogError> {
        let known = self.find(&command.key)?.command_with_key(&command.idempotency_key);
        if let Some(known) = known {
            return Ok(Enqueued { command: known.clone(), new: false });
        }
        self.find(&command.key)?.check_id(&command.id)?;
        let number = self.number();
        let command = self.find_mut(&command.key.clone())?.store_command(number, command);
        Ok(Enqueued { command, new: true })
    }

    pub fn pending_commands(&self, scope: &WorkScope) -> Vec<StoredCommand> {
        let sessions = self.sessions.values().filter(|session| self.is_in(scope, &session.record.key));
        let is_pending = |command: &&StoredCommand| !matches!(command.state, CommandState::Done { .. });
        let mut pending: Vec<StoredCommand> =
            sessions.flat_map(|session| session.commands.values()).filter(is_pending).cloned().collect();
        pending.sort_by_key(|command| command.number);
        pending
    }

    pub(super) fn is_in(&self, scope: &WorkScope, key: &SessionKey) -> bool {
        match scope {
            WorkScope::Shard(shard) => self.shard_of(key) == *shard,
            WorkScope::Session(session) => key == session,
        }
    }

    pub fn remember(&mut self, record: IdempotencyRecord, now: UnixMillis) -> Remembered {
        if let Some(known) = self.remembered(&record.tenant, &record.scope, now) {
            return Remembered { record: known.clone(), new: false };
        }
        self.answers.insert((record.tenant.clone(), record.scope.clone()), record.clone());
        Remembered { record, new: true }
    }

    pub fn remembered(&self, tenant: &TenantId, scope: &str, now: UnixMillis) -> Option<&IdempotencyRecord> {
        let record = self.answers.get(&(tenant.clone(), scope.to_owned()));
        record.filter(|record| record.expires_at > now)
    }

    pub fn put_blob(&mut self, tenant: &TenantId, new: NewBlob) -> Result<BlobInfo, LogError> {
        if let Some(session) = &new.session {
            self.find(&SessionKey::new(tenant.clone(), session.clone()))?;
        }
        let reference = BlobId::of(&new.bytes);
        if self.blob(tenant, &reference).is_none() {
            let size = new.bytes.len() as u64;
            self.used(tenant).admit_bytes(self.quotas.of(tenant), size, Urgency::Normal)?;
            self.change_usage(tenant, UsageChange { blob_bytes: size as i64, ..UsageChange::default() });
        }
        let stored = self.blobs.entry((tenant.clone(), reference.clone())).or_insert_with(|| {
            let info = BlobInfo { reference, media_type: new.media_type, size: new.bytes.len() as u64 };
            StoredBlob {
                blob: BlobContent { info, bytes: new.bytes },
                pinned: false,
                sessions: BTreeSet::new(),
            }
        });
        match new.session {
            Some(session) => {
                stored.sessions.insert(session);
            }
            None => stored.pinned = true,
        }
        Ok(stored.blob.info.clone())
    }

    pub fn blob(&self, tenant: &TenantId, reference: &BlobId) -> Option<&BlobContent> {
        self.blobs.get(&(tenant.clone(), reference.clone())).map(|stored| &stored.blob)
    }
}
