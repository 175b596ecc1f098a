//! Riverrun's engine: sessions that are appended to, followed and tended.
//!
//! It is not a transport: it knows no HTTP, no request body and no API key. It is not a store either: everything
//! durable goes through a [`riverrun_log::Log`]. A server, the agent loop and an embedding program use it alike.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//! use riverrun_event::{SessionId, TenantId, decode};
//! use riverrun_log::{Catalogue, Clock, Log, SessionSpec, SessionKey, SystemClock, memory::MemoryLog};
//! use riverrun_session::{
//!     Batch, Drain, Ownership, Parts, Request, SessionMetrics, Sessions, Settings, Source, SystemRandom, page,
//! };
//!
//! let clock: Arc<dyn Clock> = Arc::new(SystemClock);
//! let log: Arc<dyn Log> = Arc::new(MemoryLog::new(clock.clone()));
//! let sessions = Sessions::new(Parts {
//!     ownership: Arc::new(Ownership::acquire(&*log, &SystemRandom).await?),
//!     log: log.clone(),
//!     clock,
//!     settings: Settings::default(),
//!     metrics: Arc::new(SessionMetrics::new()),
//!     drain: Drain::new(),
//! });
//! let key = SessionKey::new(TenantId::new("acme")?, SessionId::new("hello")?);
//! log.create_session(&key, SessionSpec::default()).await?;
//! let hub = sessions.hubs().get(&key).await?.ok_or("no session")?;
//! // Whoever writes appends a batch; it is durable when this returns.
//! let event = decode(r#"{"type":"model.delta","turnId":"turn_1","payload":{"delta":"Hello"}}"#)?;
//! sessions.append(Source::Ingest, &hub, &Batch { events: vec![event], ..Batch::default() }).await?;
//! // Whoever reads asks for frames behind a cursor, as one page or as a `Subscription`.
//! let request = Request { limit: 10, ..Request::default() };
//! assert!(page(&sessions, &hub, &request).await?.contains("Hello"));
//! # Ok(()) }
//! ```

#![warn(missing_docs)]

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
pub use hubs::{Batch, Found, Hub, Hubs, Landed, Projected, Recent, SharedKey, Slot, StoredAnswer, log_time};
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
