//! Lists that are answered page by page.

use riverrun_log::PageRequest;

use crate::{ApiError, invalid};

/// Entries on a page by default.
const DEFAULT_LIMIT: usize = 50;
const MAX_LIMIT: usize = 1000;

/// The page that a list operation is asked for.
pub fn page_request(limit: Option<usize>, cursor: Option<String>) -> Result<PageRequest, ApiError> {
    match limit.unwrap_or(DEFAULT_LIMIT) {
        limit @ 1..=MAX_LIMIT => Ok(PageRequest { cursor, limit }),
        _ => Err(invalid("limit", &format!("it must be 1 to {MAX_LIMIT}")).limit(MAX_LIMIT as u64)),
    }
}
