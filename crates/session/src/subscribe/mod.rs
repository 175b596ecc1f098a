//! Delivery: a subscriber is a cursor over the log, a dialect, and a small output buffer.
//!
//! Live tail and resume are the same reader at different positions. There is no queue per subscriber: a slow one costs
//! its cursor, never memory, and loses nothing.

mod encoder;
mod error;
mod filter;
mod one_turn;
mod page;
mod plan;
mod request;
mod snapshot_event;
mod stream_opened;
mod subscription;

pub use error::{InvalidPattern, OpenError};
pub use filter::TypePattern;
pub use page::page;
pub use plan::{History, Plan, check_origin, open};
pub use request::{CatchUp, Follow, Request};
pub use stream_opened::{StreamOpened, StreamScope};
pub use subscription::{Access, Cut, Subscription};
