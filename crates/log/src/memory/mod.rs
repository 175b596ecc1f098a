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
    ActionQuery, ActionRecord, ApiKey, Append, Appended, Blob, BlobInfo, BlobRef, BlobStore, Catalogue,
    Chunk, Clock, Command, CommandStore, CommitFeed, Created, Credential, Enqueued, Error, EventStore,
    Expired, ExpiredQuery, Health, IdempotencyRecord, KeyStore, Lease, Listener, Maintenance, NewBlob,
    NewCommand, NewSession, Page, ProducerState, Remembered, RemoteListener, Sealed, SealedTurn, SessionHead,
    SessionKey, SessionQuery, SessionRecord, Shard, ShardLeases, ShardState, Share, Snapshot, SnapshotFound,
    Stats, StorageQuotas, TaskRecord, Ticket, Timestamp, TurnRecord, Usage, Verification, WorkScope,
};
pub use state::LostAnswer;

use instances::InstanceId;
use state::State;

/// A store in memory, on which any number of instances can be open.
#[derive(Clone)]
pub struct MemoryStore {
    state: Arc<Mutex<State>>,
    clock: Arc<dyn Clock>,
    shards: u16,
}

impl MemoryStore {
    /// An empty store with so many shards; zero counts as one.
    pub fn new(clock: Arc<dyn Clock>, shards: u16) -> Self {
        let shards = shards.max(1);
        Self { state: Arc::new(Mutex::new(State::new(shards))), clock, shards }
    }

    /// Opens an instance.
    pub fn open(&self) -> MemoryLog {
        let id = self.lock().instances.open();
        MemoryLog { store: self.clone(), id, closed: AtomicBool::new(false) }
    }

    /// The next append of any instance answers [`Error::OutcomeUnknown`], as if the connection to the store broke
    /// while it was being committed.
    pub fn lose_next_answer(&self, lost: LostAnswer) {
        self.lock().lost_answer = Some(lost);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
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

    fn now(&self) -> Timestamp {
        self.store.clock.now()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.store.lock()
    }

    fn run<T>(&self, operation: impl FnOnce(&mut State) -> Result<T, Error>) -> Ticket<T> {
        let mut state = self.lock();
        if self.closed.load(Ordering::Acquire) {
            return Ticket::ready(Err(Error::Closed));
        }
        Ticket::ready(operation(&mut state))
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
    fn shards(&self) -> Ticket<Vec<ShardState>> {
        let now = self.now();
        self.run(|state| Ok(state.leases.list(now)))
    }
    fn acquire(&self, shard: Shard, owner: &OwnerId, ttl: Duration) -> Ticket<Lease> {
        let now = self.now();
        self.run(|state| state.leases.acquire(shard, owner, now, ttl))
    }
    fn renew(&self, lease: &Lease, ttl: Duration) -> Ticket<Lease> {
        let now = self.now();
        self.run(|state| state.leases.renew(lease, now, ttl))
    }
    fn release(&self, lease: &Lease) -> Ticket<()> {
        self.run(|state| state.leases.release(lease))
    }
}

impl EventStore for MemoryLog {
    fn append(&self, append: Append) -> Ticket<Appended> {
        let now = self.now();
        // The lock is held while the listener runs: that is what keeps commits and their news in one order.
        self.run(|state| state.append(self.id, append, now))
    }
    fn read(&self, key: &SessionKey, after: Sequence, max_bytes: usize) -> Ticket<Vec<Chunk>> {
        self.run(|state| state.find(key)?.read(after, max_bytes))
    }
    fn head(&self, key: &SessionKey) -> Ticket<Option<SessionHead>> {
        self.run(|state| Ok(state.find(key).ok().map(|session| session.record.head)))
    }
    fn id_origins(&self, _key: &SessionKey) -> Ticket<Vec<IdOrigin>> {
        // Nothing is ever restored here.
        self.run(|_| Ok(Vec::new()))
    }
    fn producer(&self, key: &SessionKey, producer: &ProducerId) -> Ticket<Option<ProducerState>> {
        self.run(|state| Ok(state.find(key)?.producers.get(producer).copied()))
    }
    fn seal(&self, key: &SessionKey, through: Sequence) -> Ticket<Sealed> {
        self.run(|state| Ok(state.find(key)?.seal(through)))
    }
    fn retire(&self, key: &SessionKey, through: Sequence, older_than: Option<Timestamp>) -> Ticket<Sequence> {
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
    fn put_blob(&self, tenant: &TenantId, blob: NewBlob) -> Ticket<BlobInfo> {
        self.run(|state| state.put_blob(tenant, blob))
    }
    fn blob(&self, tenant: &TenantId, reference: &BlobRef) -> Ticket<Option<Blob>> {
        self.run(|state| Ok(state.blob(tenant, reference).cloned()))
    }
    fn blob_info(&self, tenant: &TenantId, reference: &BlobRef) -> Ticket<Option<BlobInfo>> {
        self.run(|state| Ok(state.blob(tenant, reference).map(|blob| blob.info.clone())))
    }
    fn put_snapshot(&self, key: &SessionKey, snapshot: Snapshot) -> Ticket<()> {
        self.run(|state| state.find_mut(key)?.put_snapshot(snapshot))
    }
    fn snapshot(&self, key: &SessionKey, at_or_before: Sequence) -> Ticket<SnapshotFound> {
        self.run(|state| Ok(state.find(key)?.snapshot(at_or_before)))
    }
    fn put_sealed_turn(&self, key: &SessionKey, turn: SealedTurn) -> Ticket<()> {
        self.run(|state| state.find_mut(key)?.put_sealed_turn(turn))
    }
    fn sealed_turn(&self, key: &SessionKey, turn: &TurnId) -> Ticket<Option<SealedTurn>> {
        self.run(|state| Ok(state.find(key)?.sealed.get(turn).cloned()))
    }
    fn sealed_turns(
        &self,
        key: &SessionKey,
        through: Sequence,
        most: usize,
        max_bytes: usize,
    ) -> Ticket<Vec<SealedTurn>> {
        self.run(|state| Ok(state.find(key)?.sealed_turns(through, most, max_bytes)))
    }
    fn sealed_turn_of_task(&self, key: &SessionKey, task: &TaskId) -> Ticket<Option<SealedTurn>> {
        self.run(|state| Ok(state.find(key)?.sealed.values().find(|sealed| sealed.task == *task).cloned()))
    }
}

impl Catalogue for MemoryLog {
    fn create_session(&self, key: &SessionKey, new: NewSession) -> Ticket<Created> {
        self.run(|state| state.create_session(self.id, key, new))
    }
    fn session(&self, key: &SessionKey) -> Ticket<Option<SessionRecord>> {
        self.run(|state| Ok(state.find(key).ok().map(|session| session.record.clone())))
    }
    fn sessions(&self, query: SessionQuery) -> Ticket<Page<SessionRecord>> {
        self.run(|state| state.list(&query))
    }
    fn delete_session(&self, key: &SessionKey) -> Ticket<bool> {
        self.run(|state| Ok(state.delete_session(self.id, key)))
    }
    fn note_deletion(&self, key: &SessionKey, at: Timestamp) -> Ticket<()> {
        self.run(|state| {
            state.note_deletion(key, at);
            Ok(())
        })
    }
    fn deleted_at(&self, key: &SessionKey) -> Ticket<Option<Timestamp>> {
        self.run(|state| Ok(state.deletions.get(key).copied()))
    }
    fn drop_deletions(&self, before: Timestamp) -> Ticket<u64> {
        self.run(|state| {
            let count = state.deletions.len();
            state.deletions.retain(|_, at| *at >= before);
            Ok((count - state.deletions.len()) as u64)
        })
    }
    fn action(&self, key: &SessionKey, action: &ActionId) -> Ticket<Option<ActionRecord>> {
        self.run(|state| Ok(state.find(key).ok().and_then(|session| session.action(action))))
    }
    fn pending_actions(&self, query: ActionQuery) -> Ticket<Page<ActionRecord>> {
        self.run(|state| state.pending_actions(&query))
    }
    fn turn(&self, key: &SessionKey, turn: &TurnId) -> Ticket<Option<TurnRecord>> {
        self.run(|state| Ok(state.find(key).ok().and_then(|session| session.turn(turn))))
    }
    fn turns(&self, key: &SessionKey, before: Option<Sequence>, most: usize) -> Ticket<Vec<TurnRecord>> {
        self.run(|state| {
            Ok(state.find(key).map_or_else(|_| Vec::new(), |session| session.turns_before(before, most)))
        })
    }
    fn open_turns(&self, scope: WorkScope) -> Ticket<Vec<TurnRecord>> {
        self.run(|state| Ok(state.open_turns(&scope)))
    }
    fn find_turn(&self, tenant: &TenantId, turn: &TurnId) -> Ticket<Vec<TurnRecord>> {
        self.run(|state| Ok(state.find_turn(tenant, turn)))
    }
    fn find_task(&self, tenant: &TenantId, task: &TaskId) -> Ticket<Vec<TaskRecord>> {
        self.run(|state| Ok(state.find_task(tenant, task)))
    }
    fn put_share(&self, share: Share) -> Ticket<()> {
        self.run(|state| {
            state.find(&share.key)?;
            match state.shares.iter_mut().find(|known| known.id == share.id) {
                Some(known) => *known = share,
                None => state.shares.push(share),
            }
            Ok(())
        })
    }
    fn share(&self, id: &ShareId) -> Ticket<Option<Share>> {
        self.run(|state| Ok(state.shares.iter().find(|share| share.id == *id).cloned()))
    }
    fn shares(&self, key: &SessionKey) -> Ticket<Vec<Share>> {
        self.run(|state| {
            let mut found: Vec<Share> =
                state.shares.iter().filter(|share| share.key == *key).cloned().collect();
            found.sort_by_key(|share| share.created_at);
            Ok(found)
        })
    }
}

impl CommandStore for MemoryLog {
    fn enqueue(&self, command: NewCommand) -> Ticket<Enqueued> {
        self.run(|state| state.enqueue(command))
    }
    fn pending_commands(&self, scope: WorkScope) -> Ticket<Vec<Command>> {
        self.run(|state| Ok(state.pending_commands(&scope)))
    }
    fn command(&self, key: &SessionKey, id: &CommandId) -> Ticket<Option<Command>> {
        self.run(|state| Ok(state.find(key).ok().and_then(|session| session.command(id).cloned())))
    }
    fn complete_command(&self, key: &SessionKey, id: &CommandId, outcome: Bytes) -> Ticket<()> {
        self.run(|state| state.find_mut(key)?.complete(id, outcome))
    }
    fn remember(&self, record: IdempotencyRecord) -> Ticket<Remembered> {
        let now = self.now();
        self.run(|state| Ok(state.remember(record, now)))
    }
    fn remembered(&self, tenant: &TenantId, scope: &str) -> Ticket<Option<IdempotencyRecord>> {
        let now = self.now();
        self.run(|state| Ok(state.remembered(tenant, scope, now).cloned()))
    }
}

impl KeyStore for MemoryLog {
    fn put_key(&self, key: ApiKey) -> Ticket<()> {
        self.run(|state| {
            state.keys.insert(key.id.clone(), key);
            Ok(())
        })
    }
    fn key(&self, id: &KeyId) -> Ticket<Option<ApiKey>> {
        self.run(|state| Ok(state.keys.get(id).cloned()))
    }
    fn keys(&self, tenant: Option<&TenantId>) -> Ticket<Vec<ApiKey>> {
        let of_tenant = |key: &&ApiKey| tenant.is_none_or(|tenant| key.tenant == *tenant);
        self.run(|state| Ok(state.keys.values().filter(of_tenant).cloned().collect()))
    }
    fn revoke_key(&self, id: &KeyId, at: Timestamp) -> Ticket<bool> {
        self.run(|state| Ok(state.keys.get_mut(id).map(|key| key.revoked_at.get_or_insert(at)).is_some()))
    }
    fn touch_key(&self, id: &KeyId, at: Timestamp) -> Ticket<()> {
        self.run(|state| {
            if let Some(key) = state.keys.get_mut(id) {
                key.last_used_at = Some(at);
            }
            Ok(())
        })
    }
    fn put_credential(&self, credential: Credential) -> Ticket<()> {
        self.run(|state| {
            let version = state.number();
            state.credentials.retain(|_, known| known.id != credential.id);
            state.credentials.insert(version, credential);
            Ok(())
        })
    }
    fn credentials(&self, after: u64) -> Ticket<Vec<(u64, Credential)>> {
        self.run(|state| {
            let newer = state.credentials.range(after.saturating_add(1)..);
            Ok(newer.map(|(version, credential)| (*version, credential.clone())).collect())
        })
    }
    fn drop_credentials(&self, expired_before: Timestamp) -> Ticket<u64> {
        self.run(|state| {
            let before = state.credentials.len();
            state.credentials.retain(|_, known| known.expires_at >= expired_before);
            Ok((before - state.credentials.len()) as u64)
        })
    }
}

impl Maintenance for MemoryLog {
    fn expired(&self, query: ExpiredQuery) -> Ticket<Vec<Expired>> {
        self.run(|state| Ok(state.expired(&query)))
    }
    fn noted_time(&self) -> Ticket<Option<Timestamp>> {
        self.run(|state| Ok(state.noted_time))
    }
    fn note_time(&self, time: Timestamp) -> Ticket<()> {
        self.run(|state| {
            state.noted_time = Some(time);
            Ok(())
        })
    }
    fn set_quotas(&self, quotas: StorageQuotas) {
        self.lock().quotas = quotas;
    }
    fn usage(&self, tenant: Option<&TenantId>) -> Ticket<Vec<(TenantId, Usage)>> {
        self.run(|state| Ok(state.usage_of(tenant)))
    }
    fn backup(&self, _to: &Path) -> Ticket<()> {
        Ticket::ready(Err(Error::Invalid { what: "backup of a log in memory".to_owned() }))
    }
    fn verify(&self) -> Ticket<Verification> {
        self.run(|state| Ok(state.verify()))
    }
    fn stats(&self) -> Ticket<Stats> {
        self.run(|state| Ok(state.stats()))
    }
    fn health(&self) -> Health {
        Health::Ready
    }
    fn close(&self) -> Ticket<()> {
        self.closed.store(true, Ordering::Release);
        Ticket::ready(Ok(()))
    }
}
