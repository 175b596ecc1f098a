//! Sessions that are in use: their recent chunks, their followers, and the one path by which events are appended.

mod append;
mod facts;
mod hosted;
mod hub;
mod hubs;
mod ring;
mod stamp;
mod wake;

pub use append::{AppendError, Batch, Landed};
pub use facts::log_time;
pub use hub::Hub;
pub(crate) use hub::lock;
pub use hubs::Hubs;
pub use ring::{Found, Projected, Recent, SharedKey};
pub use wake::Slot;
