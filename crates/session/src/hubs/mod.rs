//! Sessions that are in use: their recent chunks, their followers, and the one path by which events are appended.

mod append;
mod authors;
mod facts;
mod hub;
mod registry;
mod ring;
mod stamp;
mod wakers;

pub use append::{Batch, Landed, StoredAnswer};
pub use facts::{event_time, log_time};
pub use hub::{Hub, SNAPSHOT_BYTES};
pub use registry::Hubs;
pub use ring::{Found, Projected, Recent, SharedKey};
pub use wakers::Slot;
