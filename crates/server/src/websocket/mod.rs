//! WebSocket for servers (RFC 6455), on the socket itself. It knows frames and bounds, nothing of what they carry.
//!
//! It is our own because every bound must hold by itself: the fragments of a message are counted, each violation is
//! closed with its own code, and output exists only while it is being written. There are no extensions, so nothing
//! is ever unpacked.

mod close;
mod frame;
mod output;
mod reader;
mod socket;
mod upgrade;
mod vigil;

pub use close::Close;
pub use output::Output;
pub use reader::Bounds;
pub use socket::Socket;
pub use upgrade::{Upgrade, accept};
pub use vigil::{End, Listening, Vigil, Words};
