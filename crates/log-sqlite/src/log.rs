//! The contract, each call sent to where it is answered: memory, a reader, the writer, or the packing thread.

use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use riverrun_event::{
    ActionId, CommandId, IdOrigin, KeyId, OwnerId, ProducerId, Sequence, ShareId, TaskId, TenantId, TurnId,
};
use riverrun_log::{
    ActionQuery, ActionRecord, ApiKey, Append, Appended, Blob, BlobInfo, BlobRef, BlobStore, Catalogue,
    Chunk, Command, CommandStore, CommitFeed, Created, Credential, Enqueued, Error, EventStore, Expired,
    ExpiredQuery, Health, IdempotencyRecord, KeyStore, Lease, Listener, Maintenance, NewBlob, NewCommand,
    NewSession, Page, ProducerState, Remembered, RemoteListener, Sealed, SealedTurn, SessionHead, SessionKey,
    SessionQuery, SessionRecord, Shard, ShardLeases, ShardState, Share, Snapshot, SnapshotFound, Stats,
    StorageQuotas, TaskRecord, Ticket, Timestamp, TurnRecord, Urgency, Usage, Verification, WorkScope,
};
use rusqlite::Connection;

use crate::engine::Engine;
use crate::failure::Fault;
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
        work: impl FnOnce(&mut WriterState) -> Result<T, Fault> + Send + 'static,
    ) -> Ticket<T> {
        self.engine.queue.submit(Urgency::Normal, work)
    }

    /// A change that ends something: tried even on a full disk.
    fn write_reserved<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut WriterState) -> Result<T, Fault> + Send + 'static,
    ) -> Ticket<T> {
        self.engine.queue.submit(Urgency::Reserved, work)
    }

    fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Connection, &Shared) -> Result<T, Fault> + Send + 'static,
    ) -> Ticket<T> {
        let engine = Arc::clone(&self.engine);
        self.readers.ask(move |connection| question(connection, &engine))
    }

    /// Work for the packing thread. What several of them ask of the writer is waited for together.
    fn request<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection, &Engine) -> Result<Ticket<T>, Error> + Send + 'static,
    ) -> Ticket<T> {
        let (promise, ticket) = Ticket::pending();
        let engine = Arc::clone(&self.engine);
        let mut requests = lock(&self.engine.requests);
        // Under the lock: closing clears the requests after it closed the queue, so none is left behind.
        if self.engine.queue.is_closed() {
            return Ticket::ready(Err(Error::Closed));
        }
        requests.push_back(Box::new(move |connection| {
            let asked = work(connection, &engine);
            Box::new(move || promise.resolve(asked.and_then(Ticket::wait)))
        }));
        drop(requests);
        self.engine.pack.raise();
        ticket
    }

    /// Long work with a connection of its own, so that it holds up nobody.
    fn apart<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Path) -> Result<T, Error> + Send + 'static,
    ) -> Ticket<T> {
        if self.engine.queue.is_closed() {
            return Ticket::ready(Err(Error::Closed));
        }
        let (promise, ticket) = Ticket::pending();
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
    fn shards(&self) -> Ticket<Vec<ShardState>> {
        let now = self.engine.options.clock.now();
        self.ask(move |connection, _| plain(leases::list(connection, now)))
    }
    fn acquire(&self, shard: Shard, owner: &OwnerId, ttl: Duration) -> Ticket<Lease> {
        let owner = owner.clone();
        self.write_reserved(move |writer| leases::acquire(writer, shard, &owner, ttl))
    }
    fn renew(&self, lease: &Lease, ttl: Duration) -> Ticket<Lease> {
        let lease = lease.clone();
        self.write_reserved(move |writer| leases::renew(writer, &lease, ttl))
    }
    fn release(&self, lease: &Lease) -> Ticket<()> {
        let lease = lease.clone();
        self.write_reserved(move |writer| leases::release(writer, &lease))
    }
}

impl EventStore for SqliteLog {
    fn append(&self, append: Append) -> Ticket<Appended> {
        let (promise, ticket) = Ticket::pending();
        self.engine.queue.push(Work::Append(Box::new(append), promise));
        ticket
    }
    fn read(&self, key: &SessionKey, after: Sequence, max_bytes: usize) -> Ticket<Vec<Chunk>> {
        if self.engine.queue.is_closed() {
            return Ticket::ready(Err(Error::Closed));
        }
        if let Some(answer) = read::from_memory(&self.engine, key, after, max_bytes) {
            return Ticket::ready(answer);
        }
        let key = key.clone();
        self.ask(move |connection, shared| read::from_store(connection, shared, &key, after, max_bytes))
    }
    fn head(&self, key: &SessionKey) -> Ticket<Option<SessionHead>> {
        if let Some(slot) = self.engine.slots.get(key) {
            return Ticket::ready(Ok(Some(slot.lock().head)));
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
    fn id_origins(&self, key: &SessionKey) -> Ticket<Vec<IdOrigin>> {
        if !self.engine.has_origins.load(std::sync::atomic::Ordering::Relaxed) {
            return Ticket::ready(Ok(Vec::new()));
        }
        let key = key.clone();
        self.ask(move |connection, _| plain(catalogue::id_origins(connection, &key)))
    }
    fn producer(&self, key: &SessionKey, producer: &ProducerId) -> Ticket<Option<ProducerState>> {
        let (key, producer) = (key.clone(), producer.clone());
        self.ask(move |connection, _| {
            let session = plain(rows::number(connection, &key))?;
            let session = session.ok_or_else(|| Error::NoSession(key.session.clone()))?;
            plain(rows::producer(connection, session, &producer))
        })
    }
    fn seal(&self, key: &SessionKey, through: Sequence) -> Ticket<Sealed> {
        let key = key.clone();
        self.request(move |connection, engine| pack::seal(connection, engine, &key, through))
    }
    fn retire(&self, key: &SessionKey, through: Sequence, older_than: Option<Timestamp>) -> Ticket<Sequence> {
        let key = key.clone();
        let limit = Limit { through, older_than };
        self.request(move |connection, engine| {
            retire::retire(connection, engine, &key, limit).map_err(Fault::into_error)
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
    fn put_blob(&self, tenant: &TenantId, blob: NewBlob) -> Ticket<BlobInfo> {
        let tenant = tenant.clone();
        // Hashed by the caller: the writer's time is everybody's.
        let reference = BlobRef::of(&blob.bytes);
        self.write(move |writer| sidecar::put_blob(writer, &tenant, &blob, &reference))
    }
    fn blob(&self, tenant: &TenantId, reference: &BlobRef) -> Ticket<Option<Blob>> {
        let (tenant, reference) = (tenant.clone(), reference.clone());
        self.ask(move |connection, _| sidecar::blob(connection, &tenant, &reference))
    }
    fn blob_info(&self, tenant: &TenantId, reference: &BlobRef) -> Ticket<Option<BlobInfo>> {
        let (tenant, reference) = (tenant.clone(), reference.clone());
        self.ask(move |connection, _| plain(sidecar::blob_info(connection, &tenant, &reference)))
    }
    fn put_snapshot(&self, key: &SessionKey, snapshot: Snapshot) -> Ticket<()> {
        let key = key.clone();
        let packed = match sidecar::pack(&snapshot.bytes) {
            Ok(packed) => packed,
            Err(error) => return Ticket::ready(Err(error)),
        };
        let hash = sidecar::hash(&snapshot.bytes);
        self.write(move |writer| sidecar::put_snapshot(writer, &key, snapshot.sequence, hash, &packed))
    }
    fn snapshot(&self, key: &SessionKey, at_or_before: Sequence) -> Ticket<SnapshotFound> {
        let key = key.clone();
        self.ask(move |connection, _| sidecar::snapshot(connection, &key, at_or_before))
    }
    fn put_sealed_turn(&self, key: &SessionKey, turn: SealedTurn) -> Ticket<()> {
        let key = key.clone();
        let packed = match sidecar::pack(&turn.bytes) {
            Ok(packed) => packed,
            Err(error) => return Ticket::ready(Err(error)),
        };
        self.write(move |writer| sidecar::put_sealed_turn(writer, &key, &turn, &packed))
    }
    fn sealed_turn(&self, key: &SessionKey, turn: &TurnId) -> Ticket<Option<SealedTurn>> {
        let (key, turn) = (key.clone(), turn.clone());
        self.ask(move |connection, _| sidecar::sealed_turn(connection, &key, "turn", turn.as_str()))
    }
    fn sealed_turns(
        &self,
        key: &SessionKey,
        through: Sequence,
        most: usize,
        max_bytes: usize,
    ) -> Ticket<Vec<SealedTurn>> {
        let key = key.clone();
        self.ask(move |connection, _| sidecar::sealed_turns(connection, &key, through, most, max_bytes))
    }
    fn sealed_turn_of_task(&self, key: &SessionKey, task: &TaskId) -> Ticket<Option<SealedTurn>> {
        let (key, task) = (key.clone(), task.clone());
        self.ask(move |connection, _| sidecar::sealed_turn(connection, &key, "task", task.as_str()))
    }
}

impl Catalogue for SqliteLog {
    fn create_session(&self, key: &SessionKey, new: NewSession) -> Ticket<Created> {
        let key = key.clone();
        self.write(move |writer| sessions::create(writer, &key, new))
    }
    fn session(&self, key: &SessionKey) -> Ticket<Option<SessionRecord>> {
        let key = key.clone();
        self.ask(move |connection, shared| plain(catalogue::session(connection, shared, &key)))
    }
    fn sessions(&self, query: SessionQuery) -> Ticket<Page<SessionRecord>> {
        self.ask(move |connection, shared| catalogue::sessions(connection, shared, &query))
    }
    fn delete_session(&self, key: &SessionKey) -> Ticket<bool> {
        let key = key.clone();
        self.write_reserved(move |writer| sessions::delete(writer, &key))
    }
    fn note_deletion(&self, key: &SessionKey, at: Timestamp) -> Ticket<()> {
        let key = key.clone();
        self.write_reserved(move |writer| deletions::note(writer, &key, at))
    }
    fn deleted_at(&self, key: &SessionKey) -> Ticket<Option<Timestamp>> {
        let key = key.clone();
        self.ask(move |connection, _| plain(deletions::find(connection, &key)))
    }
    fn drop_deletions(&self, before: Timestamp) -> Ticket<u64> {
        self.write_reserved(move |writer| deletions::drop_old(writer, before))
    }
    fn action(&self, key: &SessionKey, action: &ActionId) -> Ticket<Option<ActionRecord>> {
        let (key, action) = (key.clone(), action.clone());
        self.ask(move |connection, _| plain(catalogue::action(connection, &key, &action)))
    }
    fn pending_actions(&self, query: ActionQuery) -> Ticket<Page<ActionRecord>> {
        self.ask(move |connection, _| catalogue::pending_actions(connection, &query))
    }
    fn turn(&self, key: &SessionKey, turn: &TurnId) -> Ticket<Option<TurnRecord>> {
        let (key, turn) = (key.clone(), turn.clone());
        self.ask(move |connection, _| plain(catalogue::turn(connection, &key, &turn)))
    }
    fn turns(&self, key: &SessionKey, before: Option<Sequence>, most: usize) -> Ticket<Vec<TurnRecord>> {
        let key = key.clone();
        self.ask(move |connection, _| plain(catalogue::turns(connection, &key, before, most)))
    }
    fn open_turns(&self, scope: WorkScope) -> Ticket<Vec<TurnRecord>> {
        self.ask(move |connection, _| plain(catalogue::open_turns(connection, &scope)))
    }
    fn find_turn(&self, tenant: &TenantId, turn: &TurnId) -> Ticket<Vec<TurnRecord>> {
        let (tenant, turn) = (tenant.clone(), turn.clone());
        self.ask(move |connection, _| plain(catalogue::find_turn(connection, &tenant, &turn)))
    }
    fn find_task(&self, tenant: &TenantId, task: &TaskId) -> Ticket<Vec<TaskRecord>> {
        let (tenant, task) = (tenant.clone(), task.clone());
        self.ask(move |connection, _| plain(catalogue::find_task(connection, &tenant, &task)))
    }
    fn put_share(&self, share: Share) -> Ticket<()> {
        // A revocation must work on a full disk.
        match share.revoked_at {
            Some(_) => self.write_reserved(move |writer| shares::put(writer, &share)),
            None => self.write(move |writer| shares::put(writer, &share)),
        }
    }
    fn share(&self, id: &ShareId) -> Ticket<Option<Share>> {
        let id = id.clone();
        self.ask(move |connection, _| plain(shares::one(connection, &id)))
    }
    fn shares(&self, key: &SessionKey) -> Ticket<Vec<Share>> {
        let key = key.clone();
        self.ask(move |connection, _| plain(shares::of_session(connection, &key)))
    }
}

impl CommandStore for SqliteLog {
    fn enqueue(&self, command: NewCommand) -> Ticket<Enqueued> {
        self.write(move |writer| {
            let session = writer.session(&command.key)?;
            commands::enqueue(&writer.connection, session, command)
        })
    }
    fn pending_commands(&self, scope: WorkScope) -> Ticket<Vec<Command>> {
        self.ask(move |connection, _| plain(commands::pending(connection, &scope)))
    }
    fn command(&self, key: &SessionKey, id: &CommandId) -> Ticket<Option<Command>> {
        let (key, id) = (key.clone(), id.clone());
        self.ask(move |connection, _| plain(commands::get(connection, &key, &id)))
    }
    fn complete_command(&self, key: &SessionKey, id: &CommandId, outcome: Bytes) -> Ticket<()> {
        let (key, id) = (key.clone(), id.clone());
        self.write_reserved(move |writer| {
            let session = writer.session(&key)?;
            commands::complete(&writer.connection, session, &id, &outcome)
        })
    }
    fn remember(&self, record: IdempotencyRecord) -> Ticket<Remembered> {
        self.write(move |writer| {
            let now = writer.shared.options.clock.now();
            commands::remember(&writer.connection, record, now)
        })
    }
    fn remembered(&self, tenant: &TenantId, scope: &str) -> Ticket<Option<IdempotencyRecord>> {
        let (tenant, scope) = (tenant.clone(), scope.to_owned());
        let now = self.engine.options.clock.now();
        self.ask(move |connection, _| plain(commands::answer(connection, &tenant, &scope, now)))
    }
}

impl KeyStore for SqliteLog {
    fn put_key(&self, key: ApiKey) -> Ticket<()> {
        self.write(move |writer| keys::put(writer, &key))
    }
    fn key(&self, id: &KeyId) -> Ticket<Option<ApiKey>> {
        let id = id.clone();
        self.ask(move |connection, _| plain(keys::get(connection, &id)))
    }
    fn keys(&self, tenant: Option<&TenantId>) -> Ticket<Vec<ApiKey>> {
        let tenant = tenant.cloned();
        self.ask(move |connection, _| plain(keys::list(connection, tenant.as_ref())))
    }
    fn revoke_key(&self, id: &KeyId, at: Timestamp) -> Ticket<bool> {
        let id = id.clone();
        self.write_reserved(move |writer| keys::revoke(writer, &id, at))
    }
    fn touch_key(&self, id: &KeyId, at: Timestamp) -> Ticket<()> {
        let id = id.clone();
        self.write(move |writer| keys::touch(writer, &id, at))
    }
    fn put_credential(&self, credential: Credential) -> Ticket<()> {
        // A revocation must work on a full disk.
        match credential.revoked_at {
            Some(_) => self.write_reserved(move |writer| credentials::put(writer, &credential)),
            None => self.write(move |writer| credentials::put(writer, &credential)),
        }
    }
    fn credentials(&self, after: u64) -> Ticket<Vec<(u64, Credential)>> {
        self.ask(move |connection, _| plain(credentials::list(connection, after)))
    }
    fn drop_credentials(&self, expired_before: Timestamp) -> Ticket<u64> {
        self.write(move |writer| credentials::drop_expired(writer, expired_before))
    }
}

impl Maintenance for SqliteLog {
    fn expired(&self, query: ExpiredQuery) -> Ticket<Vec<Expired>> {
        self.ask(move |connection, _| plain(catalogue::expired(connection, &query)))
    }
    fn noted_time(&self) -> Ticket<Option<Timestamp>> {
        self.ask(move |connection, _| plain(rows::noted_time(connection)))
    }
    fn note_time(&self, time: Timestamp) -> Ticket<()> {
        self.write_reserved(move |writer| Ok(rows::note_time(&writer.connection, time)?))
    }
    fn set_quotas(&self, quotas: StorageQuotas) {
        *self.engine.quotas.write().unwrap_or_else(PoisonError::into_inner) = quotas;
    }
    fn usage(&self, tenant: Option<&TenantId>) -> Ticket<Vec<(TenantId, Usage)>> {
        if self.engine.queue.is_closed() {
            return Ticket::ready(Err(Error::Closed));
        }
        Ticket::ready(Ok(usage::of(&self.engine, tenant)))
    }
    fn backup(&self, to: &Path) -> Ticket<()> {
        let to = to.to_owned();
        self.apart(move |store| backup::run(store, &to))
    }
    fn verify(&self) -> Ticket<Verification> {
        self.apart(move |store| {
            let checked = connection::open_reader(store).and_then(|connection| verify::run(&connection));
            checked.map_err(|error| Fault::from(error).into_error())
        })
    }
    fn stats(&self) -> Ticket<Stats> {
        self.ask(move |connection, shared| plain(stats(connection, shared)))
    }
    fn health(&self) -> Health {
        self.engine.health()
    }
    fn close(&self) -> Ticket<()> {
        self.shut();
        Ticket::ready(Ok(()))
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
