//! Questions to people, their decisions, and the rules that outlive a decision.

pub(super) mod decision_checks;
pub(super) mod decisions;
pub(super) mod questions;
pub(super) mod rules;

use crate::approve::Rules;

/// Decisions that outlive the call they were made about.
pub(crate) struct Approvals {
    pub rules: Rules,
}
