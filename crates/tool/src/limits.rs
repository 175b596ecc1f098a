//! What a program of a tool may use of the machine, as the kernel counts it.
//!
//! The limits are set from outside, right after the program was started, and on whatever it started in that moment;
//! what comes later inherits them. A child that was being made just then is not seen yet, so it is looked for a few
//! times more. Only Linux can do this; elsewhere nothing is limited.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::Pid;

/// When children are looked for again; no fork takes this long.
#[cfg(target_os = "linux")]
const LATER: [Duration; 3] = [Duration::from_millis(1), Duration::from_millis(9), Duration::from_millis(40)];

/// None is no limit beyond the server's own. Every limit counts for each process by itself, except `processes`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessLimits {
    /// Bytes of address space. Off unless asked for: Java, Go and Node reserve far more than they use.
    pub memory: Option<u64>,
    /// Time of the processor. Off unless asked for: the timeout of a call holds for every tool.
    pub cpu: Option<Duration>,
    pub open_files: Option<u64>,
    /// Processes and threads of the server's user, all of them together: off unless asked for, because it counts what
    /// is not the tool's.
    pub processes: Option<u64>,
    /// Bytes of the largest file that it may write: a program that writes without end does not fill the disk.
    pub file_size: Option<u64>,
}

impl Default for ProcessLimits {
    fn default() -> Self {
        Self { memory: None, cpu: None, open_files: Some(1024), processes: None, file_size: Some(4 << 30) }
    }
}

impl ProcessLimits {
    /// Why the kernel ended the program, if it did so for a limit.
    pub(crate) fn passed(&self, signal: Option<i32>) -> Option<String> {
        const XCPU: i32 = 24;
        const XFSZ: i32 = 25;
        match signal? {
            XCPU => Some(format!(
                "used more than the {} s of processor time that it may (`limits.cpu`), and was stopped",
                self.cpu.unwrap_or_default().as_secs_f32()
            )),
            XFSZ => Some(format!(
                "wrote a file of more than the {} bytes that it may (`limits.file_size`), and was stopped",
                self.file_size.unwrap_or_default()
            )),
            _ => None,
        }
    }

    /// For who wonders why it failed: the limits that a program meets as an error of its own.
    pub(crate) fn hint(&self) -> String {
        let all = [
            self.memory.map(|bytes| format!("{bytes} bytes of memory")),
            self.processes.map(|count| format!("{count} processes")),
            self.cpu.map(|time| format!("{} s of processor time", time.as_secs_f32())),
        ];
        let all: Vec<String> = all.into_iter().flatten().collect();
        if all.is_empty() { String::new() } else { format!(" (it may use {})", all.join(", ")) }
    }

    /// One word, for the command line of a supervisor.
    #[cfg(target_os = "linux")]
    pub(crate) fn to_word(&self) -> String {
        let cpu = self.cpu.map(|time| time.as_millis() as u64);
        let all = [self.memory, cpu, self.open_files, self.processes, self.file_size];
        all.map(|limit| limit.map_or_else(|| "-".to_owned(), |limit| limit.to_string())).join(",")
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn from_word(word: &str) -> Option<Self> {
        let limit = |text: &str| if text == "-" { Some(None) } else { text.parse().ok().map(Some) };
        let all: Vec<Option<u64>> = word.split(',').map(limit).collect::<Option<_>>()?;
        let [memory, cpu, open_files, processes, file_size] = all[..] else { return None };
        Some(Self { memory, cpu: cpu.map(Duration::from_millis), open_files, processes, file_size })
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn set(&self, _pid: Pid) -> io::Result<()> {
        Ok(())
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn set(&self, pid: Pid) -> io::Result<()> {
        self.set_all(pid)?;
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let limits = self.clone();
            runtime.spawn(async move {
                for pause in LATER {
                    tokio::time::sleep(pause).await;
                    // It has its limits itself; what cannot be reached any more has ended.
                    for child in children(pid) {
                        let _ = limits.set_all(child);
                    }
                }
            });
        }
        Ok(())
    }

    #[cfg(target_os = "linux")]
    fn set_all(&self, pid: Pid) -> io::Result<()> {
        self.set_one(pid)?;
        for child in children(pid) {
            self.set_all(child)?;
        }
        Ok(())
    }

    #[cfg(target_os = "linux")]
    fn set_one(&self, pid: Pid) -> io::Result<()> {
        use rustix::process::{Resource, Rlimit, getrlimit, prlimit};
        // A core file would hold what its memory holds: secrets too.
        let cpu = self.cpu.map(|time| time.as_secs().max(1));
        let all = [
            (Resource::Core, Some(0)),
            (Resource::As, self.memory),
            (Resource::Cpu, cpu),
            (Resource::Nofile, self.open_files),
            (Resource::Nproc, self.processes),
            (Resource::Fsize, self.file_size),
        ];
        for (resource, limit) in all {
            let Some(limit) = limit else { continue };
            // It inherited our own, which it cannot raise.
            let most = getrlimit(resource).maximum.unwrap_or(u64::MAX);
            let current = limit.min(most);
            // A second after the warning there is no appeal.
            let hard = if resource == Resource::Cpu { current.saturating_add(1).min(most) } else { current };
            match prlimit(Some(pid), resource, Rlimit { current: Some(current), maximum: Some(hard) }) {
                Ok(_) | Err(rustix::io::Errno::SRCH) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// The children of a process, of each of its threads.
#[cfg(target_os = "linux")]
pub(crate) fn children(pid: Pid) -> Vec<Pid> {
    let threads = std::fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero()));
    let listed = |thread: std::fs::DirEntry| std::fs::read_to_string(thread.path().join("children")).ok();
    let listed: String = threads.into_iter().flatten().flatten().filter_map(listed).collect();
    listed.split_whitespace().filter_map(|word| Pid::from_raw(word.parse().ok()?)).collect()
}

/// Children, their children, and so on.
#[cfg(target_os = "linux")]
pub(crate) fn descendants(pid: Pid) -> Vec<Pid> {
    let mut found = children(pid);
    let mut next = 0;
    while let Some(pid) = found.get(next).copied() {
        next += 1;
        let more = children(pid);
        found.extend(more.into_iter().filter(|pid| !found.contains(pid)).collect::<Vec<_>>());
    }
    found
}

pub(crate) fn signal_of(status: ExitStatus) -> Option<i32> {
    use std::os::unix::process::ExitStatusExt;
    status.signal()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn limits_pass_through_a_word() {
        let some = ProcessLimits {
            memory: Some(1 << 30),
            cpu: Some(Duration::from_millis(1500)),
            ..Default::default()
        };
        for limits in [ProcessLimits::default(), some] {
            assert_eq!(ProcessLimits::from_word(&limits.to_word()), Some(limits));
        }
        assert_eq!(ProcessLimits::from_word("1,2"), None);
    }
}
