//! The processes of a session: listed, shown, written to, ended; and the machine they run on.

mod environment;
mod get;
mod list;
mod terminate;
mod write;

use riverrun_event::ProcessId;
use riverrun_fold::Process;
use riverrun_session::Hub;
use schemars::JsonSchema;
use serde::Serialize;

pub use environment::GetEnvironment;
pub use get::GetProcess;
pub use list::ListProcesses;
pub use terminate::TerminateProcess;
pub use write::WriteProcessStdin;

use crate::{ApiError, Services, not_found};

/// The most bytes that one write may have.
const MAX_WRITE: usize = 64 * 1024;

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Processes")]
pub struct ProcessList {
    /// The newest, in the order in which they began.
    processes: Vec<Process>,
    /// Older ones are in the log only.
    truncated: bool,
}

async fn processes_of(services: &Services, hub: &Hub) -> Result<ProcessList, ApiError> {
    let known = services.sessions().state_at(&hub.key, hub.head()).await?.processes;
    Ok(ProcessList { processes: known.entries, truncated: known.dropped > 0 })
}

/// The id of a process that is looked up: a malformed one names nothing.
fn process_id(text: &str) -> Result<ProcessId, ApiError> {
    ProcessId::new(text).map_err(|_| not_found())
}
