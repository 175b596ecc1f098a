//! Watches or fails the server's syncs from outside.

use std::path::Path;
use std::process::Command;

use super::server::Program;

/// One line of a trace: when, and what.
#[derive(Debug, Clone, PartialEq)]
pub struct Sync {
    /// Seconds since 1970.
    pub at: f64,
    pub call: String,
}

pub fn is_permitted() -> bool {
    let words = ["-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync", "true"];
    Command::new("strace").args(words).output().is_ok_and(|output| output.status.success())
}

/// The program under strace; the `failing`-th sync of it fails with EIO, if one is given.
pub fn under(program: &Program, trace: &Path, failing: Option<u64>) -> Program {
    let trace = trace.to_string_lossy().into_owned();
    let words =
        ["strace", "-f", "--seccomp-bpf", "-qq", "-y", "-ttt", "-o", &trace, "-e", "trace=fsync,fdatasync"];
    let mut under: Vec<String> = words.map(str::to_owned).to_vec();
    if let Some(number) = failing {
        under.extend(["-e".to_owned(), format!("inject=fsync,fdatasync:error=EIO:when={number}")]);
    }
    Program { under, ..program.clone() }
}

/// The syncs of a trace that were begun.
pub fn read(trace: &Path) -> Vec<Sync> {
    let text = std::fs::read_to_string(trace).unwrap_or_default();
    let sync = |line: &str| {
        // `1234 1700000000.123456 fdatasync(7</data/log.db-wal>) = 0`
        // The number of the process is padded to a width.
        let (_, rest) = line.trim_start().split_once(' ')?;
        let (at, call) = rest.trim_start().split_once(' ')?;
        (call.starts_with("fsync(") || call.starts_with("fdatasync("))
            .then(|| Some(Sync { at: at.parse().ok()?, call: call.to_owned() }))?
    };
    text.lines().filter_map(sync).collect()
}
