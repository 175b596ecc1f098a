//! How soon a thread gets a core when others compute.
//!
//! Linux lets a thread that runs finish its slice, some milliseconds, before one that was just woken gets its core. A
//! thread that works in short bursts and that everybody waits for, as the one which commits, then waits for those
//! slices again and again. With a short slice of its own it comes first, and gets no more of the cores than before.
//!
//! This crate gives no thread a higher priority, and needs no privilege.

#[cfg(target_os = "linux")]
mod linux;

use std::io;
use std::time::Duration;

/// The shortest slice that Linux grants.
pub const SHORTEST: Duration = Duration::from_micros(100);

/// Asks for slices of this length for the calling thread. A system that knows of none, or whose scheduler of this
/// thread was chosen by somebody else, is left as it is: that is no error.
pub fn take_slices_of(length: Duration) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    return linux::take_slices_of(length);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = length;
        Ok(())
    }
}
