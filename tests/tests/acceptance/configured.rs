//! Tools that the configuration declares, in the hands of the real binary: programs, addresses, MCP servers.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::stage::{Stage, find, kinds};

const MCP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/tool/tests/suite/mcp_plain.py");

/// A scenario that makes these calls at once and then says that it is done.
pub fn scenario(calls: &[(&str, &str)]) -> String {
    let calls: Vec<String> = calls
        .iter()
        .enumerate()
        .map(|(place, (name, arguments))| {
            format!(
                "  {{ call = {{ id = \"c{place}\", name = \"{name}\", arguments = ['{arguments}'] }} }},\n"
            )
        })
        .collect();
    format!(
        "[[step]]\nwhen = {{ step = 1 }}\nplay = [\n{}]\n\n[[step]]\nplay = [{{ text = {{ pieces = [\"done\"] }} }}]\n",
        calls.concat()
    )
}

/// What the model read as the result of the call, and the code of its failure.
pub fn outcome(events: &[Value], place: usize) -> (String, Option<String>) {
    let call = format!("c{place}");
    let of_call = |event: &&Value| event["toolCallId"] == call.as_str();
    let read = events.iter().filter(of_call).find_map(|event| {
        let item = &event["payload"]["item"];
        (event["type"] == "item.completed" && item["type"] == "tool_result")
            .then(|| {
                item["content"].as_array().into_iter().flatten().filter_map(|part| part["text"].as_str())
            })
            .map(|texts| texts.collect::<Vec<_>>().join("\n"))
    });
    let failed = events.iter().filter(of_call).find(|event| event["type"] == "tool.failed");
    let code = failed.and_then(|event| event["payload"]["error"]["code"].as_str().map(ToOwned::to_owned));
    (read.unwrap_or_else(|| panic!("call {call} has no result: {:?}", kinds(events))), code)
}

/// True if the call went well and the model read this.
fn has(events: &[Value], place: usize, text: &str) -> bool {
    let (read, code) = outcome(events, place);
    assert_eq!(code, None, "{read}");
    read.contains(text)
}

fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}

fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(20), "not within 20 s: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn programs_and_addresses_run_and_all_that_goes_wrong_is_read_by_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let pids = folder.path().join("pids");
    let config = format!(
        r#"
[agents.doer]
model = "scripted/do"
tools = ["say", "sleepy", "killed", "failing", "big", "look", "private"]

[tools.say]
command = ["echo", "{{words}}"]
approval = "never"

[tools.sleepy]
command = ["sh", "-c", "sleep 300 & echo $! >> {pids}; echo $$ >> {pids}; wait"]
approval = "never"
timeout = "700ms"

[tools.killed]
command = ["sh", "-c", "kill -9 $$"]
approval = "never"

[tools.failing]
command = ["sh", "-c", "echo the reason >&2; exit 3"]
approval = "never"

[tools.big]
command = ["sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x"]
approval = "never"

[tools.private]
url = "https://127.1:9/"
approval = "never"
"#,
        pids = pids.display()
    );
    let calls = [
        ("say", r#"{"words":"$(id) `id` ; hello"}"#),
        ("say", r#"{"word":1}"#),
        ("nothing", "{}"),
        ("sleepy", "{}"),
        ("killed", "{}"),
        ("failing", "{}"),
        ("big", "{}"),
        ("look", "{}"),
        ("private", "{}"),
    ];
    let stage = Stage::new("configured", &config, &[("do.toml", &scenario(&calls))]);
    stage.submit("t1", "doer");
    let events = stage.until_ended("t1");
    assert_eq!(events.last().unwrap()["type"], "turn.completed", "{:?}", kinds(&events));
    let expected = [
        ("$(id) `id` ; hello", None),
        ("do not fit its schema", Some("bad_arguments")),
        ("There is no tool `nothing`", Some("unknown_tool")),
        ("longer than 0.7 s", Some("timeout")),
        ("signal", Some("crashed")),
        ("the reason", Some("tool_failed")),
        ("xxx", None),
        ("", None),
        ("private", Some("denied")),
    ];
    for (place, (text, code)) in expected.into_iter().enumerate() {
        let (read, found) = outcome(&events, place);
        assert!(read.contains(text), "call {place}: {}", &read[..read.len().min(300)]);
        assert_eq!(found.as_deref(), code, "call {place}: {}", &read[..read.len().min(300)]);
    }
    let big = events.iter().find(|event| event["toolCallId"] == "c6" && event["type"] == "item.completed");
    let spilled =
        big.unwrap()["refs"]["spilled"][0]["ref"].as_str().expect("what is large is kept by reference");
    let (status, bytes) = stage.world.place.ask("GET", &format!("/v1/blobs/{spilled}"), &[], b"").unwrap();
    assert_eq!(status, 200);
    let end = String::from_utf8_lossy(&bytes[bytes.len() - 60..]).into_owned();
    assert!(bytes.len() < 1_100_000 && end.contains("of 3000000 bytes"), "{} bytes, {end}", bytes.len());
    assert_eq!(stage.world.counter.effects("s", "look").len(), 1);
    let pids = std::fs::read_to_string(pids).unwrap();
    assert_eq!(pids.lines().count(), 2);
    eventually("the whole group of the slow program is gone", || !pids.lines().any(is_alive));
}

/// An MCP server over HTTP that is killed with this value.
struct Listening(Child);

impl Listening {
    fn start(folder: &Path, port: u16) -> Self {
        let mut command = Command::new("python3");
        command.args([MCP, "http"]).arg(folder.join("tools")).arg(folder.join("notes")).arg(port.to_string());
        let listening = Self(command.stdout(Stdio::null()).spawn().unwrap());
        eventually("the MCP server listens", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
        listening
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn tools_of(stage: &Stage, agent: &str) -> Vec<String> {
    let listed = stage.world.get("/v1/agents").unwrap();
    let agents = listed["agents"].as_array().unwrap();
    let agent = agents.iter().find(|known| known["name"] == agent).unwrap();
    let tools = agent["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn mcp_servers_that_are_down_come_back_with_what_they_offer_then() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| -> PathBuf { folder.path().join(name) };
    std::fs::write(at("tools"), "echo crash").unwrap();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = format!(
        r#"
[agents.doer]
model = "scripted/do"
tools = ["mcp:near", "mcp:far"]

[mcp.near]
command = ["python3", "{MCP}", "stdio", "{tools}", "{notes}"]
approval = "never"

[mcp.far]
url = "http://127.0.0.1:{port}/mcp"
allow_hosts = ["127.0.0.1"]
approval = "never"
"#,
        tools = at("tools").display(),
        notes = at("near").display(),
    );
    let calls = [("near__echo", r#"{"n":1}"#), ("far__echo", r#"{"n":2}"#), ("near__crash", "{}")];
    let stage = Stage::new("mcp", &config, &[("do.toml", &scenario(&calls))]);
    eventually("the server near is listed", || tools_of(&stage, "doer").len() == 2);
    stage.submit("t1", "doer");
    let events = stage.until_ended("t1");
    assert!(has(&events, 0, r#"echo {"n": 1}"#));
    let (read, code) = outcome(&events, 1);
    assert!(read.contains("`far__echo` is not there now"), "{read}");
    assert_eq!(code.as_deref(), Some("unavailable"));
    assert_eq!(outcome(&events, 2).1.as_deref(), Some("crashed"));

    std::fs::write(at("tools"), "echo crash more").unwrap();
    let listening = Listening::start(folder.path(), port);
    eventually("the server far is listed", || tools_of(&stage, "doer").len() >= 5);
    let session = |name: &str| {
        stage.world.place.create_session(name).unwrap();
        stage.world.submit(name, name, "doer").unwrap();
        stage.world.finish(name, &[name]).unwrap()
    };
    let events = session("s2");
    assert!(has(&events, 0, r#"echo {"n": 1}"#), "near was started again");
    assert!(has(&events, 1, r#"echo {"n": 2}"#));
    let told = find(&events, "tool.catalog.resolved");
    let names: Vec<&str> = told["payload"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["toolName"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"far__more"), "{names:?}");

    drop(listening);
    let events = session("s3");
    let (read, code) = outcome(&events, 1);
    assert!(matches!(code.as_deref(), Some("crashed" | "unavailable")), "{code:?}: {read}");
    let _listening = Listening::start(folder.path(), port);
    let began = Instant::now();
    for number in 4.. {
        let events = session(&format!("s{number}"));
        if outcome(&events, 1).1.is_none() {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "the server far is not found again");
        std::thread::sleep(Duration::from_millis(200));
    }
}
