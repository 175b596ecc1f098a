//! What the kernel knows about the server: its CPU time, its memory, its files.

use std::path::Path;
use std::time::Duration;

/// `USER_HZ`, which Linux has fixed for every architecture that matters here.
const TICKS_PER_SECOND: u64 = 100;

/// User and system time that `process` and its threads have used so far.
pub fn cpu(process: u32) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The second field is the name in parentheses and may hold spaces: count from behind it.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(Duration::from_millis((user + system) * 1000 / TICKS_PER_SECOND))
}

/// CPU time between two readings, in microseconds per event.
pub fn cpu_per_event(before: Option<Duration>, after: Option<Duration>, events: u64) -> Option<f64> {
    let used = after?.saturating_sub(before?);
    (events > 0).then(|| used.as_secs_f64() * 1e6 / events as f64)
}

/// Resident memory of `process`, in KiB.
pub fn resident_kib(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// Bytes of all files under `directory`.
pub fn directory_size(directory: &Path) -> std::io::Result<u64> {
    let mut size = 0;
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        size += if metadata.is_dir() { directory_size(&entry.path())? } else { metadata.len() };
    }
    Ok(size)
}

/// Lifts the limit of open files to what the machine allows; children inherit it.
pub fn raise_open_files() -> u64 {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Where the kernel refuses, the old limit stays and the connections tell.
    setrlimit(Resource::Nofile, limit).ok();
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}
