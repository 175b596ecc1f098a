//! Tool calls: whether they may run, what they report, and their results.

pub(super) mod call_facts;
pub(super) mod calls;
pub(super) mod drafts;
pub(super) mod outcome;
pub(super) mod output_facts;
pub(super) mod result;
