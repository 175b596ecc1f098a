//! The contract, each call sent to where it is answered: memory, a reader, the writer, or the packing thread.

use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use riverrun_event::{
    ActionId, CommandId, IdOrigin, KeyId, OwnerId, ProducerId, Sequence, ShareId, TaskId, TenantId, TurnId,
};
use riverrun_log::{
    ActionQuery, ActionRecord, ApiKey, Append, BlobContent, BlobId, BlobInfo, BlobStore, Catalogue, Chunk,
    CommandStore, CommitFeed, Created, Credential, DurableAppend, Enqueued, EventStore, Expired,
    ExpiredQuery, IdempotencyRecord, KeyStore, Lease, ListPage, Listener, LogError, LogHealth, LogTicket,
    Maintenance, NewBlob, NewCommand, ProducerState, Remembered, RemoteListener, Sealed, SealedTurnRecord,
    SessionHead, SessionKey, SessionQuery, SessionRecord, SessionSpec, Shard, ShardLeases, ShardState,
    ShareRecord, Snapshot, SnapshotFound, Stats, StorageQuotas, StoredCommand, TaskRecord, TurnRecord,
    UnixMillis, Urgency, Usage, Verification, WorkScope,
};
use rusqlite::Connection;

use crate::engine::Engine;
use crate::failure::TransactionFault;
use crate::queue::Work;
use crate::readers::plain;
use crate::retire::Limit;
use crate::shared::Shared;
use crate::signal::lock;
use crate::writer_state::WriterState;
use crate::{
    SqliteLog, backup, catalogue, commands, connection, credentials, deletions, keys, leases, pack, read,
    retire, rows, sessions, shares, sidecar, usage, verify,
};

impl SqliteLog {
    /// A change that makes more of what is stored: refused on a full disk.
    fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut WriterState) -> Result<T, TransactionFault> + Send + 'static,
    ) -> LogTicket<T> {
        self.engine.queue.submit(Urgency::Normal, work)
    }

    /// A change that ends something: tried even on a full disk.
    fn write_reserved<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut WriterState) -> Result<T, TransactionFault> + Send + 'static,
    ) -> LogTicket<T> {
        self.engine.queue.submit(Urgency::Reserved, work)
    }

    fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Connection, &Shared) -> Result<T, TransactionFault> + Send + 'static,
    ) -> LogTicket<T> {
        let engine = Arc::clone(&self.engine);
        self.readers.ask(move |connection| question(connection, &engine))
    }

    /// Work for the packing thread. What several of them ask of the writer is waited for together.
    fn request<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection, &Engine) -> Result<LogTicket<T>, LogError> + Send + 'static,
    ) -> LogTicket<T> {
        let (promise, ticket) = LogTicket::pending();
        let engine = Arc::clone(&self.engine);
        let mut requests = lock(&self.engine.requests);
        // Under the lock: closing clears the requests after it closed the queue, so none is left behind.
        if self.engine.queue.is_closed() {
            return LogTicket::ready(Err(LogError::Closed));
        }
        requests.push_back(Box::new(move |connection| {
            let asked = work(connection, &engine);
            Box::new(move || promise.resolve(asked.and_then(LogTicket::wait)))
        }));
        drop(requests);
        self.engine.pack.raise();
        ticket
    }

    /// Long work with a connection of its own, so that it holds up nobody.
    fn apart<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Path) -> Result<T, LogError> + Send + 'static,
    ) -> LogTicket<T> {
        if self.engine.queue.is_closed() {
            return LogTicket::ready(Err(LogError::Closed));
        }
        let (promise, ticket) = LogTicket::pending();
        let store = self.engine.directory.store();
        let thread = std::thread::Builder::new().name("log-apart".to_owned());
        // If no thread can be had, the promise is dropped and the ticket says so.
        let _ = thread.spawn(move || promise.resolve(work(&store)));
        ticket
    }
}

impl ShardLeases for SqliteLog {
    fn shard_count(&self) -> u16 {
        leases::SHARDS
    }
    fn shards(&self) -> LogTicket<Vec<ShardState>> {
        let now = self.engine.options.clock.now();
        self.ask(move |connection, _| plain(leases::list(connection, now)))
    }
    fn acquire(&self, shard: Shard, owner: &OwnerId, ttl: Duration) -> LogTicket<Lease> {
        let owner = owner.clone();
        self.write_reserved(move |writer| leases::acquire(writer, shard, &owner, ttl))
    }
    fn renew(&self, lease: &Lease, ttl: Duration) -> LogTicket<Lease> {
        let lease = lease.clone();
        self.write_reserved(move |writer| leases::renew(writer, &lease, ttl))
    }
    fn release(&self, lease: &Lease) -> LogTicket<()> {
        let lease = lease.clone();
        self.write_reserved(move |writer| leases::release(writer, &lease))
    }
}

impl EventStore for SqliteLog {
    fn append(&self, append: Append) -> LogTicket<DurableAppend> {
        let (promise, ticket) = LogTicket::pending();
        self.engine.queue.push(Work::Append(Box::new(append), promise));
        ticket
    }
    fn read(&self, key: &SessionKey, after: Sequence, max_bytes: usize) -> LogTicket<Vec<Chunk>> {
        if self.engine.queue.is_closed() {
            return LogTicket::ready(Err(LogError::Closed));
        }
        if let Some(answer) = read::from_memory(&self.engine, key, after, max_bytes) {
            return LogTicket::ready(answer);
        }
        let key = key.clone();
        self.ask(move |connection, shared| read::from_store(connection, shared, &key, after, max_bytes))
    }
    fn head(&self, key: &SessionKey) -> LogTicket<Option<SessionHead>> {
        if let Some(slot) = self.engine.slots.get(key) {
            return LogTicket::ready(Ok(Some(slot.lock().head)));
        }
        let key = key.clone();
        self.ask(move |connection, shared| {
            let head = plain(rows::head(connection, &key, shared))?;
            Ok(head.map(|row| {
                let slot = shared.slots.get(&key).filter(|slot| slot.number == row.number);
                slot.map_or(row.state.head, |slot| slot.lock().head)
            }))
        })
    }
    fn id_origins(&self, key: &SessionKey) -> LogTicket<Vec<IdOrigin>> {
        if !self.engine.has_origins.load(std::sync::atomic::Ordering::Relaxed) {
            return LogTicket::ready(Ok(Vec::new()));
        }
        let key = key.clone();
        self.ask(move |connection, _| plain(catalogue::id_origins(connection, &key)))
    }
    fn producer(&self, key: &SessionKey, producer: &ProducerId) -> LogTicket<Option<ProducerState>> {
        let (key, producer) = (key.clone(), producer.clone());
        self.ask(move |connection, _| {
            let session = plain(rows::number(connection, &key))?;
            let session = session.ok_or_else(|| LogError::NoSession(key.session.clone()))?;
            plain(rows::producer(connection, session, &producer))
        })
    }
    fn seal(&self, key: &SessionKey, through: Sequence) -> LogTicket<Sealed> {
        let key = key.clone();
        self.request(move |connection, engine| pack::seal(connection, engine, &key, through))
    }
    fn retire(
        &self,
        key: &SessionKey,
        through: Sequence,
        older_than: Option<UnixMillis>,
    ) -> LogTicket<Sequence> {
        let key = key.clone();
        let limit = Limit { through, older_than };
        self.request(move |connection, engine| {
            retire::retire(connection, engine, &key, limit).map_err(TransactionFault::into_error)
        })
    }
}

impl CommitFeed for SqliteLog {
    fn set_listener(&self, listener: Listener) {
        *self.engine.listener.write().unwrap_or_else(PoisonError::into_inner) = Some(listener);
    }
    fn set_remote_listener(&self, _listener: RemoteListener) {
        // The directory is locked: there is no other instance.
    }
}

impl BlobStore for SqliteLog {
    fn put_blob(&self, tenant: &TenantId, blob: NewBlob) -> LogTicket<BlobInfo> {
        let tenant = tenant.clone();
        // Hashed by the caller: the writer's time is everybody's.
        let reference = BlobId::of(&blob.bytes);
        self.write(move |writer| sidecar::put_blob(writer, &tenant, &blob, &reference))
    }
    fn blob(&self, tenant: &TenantId, reference: &BlobId) -> LogTicket<Option<BlobContent>> {
        let (tenant, reference) = (tenant.clone(), reference.clone());
        self.ask(move |connection, _| sidecar::blob(connection, &tenant, &reference))
    }
    fn blob_info(&self, tenant: &TenantId, reference: &BlobId) -> LogTicket<Option<BlobInfo>> {
        let (tenant, reference) = (tenant.clone(), reference.clone());
        self.ask(move |connection, _| plain(sidecar::blob_info(connection, &tenant, &reference)))
    }
    fn put_snapshot(&self, key: &SessionKey, snapshot: Snapshot) -> LogTicket<()> {
        let key = key.clone();
        let packed = match sidecar::pack(&snapshot.bytes) {
            Ok(packed) => packed,
            Err(error) => return LogTicket::ready(Err(error)),
        };
        let hash = sidecar::hash(&snapshot.bytes);
        self.write(move |writer| sidecar::put_snapshot(writer, &key, snapshot.sequence, hash, &packed))
    }
    fn snapshot(&self, key: &SessionKey, at_or_before: Sequence) -> LogTicket<SnapshotFound> {
        let key = key.clone();
        self.ask(move |connection, _| sidecar::snapshot(connection, &key, at_or_before))
    }
    fn put_sealed_turn(&self, key: &SessionKey, turn: SealedTurnRecord) -> LogTicket<()> {
        let key = key.clone();
        let packed = match sidecar::pack(&turn.bytes) {
            Ok(packed) => packed,
            Err(error) => return LogTicket::ready(Err(error)),
        };
        self.write(move |writer| sidecar::put_sealed_turn(writer, &key, &turn, &packed))
    }
    fn sealed_turn(&self, key: &SessionKey, turn: &TurnId) -> LogTicket<Option<SealedTurnRecord>> {
        let (key, turn) = (key.clone(), turn.clone());
        self.ask(move |connection, _| sidecar::sealed_turn(connection, &key, "turn", turn.as_str()))
    }
    fn sealed_turns(
        &self,
        key: &SessionKey,
        through: Sequence,
        most: usize,
        max_bytes: usize,
    ) -> LogTicket<Vec<SealedTurnRecord>> {
        let key = key.clone();
        self.ask(move |connection, _| sidecar::sealed_turns(connection, &key, through, most, max_bytes))
    }
    fn sealed_turn_of_task(&self, key: &SessionKey, task: &TaskId) -> LogTicket<Option<SealedTurnRecord>> {
        let (key, task) = (key.clone(), task.clone());
        self.ask(move |connection, _| sidecar::sealed_turn(connection, &key, "task", task.as_str()))
    }
}

impl Catalogue for SqliteLog {
    fn create_session(&self, key: &SessionKey, new: SessionSpec) -> LogTicket<Created> {
        let key = key.clone();
        self.write(move |writer| sessions::create(writer, &key, new))
    }
    fn session(&self, key: &SessionKey) -> LogTicket<Option<SessionRecord>> {
        let key = key.clone();
        self.ask(move |connection, shared| plain(catalogue::session(connection, shared, &key)))
    }
    fn sessions(&self, query: SessionQuery) -> LogTicket<ListPage<SessionRecord>> {
        self.ask(move |connection, shared| catalogue::sessions(connection, shared, &query))
    }
    fn delete_session(&self, key: &SessionKey) -> LogTicket<bool> {
        let key = key.clone();
        self.write_reserved(move |writer| sessions::delete(writer, &key))
    }
    fn note_deletion(&self, key: &SessionKey, at: UnixMillis) -> LogTicket<()> {
        let key = key.clone();
        self.write_reserved(move |writer| deletions::note(writer, &key, at))
    }
    fn deleted_at(&self, key: &SessionKey) -> LogTicket<Option<UnixMillis>> {
        let key = key.clone();
        self.ask(move |connection, _| plain(deletions::find(connection, &key)))
    }
    fn drop_deletions(&self, before: UnixMillis) -> LogTicket<u64> {
        self.write_reserved(move |writer| deletions::drop_old(writer, before))
    }
    fn action(&self, key: &SessionKey, action: &ActionId) -> LogTicket<Option<ActionRecord>> {
        let (key, action) = (key.clone(), action.clone());
        self.ask(move |connection, _| plain(catalogue::action(connection, &key, &action)))
    }
    fn pending_actions(&self, query: ActionQuery) -> LogTicket<ListPage<ActionRecord>> {
        self.ask(move |connection, _| catalogue::pending_actions(connection, &query))
    }
    fn turn(&self, key: &SessionKey, turn: &TurnId) -> LogTicket<Option<TurnRecord>> {
        let (key, turn) = (key.clone(), turn.clone());
        self.ask(move |connection, _| plain(catalogue::turn(connection, &key, &turn)))
    }
    fn turns(&self, key: &SessionKey, before: Option<Sequence>, most: usize) -> LogTicket<Vec<TurnRecord>> {
        let key = key.clone();
        self.ask(move |connection, _| plain(catalogue::turns(connection, &key, before, most)))
    }
    fn open_turns(&self, scope: WorkScope) -> LogTicket<Vec<TurnRecord>> {
        self.ask(move |connection, _| plain(catalogue::open_turns(connection, &scope)))
    }
    fn find_turn(&self, tenant: &TenantId, turn: &TurnId) -> LogTicket<Vec<TurnRecord>> {
        let (tenant, turn) = (tenant.clone(), turn.clone());
        self.ask(move |connection, _| plain(catalogue::find_turn(connection, &tenant, &turn)))
    }
    fn find_task(&self, tenant: &TenantId, task: &TaskId) -> LogTicket<Vec<TaskRecord>> {
        let (tenant, task) = (tenant.clone(), task.clone());
        self.ask(move |connection, _| plain(catalogue::find_task(connection, &tenant, &task)))
    }
    fn put_share(&self, share: ShareRecord) -> LogTicket<()> {
        // A revocation must work on a full disk.
        match share.revoked_at {
            Some(_) => self.write_reserved(move |writer| shares::put(writer, &share)),
            None => self.write(move |writer| shares::put(writer, &share)),
        }
    }
    fn share(&self, id: &ShareId) -> LogTicket<Option<ShareRecord>> {
        let id = id.clone();
        self.ask(move |connection, _| plain(shares::one(connection, &id)))
    }
    fn shares(&self, key: &SessionKey) -> LogTicket<Vec<ShareRecord>> {
        let key = key.clone();
        self.ask(move |connection, _| plain(shares::of_session(connection, &key)))
    }
}

impl CommandStore for SqliteLog {
    fn enqueue(&self, command: NewCommand) -> LogTicket<Enqueued> {
        self.write(move |writer| {
            let session = writer.session(&command.key)?;
            commands::enqueue(&writer.connection, session, command)
        })
    }
    fn pending_commands(&self, scope: WorkScope) -> LogTicket<Vec<StoredCommand>> {
        self.ask(move |connection, _| plain(commands::pending(connection, &scope)))
    }
    fn command(&self, key: &SessionKey, id: &CommandId) -> LogTicket<Option<StoredCommand>> {
        let (key, id) = (key.clone(), id.clone());
        self.ask(move |connection, _| plain(commands::get(connection, &key, &id)))
    }
    fn complete_command(&self, key: &SessionKey, id: &CommandId, outcome: Bytes) -> LogTicket<()> {
        let (key, id) = (key.clone(), id.clone());
        self.write_reserved(move |writer| {
            let session = writer.session(&key)?;
            commands::complete(&writer.connection, session, &id, &outcome)
        })
    }
    fn remember(&self, record: IdempotencyRecord) -> LogTicket<Remembered> {
        self.write(move |writer| {
            let now = writer.shared.options.clock.now();
            commands::remember(&writer.connection, record, now)
        })
    }
    fn remembered(&self, tenant: &TenantId, scope: &str) -> LogTicket<Option<IdempotencyRecord>> {
        let (tenant, scope) = (tenant.clone(), scope.to_owned());
        let now = self.engine.options.clock.now();
        self.ask(move |connection, _| plain(commands::answer(connection, &tenant, &scope, now)))
    }
}

impl KeyStore for SqliteLog {
    fn put_key(&self, key: ApiKey) -> LogTicket<()> {
        self.write(move |writer| keys::put(writer, &key))
    }
    fn key(&self, id: &KeyId) -> LogTicket<Option<ApiKey>> {
        let id = id.clone();
        self.ask(move |connection, _| plain(keys::get(connection, &id)))
    }
    fn keys(&self, tenant: Option<&TenantId>) -> LogTicket<Vec<ApiKey>> {
        let tenant = tenant.cloned();
        self.ask(move |connection, _| plain(keys::list(connection, tenant.as_ref())))
    }
    fn revoke_key(&self, id: &KeyId, at: UnixMillis) -> LogTicket<bool> {
        let id = id.clone();
        self.write_reserved(move |writer| keys::revoke(writer, &id, at))
    }
    fn touch_key(&self, id: &KeyId, at: UnixMillis) -> LogTicket<()> {
        let id = id.clone();
        self.write(move |writer| keys::touch(writer, &id, at))
    }
    fn put_credential(&self, credential: Credential) -> LogTicket<()> {
        // A revocation must work on a full disk.
        match credential.revoked_at {
            Some(_) => self.write_reserved(move |writer| credentials::put(writer, &credential)),
            None => self.write(move |writer| credentials::put(writer, &credential)),
        }
    }
    fn credentials(&self, after: u64) -> LogTicket<Vec<(u64, Credential)>> {
        self.ask(move |connection, _| plain(credentials::list(connection, after)))
    }
    fn drop_credentials(&self, expired_before: UnixMillis) -> LogTicket<u64> {
        self.write(move |writer| credentials::drop_expired(writer, expired_before))
    }
}

impl Maintenance for SqliteLog {
    fn expired(&self, query: ExpiredQuery) -> LogTicket<Vec<Expired>> {
        self.ask(move |connection, _| plain(catalogue::expired(connection, &query)))
    }
    fn noted_time(&self) -> LogTicket<Option<UnixMillis>> {
        self.ask(move |connection, _| plain(rows::noted_time(connection)))
    }
    fn note_time(&self, time: UnixMillis) -> LogTicket<()> {
        self.write_reserved(move |writer| Ok(rows::note_time(&writer.connection, time)?))
    }
    fn set_quotas(&self, quotas: StorageQuotas) {
        *self.engine.quotas.write().unwrap_or_else(PoisonError::into_inner) = quotas;
    }
    fn usage(&self, tenant: Option<&TenantId>) -> LogTicket<Vec<(TenantId, Usage)>> {
        if self.engine.queue.is_closed() {
            return LogTicket::ready(Err(LogError::Closed));
        }
        LogTicket::ready(Ok(usage::of(&self.engine, tenant)))
    }
    fn backup(&self, to: &Path) -> LogTicket<()> {
        let to = to.to_owned();
        self.apart(move |store| backup::run(store, &to))
    }
    fn verify(&self) -> LogTicket<Verification> {
        self.apart(move |store| {
            let checked = connection::open_reader(store).and_then(|connection| verify::run(&connection));
            checked.map_err(|error| TransactionFault::from(error).into_error())
        })
    }
    fn stats(&self) -> LogTicket<Stats> {
        self.ask(move |connection, shared| plain(stats(connection, shared)))
    }
    fn health(&self) -> LogHealth {
        self.engine.health()
    }
    fn close(&self) -> LogTicket<()> {
        self.shut();
        LogTicket::ready(Ok(()))
    }
}

fn stats(connection: &Connection, shared: &Shared) -> rusqlite::Result<Stats> {
    let count =
        |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).map(|count| count as u64);
    Ok(Stats {
        sessions: count("SELECT count(*) FROM sessions")?,
        events: count("SELECT coalesce(sum(last - first_available + 1), 0) FROM heads")?,
        event_bytes: count("SELECT coalesce(sum(length(bytes)), 0) FROM segments")?
            + count("SELECT coalesce(sum(length(bytes)), 0) FROM groups")?,
        blob_bytes: count("SELECT coalesce(sum(size), 0) FROM blobs")?,
        disk_bytes: shared.directory.bytes(),
    })
}
