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
mod commands;
mod core;
mod credentials;
mod deletions;
mod directory;
mod examine;
mod facts;
mod failure;
mod group;
mod keeper;
mod keys;
mod log;
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
mod slot;
mod standing;
mod usage;
mod verify;
mod wal;
mod witness;
mod writer;

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle};

use riverrun_log::Health;

use crate::core::Core;
use crate::directory::Directory;
pub use crate::directory::STORE;
use crate::failure::{Severity, severity};
use crate::keeper::Keeper;
pub use crate::options::{OnFatal, OpenError, Options};
use crate::readers::Readers;
use crate::shared::{Shared, lock};
use crate::writer::Writer;

/// A log in a data directory.
pub struct SqliteLog {
    shared: Arc<Shared>,
    readers: Readers,
    threads: Mutex<Vec<JoinHandle<()>>>,
    recovered: Option<String>,
    lost: Option<String>,
}

impl SqliteLog {
    /// Opens or makes the log of a directory, and brings back what was committed.
    pub fn open(mut options: Options) -> Result<Self, OpenError> {
        let directory = Directory::open(&options.directory)?;
        directory.scale(&mut options);
        let found = examine::examine(&directory, &options)?;
        directory.prepare_store()?;
        let frames = Arc::new(AtomicU64::new(found.wal.state.frames));
        let store = directory.store();
        let grow = || directory.grow_wal(options.wal_bytes, options.reserve_bytes);
        let is_tight = directory.is_tight(options.wal_bytes);
        let opened = || schema::open(&store, options.random.as_deref(), &found, &frames, is_tight, grow);
        let (is_full, opened) = match opened() {
            // A start writes a little; on a full disk that takes what was kept back for it.
            Err(OpenError::Store(error)) if severity(&error) == Severity::Full => {
                let _ = directory.give_last_reserve();
                (true, opened())
            }
            opened => (false, opened),
        };
        let (connection, incarnation) = opened?;
        let keeper = Keeper::start(&directory, found.count, frames, options.wal_bytes);
        let keeper =
            keeper.map_err(|error| OpenError::Io { action: "write", path: directory.witness(), error })?;
        directory.sync()?;
        schema::limit(&connection, options.max_bytes)?;
        if !is_full && !directory.take_reserve(options.reserve_bytes) {
            directory.take_last_reserve(options.reserve_bytes);
        }
        let shared = Arc::new(Shared::new(options, directory, keeper, incarnation));
        if is_full {
            // Until there is room again, only what frees space or ends work is taken.
            shared.set_health(Health::Full);
        }
        // A process that never lives long enough to fill the file must not let it grow from start to start.
        shared.note_pages(found.wal.frames);
        let group = recover::load(&connection, &shared)?;
        usage::load(&connection, &shared)?;
        let core = Core::new(connection, Arc::clone(&shared), group)?;
        let checkpointer = schema::connect(&store)?;
        let packer = schema::open_reader(&store)?;
        let readers = Readers::start(&store, shared.options.readers)?;
        let (for_checkpoint, for_pack) = (Arc::clone(&shared), Arc::clone(&shared));
        let threads = vec![
            start("log-writer", move || Writer::new(core).run())?,
            start("log-checkpoint", move || checkpoint::run(&for_checkpoint, &checkpointer))?,
            start("log-pack", move || pack::run(&for_pack, &packer))?,
        ];
        Ok(Self {
            shared,
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
        self.shared.options.reserve_bytes
    }

    /// What was missing and accepted as lost.
    pub fn lost(&self) -> Option<&str> {
        self.lost.as_deref()
    }

    /// Ends the threads: first those that ask the writer for something, then the readers, then the writer, which
    /// commits what is queued. Its connection is the last to close, so that SQLite puts all pages in place.
    fn shut(&self) {
        let mut threads = lock(&self.threads);
        self.shared.checkpoint.end();
        self.shared.pack.end();
        let writer = (!threads.is_empty()).then(|| threads.remove(0));
        threads.drain(..).for_each(|thread| drop(thread.join()));
        self.readers.close();
        self.shared.queue.close();
        lock(&self.shared.requests).clear();
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

fn start(name: &str, run: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, OpenError> {
    let thread = Builder::new().name(name.to_owned()).spawn(run);
    thread.map_err(|error| OpenError::Io { action: "start", path: name.into(), error })
}
