//! Decisions that were given for always.

mod list;
mod revoke;

pub use list::ListRules;
pub use revoke::RevokeRule;
