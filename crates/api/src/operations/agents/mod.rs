//! What this server runs: agents with their tools, and the names that a turn may give.

mod list;

pub use list::ListAgents;
