//! Does a value fit its JSON Schema?

/// Asked in the middle of a session's work: a schema that could hold it up is told as an error, also one that an older
/// server took and that stands in a log.
pub(crate) use riverrun_tool::{check_value as check, find_misfit};
