//! Files that come with an input: fetched from where they are, and read in a process of their own.

mod fetch;
mod isolated;

pub use fetch::{FetchError, Fetched, fetch};
pub(crate) use isolated::serve;
pub use isolated::{ExtractionTask, FILE_MEMORY, read_file, read_file_here};
