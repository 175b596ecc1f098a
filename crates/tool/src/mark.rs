//! Processes left behind by a server that is gone, or moved out of their group by a program.
//!
//! A process id is meaningless after its owner died: the number may have been reused. Every process that a
//! host names carries its name in the environment, and so does whatever it starts; only what carries the name is ended,
//! and through a handle that was taken before the name was read.

use std::collections::BTreeSet;

use std::sync::Mutex;
use std::time::Duration;

/// The variable that names the process to whoever looks for what it left behind.
pub(crate) const MARK: &str = "RIVERRUN_PROCESS_ID";
/// Beside it, for a process that has an id of its own: a copy of a session has the same ids.
pub(crate) const CALL: &str = "RIVERRUN_PROCESS_OF";

/// Ends whatever carries the mark of this process on this machine. Returns how many there were; None if that cannot be
/// found out here.
pub fn end_marked(process: &str) -> Option<usize> {
    end_all(&[format!("{MARK}={process}")])
}

/// The same for the process of a call, whatever it is named.
pub fn end_of_call(mark: &str) -> Option<usize> {
    end_all(&[format!("{CALL}={mark}")])
}

fn end_all(wanted: &[String]) -> Option<usize> {
    let mut ended = BTreeSet::new();
    // What is ended may just have started something.
    for _ in 0..ROUNDS {
        let before = ended.len();
        ended.extend(sweep(wanted)?);
        if ended.len() == before {
            break;
        }
    }
    Some(ended.len())
}

/// Variables whose carriers are to be ended, and whether somebody is at it.
static WAITING: Mutex<(Vec<String>, bool)> = Mutex::new((Vec::new(), false));
/// Between two looks at all processes: however many programs end, this is what it costs.
const PAUSE: Duration = Duration::from_millis(20);

/// Ends whatever carries this variable, soon. One look serves all that were asked for meanwhile.
pub(crate) fn end_soon(variable: String) {
    if !cfg!(target_os = "linux") {
        return;
    }
    let mut waiting = WAITING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    waiting.0.push(variable);
    if !waiting.1 {
        // A thread of its own: a runtime may be about to end.
        waiting.1 = std::thread::Builder::new().name("leftovers".to_owned()).spawn(end_waiting).is_ok();
    }
}

fn end_waiting() {
    loop {
        let wanted = {
            let mut waiting = WAITING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            waiting.1 = !waiting.0.is_empty();
            std::mem::take(&mut waiting.0)
        };
        if wanted.is_empty() {
            return;
        }
        end_all(&wanted);
        std::thread::sleep(PAUSE);
    }
}

const ROUNDS: usize = 8;

#[cfg(target_os = "linux")]
fn sweep(wanted: &[String]) -> Option<Vec<u32>> {
    use crate::strays::is_supervisor;
    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
    let ours = std::process::id();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").ok()?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let Some(number) = i32::try_from(pid)
            .ok()
            .filter(|_| pid != ours)
            .filter(|_| !is_supervisor(pid))
            .and_then(Pid::from_raw)
        else {
            continue;
        };
        let Ok(handle) = pidfd_open(number, PidfdFlags::empty()) else { continue };
        // Of a process that ended this is empty, of one that is not ours it cannot be read.
        let Ok(environment) = std::fs::read(entry.path().join("environ")) else { continue };
        if environment
            .split(|byte| *byte == 0)
            .any(|variable| wanted.iter().any(|wanted| wanted.as_bytes() == variable))
            && pidfd_send_signal(&handle, Signal::KILL).is_ok()
        {
            found.push(pid);
        }
    }
    Some(found)
}

#[cfg(not(target_os = "linux"))]
fn sweep(_wanted: &[String]) -> Option<Vec<u32>> {
    None
}
