//! Supervisors of this process, and what comes to it when one of them is killed.
//!
//! A program runs as the same user as its supervisor and can kill it. Its descendants then become children of this
//! process, which asked for orphans too: whatever is a child and no supervisor is ended.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use riverrun_log::seeded::{self, Bug};
use rustix::process::Pid;
use tokio::process::Command;

use crate::ProcessLimits;

/// The first argument of this binary when it is to be a supervisor.
pub(crate) const SUPERVISE: &str = "__supervise";

/// The program that supervises.
static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
static SUPERVISORS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// From now on programs are started under a supervisor: `program`, a binary whose `main` begins with
/// [`crate::supervise`]. The caller promises that this process starts no children by other means. Does nothing where
/// the system cannot hand over orphans.
pub fn use_supervisor(program: PathBuf) {
    #[cfg(target_os = "linux")]
    if rustix::process::set_child_subreaper(Some(rustix::process::getpid())).is_ok() && program.exists() {
        let _ = PROGRAM.set(program);
    }
    #[cfg(not(target_os = "linux"))]
    drop(program);
}

fn lock() -> MutexGuard<'static, BTreeSet<i32>> {
    SUPERVISORS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// True if programs are started under a supervisor.
pub(crate) fn has_supervisor() -> bool {
    PROGRAM.get().is_some()
}

/// Held while a supervisor is started. None if there are none here.
pub(crate) fn supervisor() -> Option<Registry> {
    let program = PROGRAM.get().filter(|_| !seeded::is_on(Bug::LeaveDescendants))?;
    Some(Registry { program, supervisors: lock() })
}

pub(crate) struct Registry {
    program: &'static PathBuf,
    supervisors: MutexGuard<'static, BTreeSet<i32>>,
}

impl Registry {
    /// The program's words follow.
    #[cfg(target_os = "linux")]
    pub fn command(&self, limits: &ProcessLimits) -> Command {
        let mut command = Command::new(self.program);
        command.arg0("riverrun-supervisor").arg(SUPERVISE);
        command.arg(std::process::id().to_string()).arg(limits.to_word());
        command
    }

    #[cfg(not(target_os = "linux"))]
    pub fn command(&self, _limits: &ProcessLimits) -> Command {
        Command::new(self.program)
    }

    pub fn register(mut self, pid: Pid) -> Registered {
        let number = pid.as_raw_nonzero().get();
        self.supervisors.insert(number);
        Registered(number)
    }
}

/// A supervisor that was not reaped yet.
pub(crate) struct Registered(i32);

impl Drop for Registered {
    fn drop(&mut self) {
        lock().remove(&self.0);
    }
}

/// True for a supervisor of this process: it ends by itself, after everything below it.
pub(crate) fn is_supervisor(pid: u32) -> bool {
    i32::try_from(pid).is_ok_and(|pid| lock().contains(&pid))
}

/// Ends the children that are no supervisors, on a thread of their own.
#[cfg(target_os = "linux")]
pub(crate) fn end_soon() {
    use std::time::Duration;

    use rustix::process::{Signal, WaitId, WaitIdOptions, getpid, kill_process, waitid};

    const ROUNDS: usize = 200;
    let end = || {
        for _ in 0..ROUNDS {
            let supervisors = lock();
            let children = crate::limits::children(getpid());
            let strays: Vec<Pid> = children
                .into_iter()
                .filter(|pid| !supervisors.contains(&pid.as_raw_nonzero().get()))
                .collect();
            for stray in &strays {
                // Its number is its own until it is reaped here.
                let _ = kill_process(*stray, Signal::KILL);
                let _ = waitid(WaitId::Pid(*stray), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
            }
            drop(supervisors);
            if strays.is_empty() {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        tracing::warn!("processes that a tool left behind cannot be ended");
    };
    // Without a thread they stay until the next supervisor is killed.
    let _ = std::thread::Builder::new().name("strays".to_owned()).spawn(end);
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn end_soon() {}
