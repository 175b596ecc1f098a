//! A child process and everything that it started.
//!
//! The child leads a process group of its own. Signals go to the group, and only while the child has not been reaped:
//! until then nobody else can get the group's number. What left the group is found by a variable that it inherited.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::signal::unix::{SignalKind, signal};

use crate::mark::end_soon;
use crate::scrub::{Scrubber, names_a_secret};
use crate::{ProcessLimits, Secret};

/// What a child gets of the server's environment without being named.
const INHERITED: &[&str] = &["PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR"];
/// Between asking a group to end and ending it.
pub(crate) const GRACE: Duration = Duration::from_secs(2);
/// The variable that names the process to whoever looks for what it left behind.
pub(crate) const MARK: &str = "RIVERRUN_PROCESS_ID";
/// Beside it, for a process that has an id of its own: a copy of a session has the same ids.
pub(crate) const CALL: &str = "RIVERRUN_PROCESS_OF";
/// The variable that is different for every start of every program.
const START: &str = "RIVERRUN_START_ID";
/// A signal that was missed is made up for after this time.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// How a program is started. There is no shell.
#[derive(Debug, Clone, Default)]
pub struct Program {
    pub argv: Vec<String>,
    pub cwd: Option<PathBuf>,
    /// Names of the server's environment variables that the program sees, beside the usual few.
    pub inherit: Vec<String>,
    /// Variables of its own.
    pub env: BTreeMap<String, Secret>,
    pub limits: ProcessLimits,
}

pub(crate) struct Group {
    child: Option<Child>,
    pid: Pid,
    /// Carried by whatever it started.
    start: String,
}

pub(crate) struct Pipes {
    pub stdin: ChildStdin,
    pub stdout: ChildStdout,
    pub stderr: ChildStderr,
}

impl Program {
    pub(crate) fn start(&self) -> io::Result<(Group, Pipes)> {
        let Some((program, arguments)) = self.argv.split_first() else {
            return Err(io::Error::other("the command line is empty"));
        };
        let start = fresh();
        let mut command = Command::new(program);
        command.args(arguments).env_clear().envs(self.environment()?).env(START, &start);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0).kill_on_drop(true);
        if let Some(cwd) = &self.cwd {
            command.current_dir(cwd);
        }
        let mut child = command.spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take()).zip(child.stderr.take());
        let pid = child.id().and_then(|id| Pid::from_raw(id as i32));
        let (Some(((stdin, stdout), stderr)), Some(pid)) = (pipes, pid) else {
            return Err(io::Error::other("the process has no pipes"));
        };
        // From here on it is ended with its group if something goes wrong.
        let group = Group { child: Some(child), pid, start };
        self.limits.set(pid).map_err(|error| {
            io::Error::other(format!("its limits could not be set, so it was stopped: {error}"))
        })?;
        Ok((group, Pipes { stdin, stdout, stderr }))
    }

    /// What it is given and must not tell.
    pub(crate) fn scrubber(&self) -> Scrubber {
        let given = Scrubber::of(self.env.iter().map(|(name, value)| (name.as_str(), value)));
        let inherited = self.inherit.iter().filter(|name| names_a_secret(name));
        given.and(&Scrubber::new(inherited.filter_map(|name| std::env::var(name).ok())))
    }

    fn environment(&self) -> io::Result<Vec<(String, String)>> {
        let named = INHERITED.iter().copied().chain(self.inherit.iter().map(String::as_str));
        let mut all: Vec<(String, String)> =
            named.filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?))).collect();
        for (name, value) in &self.env {
            all.push((name.clone(), value.read().map_err(io::Error::other)?));
        }
        Ok(all)
    }
}

impl Group {
    /// Resolves when the child has ended; it is still there to be waited for.
    pub fn over(&self) -> impl Future<Output = ()> + use<> {
        wait_unreaped(self.pid)
    }

    pub fn signal(&self, signal: Signal) {
        if self.child.is_some() {
            let _ = kill_process_group(self.pid, signal);
        }
    }

    /// Waits until the child ends, and ends whatever it left behind.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        wait_unreaped(self.pid).await;
        let Some(mut child) = self.child.take() else {
            return Err(io::Error::other("the process was waited for before"));
        };
        let _ = kill_process_group(self.pid, Signal::KILL);
        end_soon(format!("{START}={}", self.start));
        child.wait().await
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let Some(child) = self.child.take() else { return };
        let _ = kill_process_group(self.pid, Signal::TERM);
        let last = LastResort { _child: child, pid: self.pid, start: std::mem::take(&mut self.start) };
        // Without a runtime, or with one that ends, the last resort comes at once.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let _ = tokio::time::timeout(GRACE, wait_unreaped(last.pid)).await;
                drop(last);
            });
        }
    }
}

/// A name that no other start has, of this server or of one before it.
fn fresh() -> String {
    static SERVER: LazyLock<u128> = LazyLock::new(|| {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        since.map_or(0, |since| since.as_nanos())
    });
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("{}-{}-{}", std::process::id(), *SERVER, COUNT.fetch_add(1, Ordering::Relaxed))
}

/// Ends the group for certain. The child itself is reaped by the runtime.
struct LastResort {
    _child: Child,
    pid: Pid,
    start: String,
}

impl Drop for LastResort {
    fn drop(&mut self) {
        let _ = kill_process_group(self.pid, Signal::KILL);
        end_soon(format!("{START}={}", self.start));
    }
}

/// Resolves when the process has ended, and leaves it there to be reaped.
async fn wait_unreaped(pid: Pid) {
    let mut signals = signal(SignalKind::child()).ok();
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    while let Ok(None) = waitid(WaitId::Pid(pid), options) {
        let told = async {
            match &mut signals {
                Some(signals) => drop(signals.recv().await),
                None => std::future::pending().await,
            }
        };
        let _ = tokio::time::timeout(LOOK_AGAIN, told).await;
    }
}
