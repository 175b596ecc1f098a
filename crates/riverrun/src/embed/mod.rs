//! The embedded API: agents as values, runs as streams.

mod agent;
mod approval;
mod builder;
mod decision;
mod error;
mod event;
mod follow;
mod guardrail;
mod input_list;
mod mcp;
mod project;
mod result;
mod run;
mod runtime;
mod saved;
mod session;
mod standing;

pub use agent::Agent;
pub use approval::ask_when;
pub use builder::Builder;
pub use decision::Interruption;
pub use error::Error;
pub use event::{EventStream, RunEvent};
pub use guardrail::{InputCheck, OutputCheck};
pub use project::ProjectedStream;
pub use result::InputListMode;
pub use run::{Outcome, RunStream};
pub use runtime::{Riverrun, run_streamed};
pub use saved::STATE_VERSION;
pub use session::{Session, message};
