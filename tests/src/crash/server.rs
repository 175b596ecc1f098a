//! The server as a process: started, awaited, killed.

use std::fs::{File, OpenOptions};
use std::net::{SocketAddr, TcpListener};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};

use super::http::{Connection, Header};

/// Longer than any start here; one that takes it is a failure.
const START: Duration = Duration::from_secs(20);
const PATIENCE: Duration = Duration::from_secs(10);

/// What is started: the binary, perhaps under another program, perhaps with a bug switched on.
#[derive(Debug, Clone)]
pub struct Program {
    pub binary: PathBuf,
    pub bug: Option<String>,
    /// Words before the binary, as of `strace`.
    pub under: Vec<String>,
    /// Words behind `serve`.
    pub words: Vec<String>,
    /// Variables besides those of the suite.
    pub env: Vec<(String, String)>,
}

impl Program {
    /// Suites make sessions and upload blobs as fast as they can, so these rates have no limit.
    pub fn new(binary: impl Into<PathBuf>) -> Self {
        let rates = ["NEW_SESSIONS_PER_SECOND", "UPLOAD_BYTES_PER_SECOND"];
        let env = rates.map(|rate| (format!("RIVERRUN_LIMITS__{rate}"), "0".to_owned())).to_vec();
        Self { binary: binary.into(), bug: None, under: Vec::new(), words: Vec::new(), env }
    }

    /// With every limit as a user meets it.
    pub fn with_default_limits(&self) -> Self {
        let mut program = self.clone();
        program.env.retain(|(name, _)| !name.starts_with("RIVERRUN_LIMITS__"));
        program
    }

    pub fn command(&self, words: &[&str]) -> Command {
        let mut all = self.under.clone();
        all.push(self.binary.to_string_lossy().into_owned());
        all.extend(words.iter().map(|word| (*word).to_owned()));
        let mut command = Command::new(&all[0]);
        command.args(&all[1..]).env("RIVERRUN_LOG", "error").stdin(Stdio::null());
        command.env_remove("RIVERRUN_CONFIG").env_remove("RIVERRUN_SEEDED_BUG");
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        if let Some(bug) = &self.bug {
            command.env("RIVERRUN_SEEDED_BUG", bug);
        }
        command
    }
}

/// Where a server keeps its data and what it says, and where it listens.
#[derive(Debug, Clone)]
pub struct Place {
    pub data: PathBuf,
    pub said: PathBuf,
    pub address: SocketAddr,
    /// Held as long as the place: no other test takes its port.
    pub port: Arc<File>,
}

impl Place {
    /// A data directory in `folder` and a port that is nobody else's.
    pub fn new(folder: &Path) -> Result<Self> {
        let (address, port) = take_port()?;
        Ok(Self { data: folder.join("data"), said: folder.join("said"), address, port })
    }

    pub fn key(&self) -> Result<String> {
        let path = self.data.join("admin.key");
        let key = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        Ok(key.trim().to_owned())
    }

    pub fn said(&self) -> String {
        std::fs::read_to_string(&self.said).unwrap_or_default()
    }

    /// One request with the admin key, and the whole answer.
    pub fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[Header<'_>],
        body: &[u8],
    ) -> Result<(u16, Vec<u8>)> {
        let mut connection = Connection::open(self.address, &self.key()?, PATIENCE)?;
        let head = connection.send(method, path, headers, body)?;
        Ok((head.status, connection.read_body(&head)?))
    }

    pub fn create_session(&self, name: &str) -> Result<()> {
        let json = ("content-type", "application/json".to_owned());
        let body = format!("{{\"sessionId\":\"{name}\"}}");
        let (status, answer) = self.ask("POST", "/v1/sessions", &[json], body.as_bytes())?;
        ensure!(status == 201, "making session `{name}`: {status} {}", String::from_utf8_lossy(&answer));
        Ok(())
    }

    /// The whole log of a session, one event a line.
    pub fn export(&self, session: &str) -> Result<Vec<String>> {
        let (status, body) = self.ask("GET", &format!("/v1/sessions/{session}/export"), &[], b"")?;
        let text = String::from_utf8(body).context("the export is UTF-8")?;
        ensure!(status == 200, "exporting session `{session}`: {status} {text}");
        Ok(text.lines().map(str::to_owned).collect())
    }
}

/// Where the system never puts a connection of its own, so that a server finds its port free after a restart too.
const PORTS: Range<u16> = 12_000..32_000;

/// A free port and the lock that says whose it is, among all tests of this machine.
fn take_port() -> Result<(SocketAddr, Arc<File>)> {
    let folder = std::env::temp_dir().join("riverrun-ports");
    std::fs::create_dir_all(&folder)?;
    // Each process begins elsewhere, so that few ask for the same one.
    let first = std::process::id() as usize % PORTS.len();
    for port in PORTS.cycle().skip(first).take(PORTS.len()) {
        let lock = OpenOptions::new().create(true).append(true).open(folder.join(port.to_string()))?;
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        if lock.try_lock().is_ok() && TcpListener::bind(address).is_ok() {
            return Ok((address, Arc::new(lock)));
        }
    }
    bail!("every port of {PORTS:?} is taken")
}

pub struct Server {
    child: Child,
    place: Place,
    began: Instant,
    /// The server is a child of `child`.
    is_under: bool,
}

impl Server {
    pub fn spawn(program: &Program, place: &Place) -> Result<Self> {
        let said = || -> Result<File> { Ok(OpenOptions::new().create(true).append(true).open(&place.said)?) };
        let (data, listen) = (place.data.to_string_lossy(), place.address.to_string());
        let mut command = program.command(&["serve", "--data-dir", &data, "--listen", &listen]);
        command.args(&program.words);
        let child = command.stdout(said()?).stderr(said()?).spawn();
        let child = child.with_context(|| format!("starting {}", program.binary.display()))?;
        let is_under = !program.under.is_empty();
        Ok(Self { child, place: place.clone(), began: Instant::now(), is_under })
    }

    pub fn start(program: &Program, place: &Place) -> Result<(Self, Duration)> {
        let mut server = Self::spawn(program, place)?;
        let took = server.wait_ready()?;
        Ok((server, took))
    }

    /// Waits until it answers; the time since it was spawned.
    pub fn wait_ready(&mut self) -> Result<Duration> {
        while self.began.elapsed() < START {
            if let Some(status) = self.child.try_wait()? {
                bail!("the server ended with {status} before it was ready:\n{}", self.place.said());
            }
            if self.is_ready() {
                return Ok(self.began.elapsed());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        bail!("the server was not ready after {} s:\n{}", START.as_secs(), self.place.said())
    }

    fn is_ready(&self) -> bool {
        let answer = Connection::open(self.place.address, "", PATIENCE)
            .and_then(|mut connection| connection.send("GET", "/readyz", &[], b""));
        answer.is_ok_and(|head| head.status == 200)
    }

    /// The server's own process: the child of the program it runs under, if there is one.
    pub fn pid(&self) -> Pid {
        let child = Pid::from_child(&self.child);
        if !self.is_under {
            return child;
        }
        let tasks = format!("/proc/{0}/task/{0}/children", self.child.id());
        let below = std::fs::read_to_string(tasks).unwrap_or_default();
        let first = below.split_whitespace().next().and_then(|word| word.parse().ok());
        first.and_then(Pid::from_raw).unwrap_or(child)
    }

    /// The time that it spent computing. A tick is a hundredth of a second on every Linux of today.
    pub fn computed(&self) -> Result<Duration> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid()))?;
        let behind = stat.rsplit(')').next().unwrap_or_default();
        let ticks = behind.split_whitespace().skip(11).take(2).filter_map(|word| word.parse::<u64>().ok());
        Ok(Duration::from_millis(ticks.sum::<u64>() * 10))
    }

    /// Its resident memory in KiB.
    pub fn memory(&self) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        number.context("a process has a VmRSS")
    }

    pub fn kill(mut self) -> Result<()> {
        kill_process(self.pid(), Signal::KILL)?;
        self.child.wait()?;
        Ok(())
    }

    /// Kills it unless it has noticed its misfortune by itself.
    pub fn kill_if_alive(mut self) -> Result<()> {
        if self.child.try_wait()?.is_none() {
            self.kill()?;
        }
        Ok(())
    }

    /// Stops it as it is, until it may go on.
    pub fn stop(&self) -> Result<()> {
        Ok(kill_process(self.pid(), Signal::STOP)?)
    }

    pub fn go_on(&self) -> Result<()> {
        Ok(kill_process(self.pid(), Signal::CONT)?)
    }

    /// Asks it to read its configuration again.
    pub fn hang_up(&self) -> Result<()> {
        Ok(kill_process(self.pid(), Signal::HUP)?)
    }

    /// Asks it to go.
    pub fn ask_to_go(&self) -> Result<()> {
        Ok(kill_process(self.pid(), Signal::TERM)?)
    }

    /// Asks it to go, and waits until it has.
    pub fn terminate(mut self) -> Result<(ExitStatus, Duration)> {
        let began = Instant::now();
        self.ask_to_go()?;
        let status = self.wait(PATIENCE)?.context("the server did not end after SIGTERM")?;
        Ok((status, began.elapsed()))
    }

    /// Waits until it ends by itself; None if it does not in time.
    pub fn wait(&mut self, at_most: Duration) -> Result<Option<ExitStatus>> {
        let began = Instant::now();
        while began.elapsed() < at_most {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Some(status));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(None)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Already gone in the good case.
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = kill_process(self.pid(), Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::take_port;

    #[test]
    fn a_port_is_given_once() {
        let (first, _lock) = take_port().unwrap();
        let (second, _other) = take_port().unwrap();
        assert_ne!(first, second);
    }
}
