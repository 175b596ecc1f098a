//! The load generator: it drives Riverrun and the ceiling with the very same bytes and reports ratios.
//!
//! It speaks raw HTTP/1.1 over keep-alive connections with requests rendered beforehand, because it
//! shares the machine with the server it measures. It is *not* a client library: it checks counts and
//! order, and reads nothing else. It holds no server code and depends on none.
//!
//! - [`run_on`] measures a server that already runs.
//! - [`Compare`] starts servers itself and lets them take turns.

pub mod append;
pub mod catchup;
pub mod fanout;
pub mod growth;
pub mod idle;
pub mod latency;
pub mod storage;

mod aim;
mod compare;
mod connection;
mod error;
mod event;
mod launch;
mod plan;
mod process;
mod report;
mod request;
mod sample;
mod session;
mod stream;
mod target;

pub use aim::Aim;
pub use compare::{Compare, run_on};
pub use error::{MeasurementError, MeasurementResult};
pub use launch::{Launch, Running, ServerKind};
pub use plan::{Measurement, MeasurementPlan};
pub use report::{FailedRound, Figure, Report, RoundValue, Server, Unit};
pub use target::{RouteTemplates, Target};
