//! How files of inputs are read, as the configuration says.

use riverrun_runner::FileOptions;
use riverrun_tool::AddressGuard;

use crate::cli::config::Effective;

const SECTION: &str = "files";
/// What a state holds of one turn.
const MOST_FILES: usize = 100;

pub fn options(effective: &Effective) -> FileOptions {
    let count = |key| usize::try_from(effective.integer(SECTION, key)).unwrap_or(usize::MAX);
    FileOptions {
        read: effective.flag(SECTION, "read"),
        outbound: AddressGuard { allow: effective.list(SECTION, "allow_hosts") },
        bytes: count("max_bytes"),
        files: count("max_files").min(MOST_FILES),
        pages: u32::try_from(count("max_pages")).unwrap_or(u32::MAX),
        text: count("max_text"),
        timeout: effective.duration(SECTION, "timeout"),
    }
}
