//! Files that come with an input: fetched from where they are, and read in a process of their own.

mod fetch;
mod isolated;

pub use fetch::{FetchError, Fetched, fetch};
pub(crate) use isolated::serve;
pub use isolated::{FILE_MEMORY, Reading, read_file, read_file_here};
