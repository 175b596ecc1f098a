//! Model calls: what the model reads, its answer while it arrives, its failures and its cost.

pub(super) mod answer;
pub(super) mod answer_items;
pub(super) mod attachments;
pub(super) mod calls;
pub(super) mod compaction;
pub(super) mod cost;
pub(super) mod failures;
pub(super) mod history;
pub(super) mod input_files;
pub(super) mod request;
pub(super) mod sealed_turns;
pub(super) mod service_events;
pub(super) mod stream;
pub(super) mod turn_list;

use foldhash::HashMap;
use riverrun_event::{ServiceStream, TaskId};

use self::calls::OpenCalls;
use self::stream::Stream;

/// The model calls of a session.
#[derive(Default)]
pub(crate) struct ModelCalls {
    /// The calls that run, which this actor reads.
    pub open: OpenCalls,
    /// The items of calls whose end is not written yet, by task.
    pub streams: HashMap<TaskId, Stream>,
    /// The model services' own streams, as far as they are in the log.
    pub service_streams: HashMap<TaskId, ServiceStream>,
}
