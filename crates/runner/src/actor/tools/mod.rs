//! Tool calls: whether they may run, what they report, and their results.

pub(super) mod call_facts;
pub(super) mod calls;
pub(super) mod drafts;
pub(super) mod execution;
pub(super) mod outcome;
pub(super) mod output_facts;
pub(super) mod result;

use std::collections::BTreeMap;

use foldhash::HashMap;
use riverrun_event::TaskId;

use crate::reference::Pool;

/// What the actor remembers of tool calls.
#[derive(Default)]
pub(crate) struct ToolCalls {
    /// The numbered results that each task can cite.
    pub pools: HashMap<TaskId, Pool>,
    /// The drafts that running calls showed: how many of each block, by call.
    pub drafts: HashMap<String, BTreeMap<u32, u32>>,
}
