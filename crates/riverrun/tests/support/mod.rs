//! The real binary: run to its end, as a server, or at a terminal.

// Each test program uses a part of it.
#![allow(dead_code)]

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value;

pub const BINARY: &str = env!("CARGO_BIN_EXE_riverrun");
const PATIENCE: Duration = Duration::from_secs(30);

fn command(program: &str, directory: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(directory).env_remove("NO_COLOR");
    for name in ["RIVERRUN_URL", "RIVERRUN_KEY", "RIVERRUN_CONFIG", "RIVERRUN_LOG"] {
        command.env_remove(name);
    }
    command
}

/// Runs a command to its end with this on its standard input.
pub fn riverrun_with(directory: &Path, words: &[&str], input: &str) -> Output {
    let mut command = command(BINARY, directory);
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary runs");
    // A command that reads nothing may be gone before everything is written.
    let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
    child.wait_with_output().expect("the binary ends")
}

pub fn riverrun(directory: &Path, words: &[&str]) -> Output {
    riverrun_with(directory, words, "")
}

pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Every line of standard output as JSON.
pub fn lines(output: &Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
}

/// `riverrun serve` on a free port, killed when it is dropped.
pub struct Server {
    child: Child,
    pub url: String,
    pub key: String,
}

impl Server {
    pub fn start(directory: &Path, words: &[&str]) -> Self {
        let mut command = command(BINARY, directory);
        command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir", "data"]).args(words);
        let mut child = command.stderr(Stdio::piped()).spawn().expect("the binary runs");
        let mut told = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut all = String::new();
        let url = loop {
            let mut line = String::new();
            assert!(told.read_line(&mut line).is_ok_and(|count| count > 0), "it did not start: {all}");
            all.push_str(&line);
            if let Some(rest) = line.split("export RIVERRUN_URL=").nth(1) {
                break rest.split(' ').next().unwrap_or_default().to_owned();
            }
        };
        // Somebody must read what it says, or it blocks.
        std::thread::spawn(move || std::io::copy(&mut told, &mut std::io::sink()));
        let key =
            std::fs::read_to_string(directory.join("data/admin.key")).expect("the first start makes it");
        Self { child, url, key: key.trim().to_owned() }
    }

    /// Runs a command against this server.
    pub fn run(&self, words: &[&str]) -> Output {
        let mut command = command(BINARY, Path::new("."));
        command.env("RIVERRUN_URL", &self.url).env("RIVERRUN_KEY", &self.key);
        command.args(words).stdin(Stdio::null()).output().expect("the binary runs")
    }

    pub fn environment(&self) -> [(&str, &str); 2] {
        [("RIVERRUN_URL", &self.url), ("RIVERRUN_KEY", &self.key)]
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A command at a terminal of its own: what is typed reaches it as from a keyboard, `^C` as a signal.
pub struct Terminal {
    child: Child,
    keyboard: ChildStdin,
    heard: Receiver<Vec<u8>>,
    shown: String,
}

/// Python's standard library opens the terminal and passes everything on, also how the command ended.
const DRIVER: &str = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:], lambda f: os.read(f, 1024))) % 256)";

impl Terminal {
    pub fn open(directory: &Path, words: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut command = command("python3", directory);
        command.args(["-c", DRIVER, BINARY]).args(words).envs(environment.iter().copied());
        command.env("NO_COLOR", "1").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("python3 is there");
        let keyboard = child.stdin.take().expect("a pipe");
        let mut screen = child.stdout.take().expect("a pipe");
        let (sender, heard) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = screen.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { child, keyboard, heard, shown: String::new() }
    }

    /// Waits until this is shown, and answers all that was shown up to then. Each thing is seen once.
    pub fn see(&mut self, text: &str) -> String {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(at) = self.shown.find(text) {
                let rest = self.shown.split_off(at + text.len());
                return std::mem::replace(&mut self.shown, rest);
            }
            let left = until.saturating_duration_since(Instant::now());
            match self.heard.recv_timeout(left) {
                Ok(bytes) => self.shown.push_str(&String::from_utf8_lossy(&bytes)),
                Err(_) => panic!("`{text}` was not shown; this was: {}", self.shown),
            }
        }
    }

    pub fn type_in(&mut self, text: &str) {
        self.keyboard.write_all(text.as_bytes()).expect("the terminal takes it");
        self.keyboard.flush().expect("the terminal takes it");
    }

    /// Waits for the end; the exit code, and the rest of what was shown.
    pub fn end(mut self) -> (Option<i32>, String) {
        while let Ok(bytes) = self.heard.recv_timeout(PATIENCE) {
            self.shown.push_str(&String::from_utf8_lossy(&bytes));
        }
        let status = self.child.wait().expect("it ends");
        (status.code(), std::mem::take(&mut self.shown))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
