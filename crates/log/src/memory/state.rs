//! Sessions and appends.

use std::collections::{BTreeMap, HashMap};

use riverrun_event::{KeyId, Sequence, TenantId};

use super::instances::{InstanceId, Instances};
use super::leases::Leases;
use super::session::MemorySession;
use super::store::StoredBlob;
use crate::seeded::{self, Bug};
use crate::{
    Admission, AdmissionState, ApiKey, Append, BlobId, CommandChange, Committed, Created, Credential,
    DurableAppend, Epoch, Fact, IdempotencyRecord, Link, LogError, ProducerState, RemoteChange, SessionHead,
    SessionKey, SessionRecord, SessionSpec, Shard, ShareRecord, StorageQuotas, UnixMillis, Usage,
    UsageChange, admit,
};

pub struct MemoryState {
    pub instances: Instances,
    pub leases: Leases,
    /// What becomes of the next append, if its answer is to be lost.
    pub lost_answer: Option<LostAnswer>,
    pub sessions: HashMap<SessionKey, MemorySession>,
    /// When somebody deleted sessions.
    pub deletions: HashMap<SessionKey, UnixMillis>,
    pub keys: BTreeMap<KeyId, ApiKey>,
    /// By version.
    pub credentials: BTreeMap<u64, Credential>,
    /// In the order in which they were stored.
    pub shares: Vec<ShareRecord>,
    pub(super) blobs: HashMap<(TenantId, BlobId), StoredBlob>,
    pub(super) answers: HashMap<(TenantId, String), IdempotencyRecord>,
    pub quotas: StorageQuotas,
    pub noted_time: Option<UnixMillis>,
    pub(super) usage: HashMap<TenantId, Usage>,
    /// The last number given to a session, a command or an action: one count orders them all.
    numbers: u64,
}

/// What became of an append whose answer is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LostAnswer {
    /// It was stored.
    Stored,
    /// It was not stored.
    NotStored,
}

impl MemoryState {
    pub fn new(shards: u16) -> Self {
        Self {
            instances: Instances::default(),
            leases: Leases::new(shards),
            lost_answer: None,
            sessions: HashMap::new(),
            deletions: HashMap::new(),
            keys: BTreeMap::new(),
            credentials: BTreeMap::new(),
            shares: Vec::new(),
            blobs: HashMap::new(),
            answers: HashMap::new(),
            quotas: StorageQuotas::default(),
            noted_time: None,
            usage: HashMap::new(),
            numbers: 0,
        }
    }

    pub fn shard_of(&self, key: &SessionKey) -> Shard {
        Shard::of(key, self.leases.count())
    }

    pub fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    pub fn find(&self, key: &SessionKey) -> Result<&MemorySession, LogError> {
        self.sessions.get(key).ok_or_else(|| LogError::NoSession(key.session.clone()))
    }

    pub fn find_mut(&mut self, key: &SessionKey) -> Result<&mut MemorySession, LogError> {
        self.sessions.get_mut(key).ok_or_else(|| LogError::NoSession(key.session.clone()))
    }

    pub(super) fn used(&self, tenant: &TenantId) -> Usage {
        self.usage.get(tenant).copied().unwrap_or_default()
    }

    pub(super) fn change_usage(&mut self, tenant: &TenantId, change: UsageChange) {
        let usage = self.usage.entry(tenant.clone()).or_default();
        usage.change(change);
        if *usage == Usage::default() {
            self.usage.remove(tenant);
        }
    }

    pub fn usage_of(&self, tenant: Option<&TenantId>) -> Vec<(TenantId, Usage)> {
        match tenant {
            Some(tenant) => vec![(tenant.clone(), self.used(tenant))],
            None => {
                let mut all: Vec<_> =
                    self.usage.iter().map(|(tenant, usage)| (tenant.clone(), *usage)).collect();
                all.sort_by(|a, b| a.0.cmp(&b.0));
                all
            }
        }
    }

    pub fn create_session(
        &mut self,
        by: InstanceId,
        key: &SessionKey,
        new: SessionSpec,
    ) -> Result<Created, LogError> {
        if let Some(session) = self.sessions.get(key) {
            return Ok(Created { record: session.record.clone(), new: false });
        }
        self.used(&key.tenant).admit_session(self.quotas.of(&key.tenant))?;
        self.deletions.remove(key);
        self.change_usage(&key.tenant, UsageChange { sessions: 1, ..UsageChange::default() });
        let number = self.number();
        let head = SessionHead {
            last: new.start_after,
            link: Link::START,
            first_available: new.start_after.next().unwrap_or(Sequence::MAX),
            incarnation: number as u32,
        };
        let mut record = SessionRecord {
            key: key.clone(),
            title: new.title,
            agent: new.agent,
            status: new.status,
            tags: new.tags,
            metadata: new.metadata,
            created_at: new.created_at,
            updated_at: new.created_at,
            head,
        };
        record.tags.sort();
        record.tags.dedup();
        self.sessions.insert(key.clone(), MemorySession::new(number, record.clone()));
        self.instances.changed(by, &RemoteChange::Created { key: key.clone(), head });
        Ok(Created { record, new: true })
    }

    pub fn append(
        &mut self,
        by: InstanceId,
        append: Append,
        now: UnixMillis,
    ) -> Result<DurableAppend, LogError> {
        let epoch = self.fence(&append);
        let session = self.find(&append.key)?;
        let producer = append.producer.as_ref().and_then(|stamp| session.producers.get(&stamp.id).copied());
        let standing = AdmissionState { epoch, head: &session.record.head, producer };
        let chunk = &append.chunk;
        let (first, last, link) = (chunk.first(), chunk.last(), chunk.link());
        if admit(&append, standing, |first| Ok(session.chunks.get(&first).cloned()))? == Admission::Duplicate
        {
            return Ok(DurableAppend { first, last, link, duplicate: true });
        }
        session.check_commands(&append.commands)?;
        self.check_answers(&append.idempotency, now)?;
        let (tenant, bytes) = (&append.key.tenant, chunk.bytes().len() as u64);
        self.used(tenant).admit_bytes(self.quotas.of(tenant), bytes, append.urgency)?;
        let lost = self.lost_answer.take();
        if lost == Some(LostAnswer::NotStored) {
            return Err(unknown_outcome());
        }
        let (key, committed) = self.apply(append);
        let Some(head) = self.find(&key).ok().map(|session| session.record.head) else {
            return Err(LogError::NoSession(key.session));
        };
        let change = RemoteChange::Appended { key, head };
        if lost == Some(LostAnswer::Stored) {
            self.instances.changed_unnoticed(&change);
            return Err(unknown_outcome());
        }
        self.instances.committed(by, committed);
        self.instances.changed(by, &change);
        Ok(DurableAppend { first, last, link, duplicate: false })
    }

    /// The epoch that the append must have.
    fn fence(&self, append: &Append) -> Epoch {
        if seeded::is_on(Bug::ShardBlindFence) {
            let epochs = Shard::all(self.leases.count()).map(|shard| self.leases.epoch(shard));
            return epochs.max().unwrap_or_default();
        }
        self.leases.epoch(self.shard_of(&append.key))
    }

    fn check_answers(&self, records: &[IdempotencyRecord], now: UnixMillis) -> Result<(), LogError> {
        let known =
            records.iter().find(|record| self.remembered(&record.tenant, &record.scope, now).is_some());
        known.map_or(Ok(()), |record| Err(LogError::IdempotencyExists(record.scope.clone())))
    }

    /// Writes an append that was admitted. Nothing here can fail.
    fn apply(&mut self, append: Append) -> (SessionKey, Committed) {
        let Append { key, chunk, producer, facts, commands, idempotency, .. } = append;
        let log_bytes = chunk.bytes().len() as i64;
        self.change_usage(&key.tenant, UsageChange { log_bytes, ..UsageChange::default() });
        for record in idempotency {
            self.answers.insert((record.tenant.clone(), record.scope.clone()), record);
        }
        for fact in &facts {
            self.use_blob(&key, fact);
        }
        let mut numbers = self.numbers;
        let committed = Committed { key: key.clone(), chunk: chunk.clone() };
        let Some(session) = self.sessions.get_mut(&key) else { return (key, committed) };
        session.apply_facts(facts, &mut numbers);
        for change in commands {
            apply_command(session, change, &mut numbers);
        }
        if let Some(stamp) = producer.filter(|_| !seeded::is_on(Bug::ForgetProducer)) {
            let (first, last) = (chunk.first(), chunk.last());
            let state = ProducerState { epoch: stamp.epoch, sequence: stamp.sequence, first, last };
            session.producers.insert(stamp.id, state);
        }
        session.record.head.advance(&chunk);
        session.record.updated_at = chunk.time();
        session.chunks.insert(chunk.first(), chunk);
        self.numbers = numbers;
        (key, committed)
    }

    fn use_blob(&mut self, key: &SessionKey, fact: &Fact) {
        if let Fact::Blob(reference) = fact
            && let Some(blob) = self.blobs.get_mut(&(key.tenant.clone(), reference.clone()))
        {
            blob.sessions.insert(key.session.clone());
        }
    }
}

fn unknown_outcome() -> LogError {
    LogError::OutcomeUnknown("the connection broke during the commit".to_owned())
}

fn apply_command(session: &mut MemorySession, change: CommandChange, numbers: &mut u64) {
    match change {
        CommandChange::Enqueue(request) => {
            *numbers += 1;
            session.store_command(*numbers, request);
        }
        CommandChange::Claim(id) => session.claim(&id),
        CommandChange::Complete { id, outcome } => {
            // Checked by `check_commands` before anything was written.
            let _ = session.complete(&id, outcome);
        }
    }
}
