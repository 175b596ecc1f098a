//! Model calls: what the model reads, its answer while it arrives, its failures and its cost.

pub(super) mod answer;
pub(super) mod attachments;
pub(super) mod calls;
pub(super) mod compaction;
pub(super) mod cost;
pub(super) mod failures;
pub(super) mod history;
pub(super) mod input_files;
pub(super) mod request;
pub(super) mod service_events;
pub(super) mod stream;
