//! A child process and everything that it started.
//!
//! Where the binary can supervise (`supervisor.rs`), the child is a supervisor: it passes signals on, and ends whatever
//! the program started. Elsewhere the child is the program and leads a process group of its own. Signals go to the
//! group, and only while the child has not been reaped: until then nobody else can get the group's number. What left
//! the group is found by a variable that it inherited.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::signal::unix::{SignalKind, signal};

use crate::mark::end_soon;
use crate::scrub::Scrubber;
use crate::strays::{self, Registered};
use crate::{ProcessLimits, ValueSource};

/// What a child gets of the server's environment without being named.
const INHERITED: &[&str] = &["PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR"];
/// Between asking a group to end and ending it.
pub(crate) const GRACE: Duration = Duration::from_secs(2);
/// The variable that is different for every start of every program.
const START: &str = "RIVERRUN_START_ID";
/// How long a supervisor may take to end everything.
const ENDING: Duration = Duration::from_secs(6);
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
    pub env: BTreeMap<String, ValueSource>,
    pub limits: ProcessLimits,
}

pub(crate) struct Group {
    /// None once it was waited for.
    running: Option<Running>,
    pid: Pid,
}

/// A child that was not reaped yet.
struct Running {
    child: Child,
    pid: Pid,
    /// Carried by whatever it started.
    start: String,
    /// Some for a supervisor.
    supervisor: Option<Registered>,
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
        let (start, environment) = (fresh(), self.environment()?);
        // Nobody counts the new child as a stray before it is registered.
        let registry = strays::supervisor();
        let mut command = match &registry {
            Some(registry) => {
                find(program, &environment, self.cwd.as_deref())?;
                let mut command = registry.command(&self.limits);
                command.args(&self.argv);
                command
            }
            None => {
                let mut command = Command::new(program);
                command.args(arguments).kill_on_drop(true);
                command
            }
        };
        command.env_clear().envs(environment).env(START, &start).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(cwd) = &self.cwd {
            command.current_dir(cwd);
        }
        let mut child = command.spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take()).zip(child.stderr.take());
        let pid = child.id().and_then(|id| Pid::from_raw(id as i32));
        let (Some(((stdin, stdout), stderr)), Some(pid)) = (pipes, pid) else {
            return Err(io::Error::other("the process has no pipes"));
        };
        let supervisor = registry.map(|registry| registry.register(pid));
        // From here on everything is ended if something goes wrong.
        let is_supervised = supervisor.is_some();
        let group = Group { running: Some(Running { child, pid, start, supervisor }), pid };
        if !is_supervised {
            self.limits.set(pid).map_err(|error| {
                io::Error::other(format!("its limits could not be set, so it was stopped: {error}"))
            })?;
        }
        Ok((group, Pipes { stdin, stdout, stderr }))
    }

    /// What it is given and must not tell.
    pub(crate) fn scrubber(&self) -> Scrubber {
        for name in &self.inherit {
            if let Some(value) = riverrun_secret::variable(name) {
                riverrun_secret::learn_named(name, &value);
            }
        }
        Scrubber::of(self.env.iter().map(|(name, value)| (name.as_str(), value)))
    }

    fn environment(&self) -> io::Result<Vec<(String, String)>> {
        let named = INHERITED.iter().copied().chain(self.inherit.iter().map(String::as_str));
        let mut all: Vec<(String, String)> =
            named.filter_map(|name| Some((name.to_owned(), riverrun_secret::variable(name)?))).collect();
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
        if let Some(running) = &self.running {
            running.signal(signal);
        }
    }

    /// Waits until the program ends, and ends whatever it left behind.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        wait_unreaped(self.pid).await;
        let Some(running) = self.running.take() else {
            return Err(io::Error::other("the process was waited for before"));
        };
        running.reap().await
    }
}

impl Running {
    fn signal(&self, signal: Signal) {
        let _ = match self.supervisor {
            Some(_) if signal == Signal::KILL => kill_process(self.pid, Signal::USR2),
            Some(_) => kill_process(self.pid, Signal::USR1),
            None => kill_process_group(self.pid, signal),
        };
    }

    /// For a child that has ended.
    async fn reap(mut self) -> io::Result<ExitStatus> {
        use std::os::unix::process::ExitStatusExt;
        if self.supervisor.is_none() {
            let _ = kill_process_group(self.pid, Signal::KILL);
            end_soon(format!("{START}={}", self.start));
        }
        let status = self.child.wait().await;
        if let Some(registered) = self.supervisor.take() {
            drop(registered);
            // Somebody may have ended the supervisor itself.
            if status.as_ref().is_ok_and(|status| status.signal().is_some()) {
                strays::end_soon();
            }
        }
        status
    }

    /// Ends everything, within the time that a supervisor needs for it.
    async fn end(self) {
        let _ = tokio::time::timeout(GRACE, wait_unreaped(self.pid)).await;
        if self.supervisor.is_none() {
            return;
        }
        self.signal(Signal::KILL);
        if tokio::time::timeout(ENDING, wait_unreaped(self.pid)).await.is_err() {
            // It was stopped, or what it waits for cannot be ended.
            let _ = kill_process(self.pid, Signal::KILL);
            wait_unreaped(self.pid).await;
        }
        let _ = self.reap().await;
    }
}

/// Without a runtime, or with one that ends, the end comes at once. The child itself is reaped by the runtime.
impl Drop for Running {
    fn drop(&mut self) {
        if self.child.id().is_none() {
            return;
        }
        self.signal(Signal::KILL);
        if self.supervisor.is_none() {
            end_soon(format!("{START}={}", self.start));
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let Some(running) = self.running.take() else { return };
        running.signal(Signal::TERM);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(running.end());
        }
    }
}

/// Says what starting the program would say if it is not there: a supervisor could not say it any more.
fn find(program: &str, environment: &[(String, String)], cwd: Option<&Path>) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let check = |path: &Path| {
        let path = cwd.map_or_else(|| path.to_owned(), |cwd| cwd.join(path));
        let metadata = std::fs::metadata(path)?;
        let is_program = metadata.is_file() && metadata.permissions().mode() & 0o111 != 0;
        if is_program { Ok(()) } else { Err(io::Error::from(rustix::io::Errno::ACCESS)) }
    };
    if program.contains('/') {
        return check(Path::new(program));
    }
    let path = environment.iter().rev().find(|(name, _)| name == "PATH");
    let path = path.map_or("/bin:/usr/bin", |(_, path)| path.as_str());
    let is_there = std::env::split_paths(path).any(|folder| check(&folder.join(program)).is_ok());
    if is_there { Ok(()) } else { Err(io::Error::from(rustix::io::Errno::NOENT)) }
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

/// Resolves when the process has ended, and leaves it there to be reaped.
async fn wait_unreaped(pid: Pid) {
    let mut signals = signal(SignalKind::child()).ok();
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    while let Ok(None) = waitid(WaitId::Pid(pid), options) {
        let changed = async {
            match &mut signals {
                Some(signals) => drop(signals.recv().await),
                None => std::future::pending().await,
            }
        };
        let _ = tokio::time::timeout(LOOK_AGAIN, changed).await;
    }
}
