//! The embedded engine: one SQLite file, one writing thread, every commit synced before anybody hears of it.
//!
//! It is not a server and knows no events; it keeps the contract of [`riverrun_log::Log`] on one disk.
//! A data directory belongs to one process at a time.
//!
//! ```text
//! callers ──▶ queue ──▶ writer ──▶ groups, heads ──(packing thread)──▶ segments
//!    ▲                    │ after the commit
//!    └── slots (memory) ◀─┘          checkpoints and reads have threads of their own
//! ```

mod backup;
mod catalogue;
mod checkpoint;
mod checkpointer;
mod commands;
mod connection;
mod credentials;
mod deletions;
mod directory;
mod durability_mark;
mod engine;
mod examine;
mod facts;
mod failure;
mod file;
mod format;
mod group;
mod incarnation;
mod keys;
mod leases;
mod log;
mod marks;
mod options;
mod pack;
mod queue;
mod read;
mod readers;
mod recover;
mod retire;
mod rows;
mod schema;
mod segment;
mod sessions;
mod shared;
mod shares;
mod sidecar;
mod signal;
mod slot;
mod standing;
mod store;
mod usage;
mod verify;
mod wal;
mod wal_guard;
mod writer;
mod writer_state;

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle};

use riverrun_log::LogHealth;

use crate::directory::Directory;
pub use crate::directory::STORE;
use crate::engine::Engine;
use crate::failure::{Severity, severity};
pub use crate::options::{OnFatal, OpenLogError, SqliteOptions};
use crate::queue::Queue;
use crate::readers::Readers;
use crate::shared::Shared;
use crate::signal::lock;
use crate::wal_guard::WalGuard;
use crate::writer::Writer;
use crate::writer_state::WriterState;

/// A log in a data directory.
pub struct SqliteLog {
    engine: Arc<Engine>,
    readers: Readers,
    threads: Mutex<Vec<JoinHandle<()>>>,
    recovered: Option<String>,
    lost: Option<String>,
}

impl SqliteLog {
    /// Opens or makes the log of a directory, and brings back what was committed.
    pub fn open(mut options: SqliteOptions) -> Result<Self, OpenLogError> {
        let directory = Directory::open(&options.directory)?;
        directory.scale(&mut options);
        let found = examine::examine(&directory, &options)?;
        directory.prepare_store()?;
        let frames = Arc::new(AtomicU64::new(found.wal.state.frames));
        let store = directory.store();
        let grow = || directory.grow_wal(options.wal_bytes, options.reserve_bytes);
        let is_tight = directory.is_tight(options.wal_bytes);
        let opened = || store::open(&store, options.random.as_deref(), &found, &frames, is_tight, grow);
        let (is_full, opened) = match opened() {
            // A start writes a little; on a full disk that takes what was kept back for it.
            Err(OpenLogError::Store(error)) if severity(&error) == Severity::Full => {
                let _ = directory.give_last_reserve();
                (true, opened())
            }
            opened => (false, opened),
        };
        let (connection, incarnation) = opened?;
        let wal_guard = WalGuard::start(&directory, found.count, frames, options.wal_bytes);
        let wal_guard = wal_guard.map_err(|error| OpenLogError::Io {
            action: "write",
            path: directory.durability_mark(),
            error,
        })?;
        directory.sync()?;
        connection::limit(&connection, options.max_bytes)?;
        if !is_full && !directory.take_reserve(options.reserve_bytes) {
            directory.take_last_reserve(options.reserve_bytes);
        }
        let shared = Arc::new(Shared::new(options, directory, wal_guard, incarnation));
        if is_full {
            // Until there is room again, only what frees space or ends work is taken.
            shared.set_health(LogHealth::Full);
        }
        // A process that never lives long enough to fill the file must not let it grow from start to start.
        shared.note_pages(found.wal.frames);
        let group = recover::load(&connection, &shared)?;
        usage::load(&connection, &shared)?;
        let state = WriterState::new(connection, Arc::clone(&shared), group)?;
        let engine = Arc::new(Engine { shared, queue: Queue::default() });
        let checkpointer = connection::connect(&store)?;
        let packer = connection::open_reader(&store)?;
        let readers = Readers::start(&store, engine.options.readers)?;
        let [for_writer, for_checkpoint, for_pack] = std::array::from_fn(|_| Arc::clone(&engine));
        let threads = vec![
            start("log-writer", move || Writer::new(state, for_writer).run())?,
            start("log-checkpoint", move || checkpointer::run(&for_checkpoint, &checkpointer))?,
            start("log-pack", move || pack::run(&for_pack, &packer))?,
        ];
        Ok(Self {
            engine,
            readers,
            threads: Mutex::new(threads),
            recovered: found.wal.torn,
            lost: found.lost,
        })
    }

    /// What the start found at the end of the write-ahead file and could not bring back.
    pub fn recovered(&self) -> Option<&str> {
        self.recovered.as_deref()
    }

    /// The space that is kept back for a full disk: less than asked for if the disk is small.
    pub fn reserve_bytes(&self) -> u64 {
        self.engine.options.reserve_bytes
    }

    /// What was missing and accepted as lost.
    pub fn lost(&self) -> Option<&str> {
        self.lost.as_deref()
    }

    /// Ends the threads: first those that ask the writer for something, then the readers, then the writer, which
    /// commits what is queued. Its connection is the last to close, so that SQLite puts all pages in place.
    fn shut(&self) {
        let mut threads = lock(&self.threads);
        self.engine.checkpoint.end();
        self.engine.pack.end();
        let writer = (!threads.is_empty()).then(|| threads.remove(0));
        threads.drain(..).for_each(|thread| drop(thread.join()));
        self.readers.close();
        self.engine.queue.close();
        lock(&self.engine.requests).clear();
        if let Some(writer) = writer {
            let _ = writer.join();
        }
    }
}

impl Drop for SqliteLog {
    fn drop(&mut self) {
        self.shut();
    }
}

fn start(name: &str, run: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, OpenLogError> {
    let thread = Builder::new().name(name.to_owned()).spawn(run);
    thread.map_err(|error| OpenLogError::Io { action: "start", path: name.into(), error })
}
