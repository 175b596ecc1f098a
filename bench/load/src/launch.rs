//! Starts a server in a directory of its own, finds its address, and stops it again.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;

use crate::connection::ServerConnection;
use crate::error::{MeasurementError, MeasurementResult};
use crate::process;
use crate::request;
use crate::target::Target;

/// Preallocating the ceiling's file takes seconds the first time.
const START: Duration = Duration::from_secs(60);
/// Longer than a server may drain.
const STOP: Duration = Duration::from_secs(40);
/// Time for work behind the last answer, such as sealing finished turns.
const SETTLE: Duration = Duration::from_secs(3);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerKind {
    Riverrun,
    Ceiling,
}

/// How to start a server.
#[derive(Clone, Debug)]
pub struct Launch {
    pub kind: ServerKind,
    pub program: PathBuf,
    /// Further arguments.
    pub arguments: Vec<String>,
    /// The ceiling's write-ahead file, kept between starts so that it is preallocated once.
    pub file: PathBuf,
}

/// A running server, which ends with this value.
pub struct Running {
    launch: Launch,
    directory: PathBuf,
    child: Child,
    pub target: Target,
}

impl Launch {
    /// Starts the server with its data in `directory`.
    pub async fn start(&self, directory: &Path) -> MeasurementResult<Running> {
        let mut child = self.command(directory).spawn().map_err(|error| self.failed(error.to_string()))?;
        let (lines, mut printed) = mpsc::unbounded_channel();
        forward(child.stdout.take(), lines.clone());
        forward(child.stderr.take(), lines);
        let address = match tokio::time::timeout(START, address(&mut printed)).await {
            Ok(Ok(address)) => address,
            Ok(Err(output)) => return Err(self.failed(output)),
            Err(_) => return Err(self.failed(format!("no address within {} s", START.as_secs()))),
        };
        let target = match self.kind {
            ServerKind::Ceiling => Target::ceiling(address),
            ServerKind::Riverrun => Target::riverrun(address, Some(self.key(directory).await?)),
        };
        let target = target.with_process(child.id());
        Ok(Running { launch: self.clone(), directory: directory.to_owned(), child, target })
    }

    fn command(&self, directory: &Path) -> Command {
        let mut command = Command::new(&self.program);
        match self.kind {
            ServerKind::Riverrun => command
                .env("RIVERRUN_LIMITS__NEW_SESSIONS_PER_SECOND", "0")
                .arg("serve")
                .arg("--data-dir")
                .arg(directory),
            ServerKind::Ceiling => command.arg("--file").arg(&self.file),
        };
        command.args(["--listen", "127.0.0.1:0"]).args(&self.arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        command
    }

    async fn key(&self, directory: &Path) -> MeasurementResult<String> {
        let path = directory.join("admin.key");
        for _ in 0..100 {
            match std::fs::read_to_string(&path) {
                Ok(key) if !key.trim().is_empty() => return Ok(key.trim().to_owned()),
                Ok(_) | Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
        Err(self.failed(format!("no key in `{}`", path.display())))
    }

    fn failed(&self, reason: String) -> MeasurementError {
        MeasurementError::Start { program: self.program.clone(), reason }
    }
}

impl Running {
    /// Bytes the server has stored so far. Riverrun is stopped for it, because only a closed log
    /// has all of its bytes in their final place, and started again.
    pub async fn stored(self) -> MeasurementResult<(Self, u64)> {
        tokio::time::sleep(SETTLE).await;
        match self.launch.kind {
            ServerKind::Ceiling => {
                let request = request::get(&self.target, "/stats", "application/json");
                let mut connection = ServerConnection::open(&self.target).await?;
                let stats: Stats = parse(connection.exchange(&request).await?)?;
                Ok((self, stats.bytes))
            }
            ServerKind::Riverrun => {
                let (launch, directory) = (self.launch.clone(), self.directory.clone());
                self.stop().await?;
                let size = process::directory_size(&directory)?;
                Ok((launch.start(&directory).await?, size))
            }
        }
    }

    /// Asks the server to end and waits until it has.
    pub async fn stop(mut self) -> MeasurementResult<()> {
        if let Some(process) = self.child.id().and_then(|id| rustix::process::Pid::from_raw(id as i32)) {
            // It may have ended by itself in between, which is as good.
            rustix::process::kill_process(process, rustix::process::Signal::TERM).ok();
        }
        if tokio::time::timeout(STOP, self.child.wait()).await.is_err() {
            self.child.kill().await?;
        }
        Ok(())
    }
}

#[derive(serde::Deserialize)]
struct Stats {
    bytes: u64,
}

fn parse(body: &[u8]) -> MeasurementResult<Stats> {
    serde_json::from_slice(body)
        .map_err(|_| MeasurementError::Malformed(String::from_utf8_lossy(body).into_owned()))
}

/// Reads lines for as long as the server lives, or its pipe would fill and stall it.
fn forward(output: Option<impl AsyncRead + Unpin + Send + 'static>, lines: mpsc::UnboundedSender<String>) {
    let Some(output) = output else { return };
    tokio::spawn(async move {
        let mut output = BufReader::new(output).lines();
        while let Ok(Some(line)) = output.next_line().await {
            // After the start nobody listens, and the lines are dropped.
            lines.send(line).ok();
        }
    });
}

/// The first address that the server prints; what it printed instead, if it ends without one.
async fn address(printed: &mut mpsc::UnboundedReceiver<String>) -> std::result::Result<SocketAddr, String> {
    let mut output = String::new();
    while let Some(line) = printed.recv().await {
        if let Some(address) = find_address(&line) {
            return Ok(address);
        }
        output = output + &line + "\n";
    }
    Err(output)
}

fn find_address(line: &str) -> Option<SocketAddr> {
    let after = line.split_once("http://")?.1;
    let end = after.find(|c: char| !(c.is_ascii_hexdigit() || ".:[]".contains(c))).unwrap_or(after.len());
    after[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_found_in_a_sentence() {
        let expected = "127.0.0.1:4242".parse().ok();
        assert_eq!(find_address("listening on http://127.0.0.1:4242"), expected);
        assert_eq!(find_address("console: http://127.0.0.1:4242/ (key in x)"), expected);
        assert_eq!(find_address("no address here"), None);
    }
}
