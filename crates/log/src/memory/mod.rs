//! An engine that keeps everything in memory: the reference for the contract, and the log of tests and demos.
//!
//! It forgets everything when dropped and has no files, so it cannot be backed up. Several instances may be open on one
//! [`MemoryStore`], which can have several shards, as the instances of a cluster are on one database.

mod catalogue;
mod instances;
mod leases;
mod session;
mod state;
mod store;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use riverrun_event::{
    ActionId, CommandId, IdOrigin, KeyId, OwnerId, ProducerId, Sequence, ShareId, TaskId, TenantId, TurnId,
};

use crate::{
    ActionQuery, ActionRecord, ApiKey, Append, BlobContent, BlobId, BlobInfo, BlobStore, Catalogue, Chunk,
    Clock, CommandStore, CommitFeed, Created, Credential, DurableAppend, Enqueued, EventStore, Expired,
    ExpiredQuery, IdempotencyRecord, KeyStore, Lease, ListPage, Listener, LogError, LogHealth, LogTicket,
    Maintenance, NewBlob, NewCommand, ProducerState, Remembered, RemoteListener, Sealed, SealedTurnRecord,
    SessionHead, SessionKey, SessionQuery, SessionRecord, SessionSpec, Shard, ShardLeases, ShardState,
    ShareRecord, Snapshot, SnapshotFound, Stats, StorageQuotas, StoredCommand, TaskRecord, TurnRecord,
    UnixMillis, Usage, Verification, WorkScope,
};
pub use state::LostAnswer;

use instances::InstanceId;
use state::MemoryState;

/// A store in memory, on which any number of instances can be open.
#[derive(Clone)]
pub struct MemoryStore {
    state: Arc<Mutex<MemoryState>>,
    clock: Arc<dyn Clock>,
    shards: u16,
}

impl MemoryStore {
    /// An empty store with so many shards; zero counts as one.
    pub fn new(clock: Arc<dyn Clock>, shards: u16) -> Self {
        let shards = shards.max(1);
        Self { state: Arc::new(Mutex::new(MemoryState::new(shards))), clock, shards }
    }

    /// Opens an instance.
    pub fn open(&self) -> MemoryLog {
        let id = self.lock().instances.open();
        MemoryLog { store: self.clone(), id, closed: AtomicBool::new(false) }
    }

    /// The next append of any instance answers [`LogError::OutcomeUnknown`], as if the connection to the store broke
    /// while it was being committed.
    pub fn lose_next_answer(&self, lost: LostAnswer) {
        self.lock().lost_answer = Some(lost);
    }

    fn lock(&self) -> MutexGuard<'_, MemoryState> {
        // Every change checks first and writes after, so a panic in a listener leaves nothing half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An instance of a store in memory.
pub struct MemoryLog {
    store: MemoryStore,
    id: InstanceId,
    closed: AtomicBool,
}

impl MemoryLog {
    /// The only instance of a new store with one shard.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        MemoryStore::new(clock, 1).open()
    }

    fn now(&self) -> UnixMillis {
        self.store.clock.now()
    }

    fn lock(&self) -> MutexGuard<'_, MemoryState> {
        self.store.lock()
    }

    fn run<T>(&self, operation: impl FnOnce(&mut MemoryState) -> Result<T, LogError>) -> LogTicket<T> {
        let mut state = self.lock();
        if self.closed.load(Ordering::Acquire) {
            return LogTicket::ready(Err(LogError::Closed));
        }
        LogTicket::ready(operation(&mut state))
    }
}

impl Drop for MemoryLog {
    fn drop(&mut self) {
        self.lock().instances.close(self.id);
    }
}

impl ShardLeases for MemoryLog {
    fn shard_count(&self) -> u16 {
        self.store.shards
    }
    fn shards(&self) -> LogTicket<Vec<ShardState>> {
        let now = self.now();
        self.run(|state| Ok(state.leases.list(now)))
    }
    fn acquire(&self, shard: Shard, owner: &OwnerId, ttl: Duration) -> LogTicket<Lease> {
        let now = self.now();
        self.run(|state| state.leases.acquire(shard, owner, now, ttl))
    }
    fn renew(&self, lease: &Lease, ttl: Duration) -> LogTicket<Lease> {
        let now = self.now();
        self.run(|state| state.leases.renew(lease, now, ttl))
    }
    fn release(&self, lease: &Lease) -> LogTicket<()> {
        self.run(|state| state.leases.release(lease))
    }
}

impl EventStore for MemoryLog {
    fn append(&self, append: Append) -> LogTicket<DurableAppend> {
        let now = self.now();
        // The lock is held while the listener runs: that is what keeps commits and their news in one order.
        self.run(|state| state.append(self.id, append, now))
    }
    fn read(&self, key: &SessionKey, after: Sequence, max_bytes: usize) -> LogTicket<Vec<Chunk>> {
        self.run(|state| state.find(key)?.read(after, max_bytes))
    }
    fn head(&self, key: &SessionKey) -> LogTicket<Option<SessionHead>> {
        self.run(|state| Ok(state.find(key).ok().map(|session| session.record.head)))
    }
    fn id_origins(&self, _key: &SessionKey) -> LogTicket<Vec<IdOrigin>> {
        // Nothing is ever restored here.
        self.run(|_| Ok(Vec::new()))
    }
    fn producer(&self, key: &SessionKey, producer: &ProducerId) -> LogTicket<Option<ProducerState>> {
        self.run(|state| Ok(state.find(key)?.producers.get(producer).copied()))
    }
    fn seal(&self, key: &SessionKey, through: Sequence) -> LogTicket<Sealed> {
        self.run(|state| Ok(state.find(key)?.seal(through)))
    }
    fn retire(
        &self,
        key: &SessionKey,
        through: Sequence,
        older_than: Option<UnixMillis>,
    ) -> LogTicket<Sequence> {
        self.run(|state| state.retire(key, through, older_than))
    }
}

impl CommitFeed for MemoryLog {
    fn set_listener(&self, listener: Listener) {
        self.lock().instances.set_listener(self.id, listener);
    }
    fn set_remote_listener(&self, listener: RemoteListener) {
        self.lock().instances.set_remote_listener(self.id, listener);
    }
}

impl BlobStore for MemoryLog {
    fn put_blob(&self, tenant: &TenantId, blob: NewBlob) -> LogTicket<BlobInfo> {
        self.run(|state| state.put_blob(tenant, blob))
    }
    fn blob(&self, tenant: &TenantId, reference: &BlobId) -> LogTicket<Option<BlobContent>> {
        self.run(|state| Ok(state.blob(tenant, reference).cloned()))
    }
    fn blob_info(&self, tenant: &TenantId, reference: &BlobId) -> LogTicket<Option<BlobInfo>> {
        self.run(|state| Ok(state.blob(tenant, reference).map(|blob| blob.info.clone())))
    }
    fn put_snapshot(&self, key: &SessionKey, snapshot: Snapshot) -> LogTicket<()> {
        self.run(|state| state.find_mut(key)?.put_snapshot(snapshot))
    }
    fn snapshot(&self, key: &SessionKey, at_or_before: Sequence) -> LogTicket<SnapshotFound> {
        self.run(|state| Ok(state.find(key)?.snapshot(at_or_before)))
    }
    fn put_sealed_turn(&self, key: &SessionKey, turn: SealedTurnRecord) -> LogTicket<()> {
        self.run(|state| state.find_mut(key)?.put_sealed_turn(turn))
    }
    fn sealed_turn(&self, key: &SessionKey, turn: &TurnId) -> LogTicket<Option<SealedTurnRecord>> {
        self.run(|state| Ok(state.find(key)?.sealed.get(turn).cloned()))
    }
    fn sealed_turns(
        &self,
        key: &SessionKey,
        through: Sequence,
        most: usize,
        max_bytes: usize,
    ) -> LogTicket<Vec<SealedTurnRecord>> {
        self.run(|state| Ok(state.find(key)?.sealed_turns(through, most, max_bytes)))
    }
    fn sealed_turn_of_task(&self, key: &SessionKey, task: &TaskId) -> LogTicket<Option<SealedTurnRecord>> {
        self.run(|state| Ok(state.find(key)?.sealed.values().find(|sealed| sealed.task == *task).cloned()))
    }
}

impl Catalogue for MemoryLog {
    fn create_session(&self, key: &SessionKey, new: SessionSpec) -> LogTicket<Created> {
        self.run(|state| state.create_session(self.id, key, new))
    }
    fn session(&self, key: &SessionKey) -> LogTicket<Option<SessionRecord>> {
        self.run(|state| Ok(state.find(key).ok().map(|session| session.record.clone())))
    }
    fn sessions(&self, query: SessionQuery) -> LogTicket<ListPage<SessionRecord>> {
        self.run(|state| state.list(&query))
    }
    fn delete_session(&self, key: &SessionKey) -> LogTicket<bool> {
        self.run(|state| Ok(state.delete_session(self.id, key)))
    }
    fn note_deletion(&self, key: &SessionKey, at: UnixMillis) -> LogTicket<()> {
        self.run(|state| {
            state.note_deletion(key, at);
            Ok(())
        })
    }
    fn deleted_at(&self, key: &SessionKey) -> LogTicket<Option<UnixMillis>> {
        self.run(|state| Ok(state.deletions.get(key).copied()))
    }
    fn drop_deletions(&self, before: UnixMillis) -> LogTicket<u64> {
        self.run(|state| {
            let count = state.deletions.len();
            state.deletions.retain(|_, at| *at >= before);
            Ok((count - state.deletions.len()) as u64)
        })
    }
    fn action(&self, key: &SessionKey, action: &ActionId) -> LogTicket<Option<ActionRecord>> {
        self.run(|state| Ok(state.find(key).ok().and_then(|session| session.action(action))))
    }
    fn pending_actions(&self, query: ActionQuery) -> LogTicket<ListPage<ActionRecord>> {
        self.run(|state| state.pending_actions(&query))
    }
    fn turn(&self, key: &SessionKey, turn: &TurnId) -> LogTicket<Option<TurnRecord>> {
        self.run(|state| Ok(state.find(key).ok().and_then(|session| session.turn(turn))))
    }
    fn turns(&self, key: &SessionKey, before: Option<Sequence>, most: usize) -> LogTicket<Vec<TurnRecord>> {
        self.run(|state| {
            Ok(state.find(key).map_or_else(|_| Vec::new(), |session| session.turns_before(before, most)))
        })
    }
    fn open_turns(&self, scope: WorkScope) -> LogTicket<Vec<TurnRecord>> {
        self.run(|state| Ok(state.open_turns(&scope)))
    }
    fn find_turn(&self, tenant: &TenantId, turn: &TurnId) -> LogTicket<Vec<TurnRecord>> {
        self.run(|state| Ok(state.find_turn(tenant, turn)))
    }
    fn find_task(&self, tenant: &TenantId, task: &TaskId) -> LogTicket<Vec<TaskRecord>> {
        self.run(|state| Ok(state.find_task(tenant, task)))
    }
    fn put_share(&self, share: ShareRecord) -> LogTicket<()> {
        self.run(|state| {
            state.find(&share.key)?;
            match state.shares.iter_mut().find(|known| known.id == share.id) {
                Some(known) => *known = share,
                None => state.shares.push(share),
            }
            Ok(())
        })
    }
    fn share(&self, id: &ShareId) -> LogTicket<Option<ShareRecord>> {
        self.run(|state| Ok(state.shares.iter().find(|share| share.id == *id).cloned()))
    }
    fn shares(&self, key: &SessionKey) -> LogTicket<Vec<ShareRecord>> {
        self.run(|state| {
            let mut found: Vec<ShareRecord> =
                state.shares.iter().filter(|share| share.key == *key).cloned().collect();
            found.sort_by_key(|share| share.created_at);
            Ok(found)
        })
    }
}

impl CommandStore for MemoryLog {
    fn enqueue(&self, command: NewCommand) -> LogTicket<Enqueued> {
        self.run(|state| state.enqueue(command))
    }
    fn pending_commands(&self, scope: WorkScope) -> LogTicket<Vec<StoredCommand>> {
        self.run(|state| Ok(state.pending_commands(&scope)))
    }
    fn command(&self, key: &SessionKey, id: &CommandId) -> LogTicket<Option<StoredCommand>> {
        self.run(|state| Ok(state.find(key).ok().and_then(|session| session.command(id).cloned())))
    }
    fn complete_command(&self, key: &SessionKey, id: &CommandId, outcome: Bytes) -> LogTicket<()> {
        self.run(|state| state.find_mut(key)?.complete(id, outcome))
    }
    fn remember(&self, record: IdempotencyRecord) -> LogTicket<Remembered> {
        let now = self.now();
        self.run(|state| Ok(state.remember(record, now)))
    }
    fn remembered(&self, tenant: &TenantId, scope: &str) -> LogTicket<Option<IdempotencyRecord>> {
        let now = self.now();
        self.run(|state| Ok(state.remembered(tenant, scope, now).cloned()))
    }
}

impl KeyStore for MemoryLog {
    fn put_key(&self, key: ApiKey) -> LogTicket<()> {
        self.run(|state| {
            state.keys.insert(key.id.clone(), key);
            Ok(())
        })
    }
    fn key(&self, id: &KeyId) -> LogTicket<Option<ApiKey>> {
        self.run(|state| Ok(state.keys.get(id).cloned()))
    }
    fn keys(&self, tenant: Option<&TenantId>) -> LogTicket<Vec<ApiKey>> {
        let of_tenant = |key: &&ApiKey| tenant.is_none_or(|tenant| key.tenant == *tenant);
        self.run(|state| Ok(state.keys.values().filter(of_tenant).cloned().collect()))
    }
    fn revoke_key(&self, id: &KeyId, at: UnixMillis) -> LogTicket<bool> {
        self.run(|state| Ok(state.keys.get_mut(id).map(|key| key.revoked_at.get_or_insert(at)).is_some()))
    }
    fn touch_key(&self, id: &KeyId, at: UnixMillis) -> LogTicket<()> {
        self.run(|state| {
            if let Some(key) = state.keys.get_mut(id) {
                key.last_used_at = Some(at);
            }
            Ok(())
        })
    }
    fn put_credential(&self, credential: Credential) -> LogTicket<()> {
        self.run(|state| {
            let version = state.number();
            state.credentials.retain(|_, known| known.id != credential.id);
            state.credentials.insert(version, credential);
            Ok(())
        })
    }
    fn credentials(&self, after: u64) -> LogTicket<Vec<(u64, Credential)>> {
        self.run(|state| {
            let newer = state.credentials.range(after.saturating_add(1)..);
            Ok(newer.map(|(version, credential)| (*version, credential.clone())).collect())
        })
    }
    fn drop_credentials(&self, expired_before: UnixMillis) -> LogTicket<u64> {
        self.run(|state| {
            let before = state.credentials.len();
            state.credentials.retain(|_, known| known.expires_at >= expired_before);
            Ok((before - state.credentials.len()) as u64)
        })
    }
}

impl Maintenance for MemoryLog {
    fn expired(&self, query: ExpiredQuery) -> LogTicket<Vec<Expired>> {
        self.run(|state| Ok(state.expired(&query)))
    }
    fn noted_time(&self) -> LogTicket<Option<UnixMillis>> {
        self.run(|state| Ok(state.noted_time))
    }
    fn note_time(&self, time: UnixMillis) -> LogTicket<()> {
        self.run(|state| {
            state.noted_time = Some(time);
            Ok(())
        })
    }
    fn set_quotas(&self, quotas: StorageQuotas) {
        self.lock().quotas = quotas;
    }
    fn usage(&self, tenant: Option<&TenantId>) -> LogTicket<Vec<(TenantId, Usage)>> {
        self.run(|state| Ok(state.usage_of(tenant)))
    }
    fn backup(&self, _to: &Path) -> LogTicket<()> {
        LogTicket::ready(Err(LogError::Invalid { what: "backup of a log in memory".to_owned() }))
    }
    fn verify(&self) -> LogTicket<Verification> {
        self.run(|state| Ok(state.verify()))
    }
    fn stats(&self) -> LogTicket<Stats> {
        self.run(|state| Ok(state.stats()))
    }
    fn health(&self) -> LogHealth {
        LogHealth::Ready
    }
    fn close(&self) -> LogTicket<()> {
        self.closed.store(true, Ordering::Release);
        LogTicket::ready(Ok(()))
    }
}
