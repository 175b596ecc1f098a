//! Processes that a server which is gone left behind.
//!
//! A process id says nothing after its owner died: the number may belong to somebody else by now. Every process that a
//! host names carries its name in the environment, and so does whatever it starts; only what carries the name is ended,
//! and through a handle that was taken before the name was read.

use std::collections::BTreeSet;

use crate::process::MARK;

/// Ends whatever carries the mark of this process on this machine. Says how many there were; None if that cannot be
/// found out here.
pub fn end_marked(process: &str) -> Option<usize> {
    let wanted = format!("{MARK}={process}");
    let mut ended = BTreeSet::new();
    // What is ended may just have started something.
    for _ in 0..ROUNDS {
        let before = ended.len();
        ended.extend(sweep(wanted.as_bytes())?);
        if ended.len() == before {
            break;
        }
    }
    Some(ended.len())
}

const ROUNDS: usize = 8;

#[cfg(target_os = "linux")]
fn sweep(wanted: &[u8]) -> Option<Vec<u32>> {
    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
    let ours = std::process::id();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").ok()?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let Some(number) = i32::try_from(pid).ok().filter(|_| pid != ours).and_then(Pid::from_raw) else {
            continue;
        };
        let Ok(handle) = pidfd_open(number, PidfdFlags::empty()) else { continue };
        // Of a process that ended this is empty, of one that is not ours it cannot be read.
        let Ok(environment) = std::fs::read(entry.path().join("environ")) else { continue };
        if environment.split(|byte| *byte == 0).any(|variable| variable == wanted)
            && pidfd_send_signal(&handle, Signal::KILL).is_ok()
        {
            found.push(pid);
        }
    }
    Some(found)
}

#[cfg(not(target_os = "linux"))]
fn sweep(_wanted: &[u8]) -> Option<Vec<u32>> {
    None
}
