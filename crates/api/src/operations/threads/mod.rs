//! Threads of a session.

mod get;

pub use get::GetThread;
