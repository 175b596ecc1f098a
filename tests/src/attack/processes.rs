//! Programs that try to outlive the call which started them.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::Case;
use crate::crash::runner::world::World;
use crate::crash::{Program, Server};

pub const CASES: &[Case] = &[
    Case {
        name: "processes/a-daemon-ends-with-a-call-that-succeeds",
        run: |program| call(program, "ok", "5s"),
    },
    Case {
        name: "processes/a-daemon-ends-with-a-call-that-fails",
        run: |program| call(program, "fail", "5s"),
    },
    Case {
        name: "processes/a-daemon-ends-with-a-call-that-times-out",
        run: |program| call(program, "hang", "1s"),
    },
    Case { name: "processes/a-daemon-ends-with-a-call-that-is-cancelled", run: cancelled },
    Case { name: "processes/a-daemon-ends-with-a-server-that-is-killed", run: server_killed },
    Case {
        name: "processes/a-daemon-ends-though-it-killed-its-supervisor",
        run: |program| call(program, "kill", "5s"),
    },
    Case { name: "processes/a-fork-bomb-ends-with-its-call", run: |program| call(program, "bomb", "5s") },
    Case { name: "processes/a-daemon-of-an-mcp-server-ends-with-it", run: mcp_server },
    Case { name: "processes/an-exit-code-and-a-signal-are-told-as-they-were", run: statuses },
];

/// Leaves the group and the session, clears the environment, closes all pipes and takes another name.
const DAEMON: &str = r#"
import json, os, sys, time
mode, marker = sys.argv[1:3]

def daemon():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.chdir("/")
            for fd in range(64):
                try:
                    os.close(fd)
                except OSError:
                    pass
            os.execve("/bin/sleep", ["left-" + marker, "1000"], {})
        os._exit(0)
    os.wait()

if mode == "bomb":
    for _ in range(30):
        daemon()
else:
    daemon()
time.sleep(0.1)
if mode == "fail":
    sys.exit(3)
if mode == "hang":
    time.sleep(1000)
if mode == "kill":
    os.kill(os.getppid(), 9)
    time.sleep(1000)
if mode == "mcp":
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" not in asked:
            continue
        if asked["method"] == "initialize":
            result = {"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}},
                      "serverInfo": {"name": "hostile", "version": "1"}}
        elif asked["method"] == "tools/list":
            result = {"tools": [{"name": "look", "inputSchema": {"type": "object"}}]}
        else:
            result = {"content": [{"type": "text", "text": "looked"}]}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
print("done")
"#;

/// A scenario that calls one tool, then says something.
pub fn calling(tool: &str) -> String {
    format!(
        "[[step]]\nwhen = {{ results = 1 }}\nplay = [ {{ text = {{ pieces = [\"over\"] }} }} ]\n\
         [[step]]\nplay = [ {{ call = {{ name = \"{tool}\", arguments = ['{{}}'] }} }} ]\n"
    )
}

struct Attempt {
    world: World,
    marker: String,
    _folder: tempfile::TempDir,
}

impl Attempt {
    fn new(program: &Program, mode: &str, timeout: &str) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let script = folder.path().join("daemon.py");
        std::fs::write(&script, DAEMON)?;
        let marker = marker(folder.path());
        let command = format!("[\"python3\", {:?}, \"{mode}\", \"{marker}\"]", script);
        let part = match mode {
            "mcp" => format!("[mcp.hostile]\ncommand = {command}\napproval = \"never\"\n"),
            _ => format!(
                "[tools.escape]\ndescription = \"escapes\"\ncommand = {command}\ntimeout = \"{timeout}\"\napproval = \"never\"\n"
            ),
        };
        let tool = if mode == "mcp" { "mcp:hostile" } else { "escape" };
        let more = format!("{part}[agents.escaper]\nmodel = \"scripted/escape\"\ntools = [\"{tool}\"]\n");
        let call = calling(if mode == "mcp" { "hostile__look" } else { "escape" });
        let world = World::with(program, "attack-processes", &more, &[("escape.toml", &call)])?;
        Ok(Self { world, marker, _folder: folder })
    }

    fn submit(&self) -> Result<()> {
        self.world.place.create_session("s")?;
        self.world.submit("s", "t", "escaper")
    }

    fn until_left(&self, count: usize) -> Result<()> {
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(10) {
            if left(&self.marker) >= count {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let log = self.world.place.export("s").unwrap_or_default().join("\n");
        anyhow::bail!("no daemon was started:\n{log}\n{}", self.world.place.said())
    }

    fn until_gone(&self) -> Result<()> {
        let began = Instant::now();
        while left(&self.marker) > 0 {
            if began.elapsed() > Duration::from_secs(6) {
                end(&self.marker);
                anyhow::bail!("what the program started is still there 6 s after its end");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

fn marker(folder: &Path) -> String {
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    format!("{}-{}", std::process::id(), name.trim_start_matches('.'))
}

fn with_marker(marker: &str) -> Vec<i32> {
    let name = format!("left-{marker}");
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_left = |pid: &i32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.starts_with(name.as_bytes())
    };
    pids.filter(is_left).collect()
}

fn left(marker: &str) -> usize {
    with_marker(marker).len()
}

fn end(marker: &str) {
    for pid in with_marker(marker).into_iter().filter_map(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}

fn call(program: &Program, mode: &str, timeout: &str) -> Result<()> {
    let attempt = Attempt::new(program, mode, timeout)?;
    let (_server, _) = Server::start(&attempt.world.program, &attempt.world.place)?;
    attempt.submit()?;
    // A daemon that is never there would prove nothing.
    attempt.until_left(1)?;
    attempt.world.finish("s", &["t"])?;
    attempt.until_gone()
}

fn cancelled(program: &Program) -> Result<()> {
    let attempt = Attempt::new(program, "hang", "60s")?;
    let (_server, _) = Server::start(&attempt.world.program, &attempt.world.place)?;
    attempt.submit()?;
    attempt.until_left(1)?;
    let (status, answer) =
        attempt.world.post("/v1/sessions/s/turns/t/cancel", &json!({"mode": "immediate"}))?;
    ensure!(status < 300, "cancelling: {status} {answer}");
    attempt.world.finish("s", &["t"])?;
    attempt.until_gone()
}

fn server_killed(program: &Program) -> Result<()> {
    let attempt = Attempt::new(program, "hang", "60s")?;
    let (server, _) = Server::start(&attempt.world.program, &attempt.world.place)?;
    attempt.submit()?;
    attempt.until_left(1)?;
    server.kill()?;
    attempt.until_gone()
}

fn mcp_server(program: &Program) -> Result<()> {
    let attempt = Attempt::new(program, "mcp", "")?;
    let (server, _) = Server::start(&attempt.world.program, &attempt.world.place)?;
    attempt.submit()?;
    attempt.until_left(1)?;
    attempt.world.finish("s", &["t"])?;
    server.terminate().context("ending the server")?;
    attempt.until_gone()
}

/// The process between server and program changes nothing of what is told.
fn statuses(program: &Program) -> Result<()> {
    let mut more = String::new();
    let mut scenarios = Vec::new();
    let scripts = [
        ("three", "echo oh >&2; exit 3", "exit status: 3"),
        ("segv", "kill -SEGV $$", "signal: 11"),
        ("term", "kill -TERM $$", "signal: 15"),
        ("fine", "cat; echo fine", "fine"),
    ];
    for (name, script, _) in scripts {
        more.push_str(&format!(
            "[tools.{name}]\ndescription = \"x\"\ncommand = [\"sh\", \"-c\", \"{script}\"]\napproval = \"never\"\n\
             [agents.{name}]\nmodel = \"scripted/do_{name}\"\ntools = [\"{name}\"]\n"
        ));
        scenarios.push((format!("do_{name}.toml"), calling(name)));
    }
    let scenarios: Vec<(&str, &str)> =
        scenarios.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let world = World::with(program, "attack-statuses", &more, &scenarios)?;
    let (_server, _) = Server::start(&world.program, &world.place)?;
    for (name, _, expected) in scripts {
        world.place.create_session(name)?;
        world.submit(name, "t", name)?;
        let events = world.finish(name, &["t"])?;
        let log: Vec<String> = events.iter().map(ToString::to_string).collect();
        ensure!(
            log.iter().any(|event| event.contains(expected)),
            "`{expected}` is not there:\n{}",
            log.join("\n")
        );
    }
    Ok(())
}
