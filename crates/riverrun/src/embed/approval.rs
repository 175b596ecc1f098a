//! When a person must agree.

use std::sync::Arc;

use riverrun_runner::agent::{Approval, AskedCall};

/// A person must agree where the function says so of a call: for [`crate::Agent::tool_with`] and its like. It is asked
/// anew after a restart and must not block; when it fails or panics, a person is asked.
pub fn ask_when(
    needs_a_person: impl Fn(&AskedCall<'_>) -> Result<bool, String> + Send + Sync + 'static,
) -> Approval {
    Approval::Predicate(Arc::new(needs_a_person))
}
