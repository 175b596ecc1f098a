//! What the threads of an engine share.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};

use riverrun_event::TenantId;
use riverrun_log::{Listener, LogError, LogHealth, StorageQuota, StorageQuotas, Usage, UsageChange};
use rusqlite::Connection;

use crate::directory::Directory;
use crate::incarnation::incarnation_of;
use crate::options::SqliteOptions;
use crate::signal::{Signal, lock};
use crate::slot::Slots;
use crate::wal_guard::WalGuard;

/// Work for the packing thread, which has a connection to read with.
/// A query on the writer's connection; the returned function sends the answer.
pub type WriterQuery = Box<dyn FnOnce(&Connection) -> Box<dyn FnOnce()> + Send>;

pub struct Shared {
    pub options: SqliteOptions,
    pub directory: Directory,
    pub wal_guard: WalGuard,
    /// Of the whole log; see `incarnation_of`.
    pub incarnation: u64,
    pub slots: Slots,
    pub listener: RwLock<Option<Listener>>,
    pub checkpoint: Signal,
    pub pack: Signal,
    /// What the packing thread is asked to do.
    pub requests: Mutex<VecDeque<WriterQuery>>,
    /// A deleted session left chunks in groups; they are to be packed so that these chunks go.
    pub erase: AtomicBool,
    health: Mutex<LogHealth>,
    groups: Mutex<VecDeque<(i64, usize)>>,
    live_bytes: AtomicUsize,
    /// Pages committed since the last restart of the write-ahead file, as far as the writer knows.
    pub wal_pages: AtomicU64,
    pub quotas: RwLock<StorageQuotas>,
    /// What each tenant has stored, as of the last commit.
    pub usage: Mutex<foldhash::HashMap<TenantId, Usage>>,
    /// The log was restored at some time, so some events have ids of another incarnation.
    pub has_origins: AtomicBool,
}

impl Shared {
    pub fn new(options: SqliteOptions, directory: Directory, wal_guard: WalGuard, incarnation: u64) -> Self {
        Self {
            options,
            directory,
            wal_guard,
            incarnation,
            slots: Slots::default(),
            listener: RwLock::default(),
            checkpoint: Signal::default(),
            pack: Signal::default(),
            requests: Mutex::default(),
            erase: AtomicBool::new(false),
            health: Mutex::new(LogHealth::Ready),
            groups: Mutex::default(),
            live_bytes: AtomicUsize::new(0),
            wal_pages: AtomicU64::new(0),
            quotas: RwLock::default(),
            usage: Mutex::default(),
            has_origins: AtomicBool::new(false),
        }
    }

    pub fn quota_of(&self, tenant: &TenantId) -> StorageQuota {
        self.quotas.read().unwrap_or_else(PoisonError::into_inner).of(tenant)
    }

    /// What a tenant has stored, as of the last commit.
    pub fn used(&self, tenant: &TenantId) -> Usage {
        lock(&self.usage).get(tenant).copied().unwrap_or_default()
    }

    pub fn change_usage(&self, tenant: &TenantId, change: UsageChange) {
        let mut usage = lock(&self.usage);
        if let Some(used) = usage.get_mut(tenant) {
            used.change(change);
            if *used == Usage::default() {
                usage.remove(tenant);
            }
            return;
        }
        let mut used = Usage::default();
        used.change(change);
        if used != Usage::default() {
            usage.insert(tenant.clone(), used);
        }
    }

    pub fn health(&self) -> LogHealth {
        lock(&self.health).clone()
    }

    pub fn set_health(&self, health: LogHealth) {
        *lock(&self.health) = health;
    }

    /// The first failure stays and is reported once. Every later append is refused with it.
    pub fn fail(&self, what: &str) {
        let mut health = lock(&self.health);
        if matches!(*health, LogHealth::Failed(_)) {
            return;
        }
        *health = LogHealth::Failed(what.to_owned());
        drop(health);
        if let Some(on_fatal) = &self.options.on_fatal {
            on_fatal(what);
        }
    }

    pub fn failure(&self) -> Option<LogError> {
        match self.health() {
            LogHealth::Failed(what) => Some(LogError::Failed(what)),
            LogHealth::Ready | LogHealth::Full => None,
        }
    }

    /// Notes pages that were committed. Once a quarter of the write-ahead file is full, it is time to copy them.
    pub fn note_pages(&self, pages: u64) {
        let total = self.wal_pages.fetch_add(pages, Ordering::Relaxed) + pages;
        if self.is_time_to_copy(total) {
            self.checkpoint.raise();
        }
    }

    pub fn is_time_to_copy(&self, pages: u64) -> bool {
        pages * 4096 > self.options.wal_bytes / 4
    }

    /// Notes a committed group.
    pub fn add_group(&self, number: i64, bytes: usize) {
        lock(&self.groups).push_back((number, bytes));
        let live = self.live_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if live > self.options.live_bytes {
            self.pack.raise();
        }
    }

    /// Forgets the groups up to and with `through`, whose chunks are packed.
    pub fn drop_groups(&self, through: i64) {
        let mut groups = lock(&self.groups);
        while let Some((_, bytes)) = groups.front().copied().filter(|(number, _)| *number <= through) {
            groups.pop_front();
            self.live_bytes.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    /// The newest of the oldest groups that make up the excess over half of the limit, or None if there is no excess.
    pub fn excess(&self) -> Option<i64> {
        let live = self.live_bytes.load(Ordering::Relaxed);
        let limit = self.options.live_bytes;
        if live <= limit {
            return None;
        }
        let mut sum = 0;
        let groups = lock(&self.groups);
        let enough = groups.iter().find(|(_, size)| {
            sum += size;
            sum >= live - limit / 2
        });
        enough.map(|(number, _)| *number)
    }

    pub fn newest_group(&self) -> Option<i64> {
        lock(&self.groups).back().map(|(number, _)| *number)
    }

    pub fn has_group_up_to(&self, through: i64) -> bool {
        lock(&self.groups).front().is_some_and(|(number, _)| *number <= through)
    }

    /// The groups up to `through` in parts of about `bytes`, each named by its last group.
    pub fn parts(&self, through: i64, bytes: usize) -> Vec<i64> {
        let mut parts = Vec::new();
        let mut sum = 0;
        for (number, size) in lock(&self.groups).iter().take_while(|(number, _)| *number <= through) {
            sum += size;
            if sum >= bytes {
                parts.push(*number);
                sum = 0;
            }
        }
        parts.push(through);
        parts
    }

    /// Tells apart sessions that had the same name, and histories that had the same beginning.
    pub fn incarnation_of(&self, session: i64) -> u32 {
        incarnation_of(self.incarnation, session)
    }
}
