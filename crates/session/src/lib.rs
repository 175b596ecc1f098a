//! Riverrun's engine: sessions that are appended to, followed and tended.
//!
//! It is not a transport: it knows no HTTP, no request body and no API key. It is not a store either: everything
//! durable goes through a [`riverrun_log::Log`]. A server, the agent loop and an embedding program use it alike.

mod append_error;
mod chunk_fold;
mod draft;
mod drain;
mod due;
mod frame_batch;
mod hubs;
mod jobs;
mod lock;
pub mod metrics;
mod ownership;
mod retention;
mod session_metrics;
mod sessions;
mod settings;
mod spill;
mod state;
mod subscribe;
mod system_random;
mod turn_end;
mod upkeep;

pub use append_error::AppendError;
pub use chunk_fold::fold_chunk;
pub use draft::{InvalidEvent, draft_about, draft_of};
pub use drain::Drain;
pub use frame_batch::{FrameBatch, Message, Messages};
pub use hubs::{
    Batch, Found, Hub, Hubs, Landed, Projected, Recent, SharedKey, Slot, StoredAnswer, event_time, log_time,
};
pub use jobs::{Job, JobFailure, TAG as JOBS_TAG, is_jobs};
pub use lock::lock;
pub use ownership::Ownership;
pub use retention::{ANNOUNCED, Retention};
pub use session_metrics::SessionMetrics;
pub use sessions::{Parts, Sessions, Source, Worker};
pub use settings::Settings;
pub use spill::spill_large;
pub use state::TaskPlace;
pub use subscribe::{
    Access, CatchUp, Cut, Follow, History, InvalidPattern, OpenError, Plan, Request, StreamOpened,
    StreamScope, Subscription, TypePattern, check_origin, open, page,
};
pub use system_random::SystemRandom;
pub use turn_end::WaitError;
pub use upkeep::run as run_upkeep;

/// The tenant of programs and keys that name none.
pub const DEFAULT_TENANT: &str = "default";

/// How much of a log is read at once.
pub const READ_BYTES: usize = 256 * 1024;
