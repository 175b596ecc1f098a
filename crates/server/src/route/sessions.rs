//! New ids for what callers create.

use crate::app::App;
use crate::edge::Problem;

/// An id that sorts by time: 48 bits of milliseconds, then 80 random ones.
pub(crate) fn random_id(app: &App) -> Result<[u8; 16], Problem> {
    Ok(app.services().random_id())
}
