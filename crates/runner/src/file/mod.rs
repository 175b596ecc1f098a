//! Files that come with inputs: which there are, and what a model is shown of them. Pure; they are read elsewhere.

mod attached;
mod options;
mod shown;

pub(crate) use attached::{Attached, Origin, attached, clean, file_id, unescaped};
pub use options::FileOptions;
pub(crate) use shown::{native, note, wrapped};
