//! Questions to people, their decisions, and the rules that outlive a decision.

pub(super) mod decisions;
pub(super) mod questions;
pub(super) mod rules;
