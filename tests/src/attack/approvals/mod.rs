//! Nothing runs that an authorised key did not approve, and what was shown is what runs.

mod copies;
mod doors;
mod forged;
mod generated;
mod mcp;
mod samples;
mod socket;
mod stage;

pub use socket::Socket;

use super::Case;

pub fn cases() -> Vec<Case> {
    [forged::CASES, copies::CASES, mcp::CASES, generated::CASES].concat()
}
