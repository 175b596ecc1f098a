//! `riverrun doctor` and `riverrun config check` on real files, services and MCP servers.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

const SECRET: &str = "sk-live-very-secret";

fn riverrun(directory: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_riverrun"))
        .args(words)
        .current_dir(directory)
        .env("RIVERRUN_URL", "http://127.0.0.1:9")
        .env("GOOD_KEY", SECRET)
        .env_remove(if words[0] == "run" { "RIVERRUN_URL" } else { "RIVERRUN_KEY" })
        .env_remove("RIVERRUN_KEY")
        .env_remove("RIVERRUN_CONFIG")
        .stdin(Stdio::null())
        .output()
        .expect("the binary runs")
}

/// A service that answers every request with this status; its URL.
fn service(status: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = [0; 4096];
            let _ = stream.read(&mut head);
            let body = "{\"data\":[]}";
            let _ = write!(
                stream,
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
        }
    });
    format!("http://{address}/v1")
}

/// A port that nobody listens on.
fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    format!("http://{}/v1", listener.local_addr().expect("it is bound"))
}

/// Two tools over stdio, one of which has a name that no service takes.
const MCP: &str = r#"
import json, sys
for line in sys.stdin:
    ask = json.loads(line)
    if "id" not in ask: continue
    answer = {"jsonrpc": "2.0", "id": ask["id"]}
    if ask["method"] == "initialize":
        answer["result"] = {"protocolVersion": ask["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": "1"}}
    elif ask["method"] == "tools/list":
        answer["result"] = {"tools": [{"name": "read", "inputSchema": {"type": "object"}}]}
    else:
        answer["error"] = {"code": -32601, "message": "no"}
    print(json.dumps(answer), flush=True)
"#;

fn check<'a>(checks: &'a Value, name: &str, about: &str) -> &'a Value {
    let list = checks["checks"].as_array().expect("checks");
    let is = |check: &&Value| {
        check["name"] == name && check["detail"].as_str().is_some_and(|detail| detail.contains(about))
    };
    list.iter().find(is).unwrap_or_else(|| panic!("no check `{name}` of `{about}` in {checks:#}"))
}

#[test]
fn each_service_is_tried_and_what_fails_says_how_to_mend_it() {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("server.py"), MCP).expect("our file");
    let config = format!(
        r#"
[providers.good]
kind = "openai-chat"
base_url = "{good}"
key = {{ env = "GOOD_KEY" }}
[providers.refusing]
kind = "openai-chat"
base_url = "{refusing}"
key = {{ env = "GOOD_KEY" }}
[providers.gone]
kind = "openai-chat"
base_url = "{gone}"
[providers.keyless]
kind = "openai"
key = {{ env = "NO_SUCH_KEY" }}
[mcp.works]
command = ["python3", "server.py"]
[mcp.broken]
command = ["no-such-program-here"]
[tools.present]
command = ["sh", "-c", "true"]
env = {{ TOKEN = {{ env = "NO_SUCH_TOKEN" }} }}
[tools.absent]
command = ["./no-such-tool"]
[[hooks]]
name = "there"
points = ["stop"]
command = ["sh", "-c", "true"]
[[hooks]]
name = "missing"
points = ["stop"]
command = ["./hooks/missing"]
"#,
        good = service("200 OK"),
        refusing = service("401 Unauthorized"),
        gone = nobody(),
    );
    std::fs::write(directory.path().join("riverrun.toml"), config).expect("our file");
    let output = riverrun(directory.path(), &["doctor", "--json"]);
    let checks: Value = serde_json::from_slice(&output.stdout).expect("one document");
    assert_eq!(output.status.code(), Some(1), "{checks:#}");
    let expected = [
        ("config", "riverrun.toml is good", "good", None),
        ("provider", "good: ", "good", None),
        ("provider", "refusing: ", "bad", Some("GOOD_KEY")),
        ("provider", "gone: ", "bad", Some("base_url")),
        ("provider", "NO_SUCH_KEY", "bad", Some("set NO_SUCH_KEY")),
        ("mcp", "works offers 1 tool", "good", None),
        ("mcp", "broken: ", "bad", Some("no-such-program-here")),
        ("tool", "present: `sh` can be run", "good", None),
        ("tool", "present: `TOKEN`", "bad", Some("set NO_SUCH_TOKEN")),
        ("tool", "absent: ", "bad", Some("mend `command` of [tools.absent]")),
        ("hook", "there: ", "good", None),
        ("hook", "missing: ", "bad", Some("mend `command` of hook `missing`")),
    ];
    for (name, about, verdict, fix) in expected {
        let check = check(&checks, name, about);
        assert_eq!(check["verdict"], verdict, "{check:#}");
        match fix {
            None => assert!(check["fix"].is_null(), "{check:#}"),
            Some(fix) => {
                assert!(check["fix"].as_str().is_some_and(|text| text.contains(fix)), "{check:#}");
            }
        }
    }
    let all =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(!all.contains(SECRET), "{all}");
    let shown = riverrun(directory.path(), &["doctor"]);
    let text = String::from_utf8_lossy(&shown.stdout);
    assert!(text.contains("✗ bad") && text.contains("fix: "), "{text}");
}

#[test]
fn a_mistake_in_the_file_is_exit_code_78_with_its_place() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("riverrun.toml");
    let cases = [
        (
            "[server]\nlisen = \"x\"\n",
            "riverrun.toml:2:1: unknown key `lisen` in [server]; did you mean `listen`?",
        ),
        ("[server]\nlisten = 5\n", "riverrun.toml:2:10: server.listen: wants a text, not a number"),
        ("[agents.a]\nmodel = \"opnai/x\"\n", "riverrun.toml:2:9: there is no provider `opnai`"),
        ("[routes]\nfast = [\"no/x\"]\n", "riverrun.toml:2:9: there is no provider `no`"),
        (
            "[agents.a]\nmodel = \"scripted/txt\"\n",
            "riverrun.toml:2:9: there is no script `txt`; did you mean `scripted/text`?",
        ),
        (
            "[agents.a]\nmodel = \"scripted/text\"\ninstructions = { file = \"no.md\" }\n",
            "riverrun.toml:3:16: no.md: ",
        ),
        ("[scripts]\nfiles = [\"no.toml\"]\n", "riverrun.toml:2:10: [scripts] "),
        (
            "[providers.p]\nkind = \"openai\"\nkey = \"sk-live-very-secret\"\n",
            "riverrun.toml:3:7: key: a key does not belong in this file",
        ),
        (
            "[tools.t]\nfunction = \"search\"\n[tools.t]\nfunction = \"search\"\n",
            "riverrun.toml:3:8: `t` is declared twice",
        ),
    ];
    for (text, expected) in cases {
        std::fs::write(&file, text).expect("our file");
        for words in [&["config", "check"][..], &["serve", "--listen", "127.0.0.1:0"]] {
            let output = riverrun(directory.path(), words);
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(78), "{words:?} on {text}: {said}");
            assert!(said.contains(expected), "{words:?} on {text}: {said}");
            assert!(!said.contains(SECRET), "{said}");
        }
    }
}

#[test]
fn a_key_that_an_agent_needs_fails_the_check_as_it_fails_the_start() {
    let directory = tempfile::tempdir().expect("a directory");
    let cases = [
        ("key = { env = \"NO_SUCH_KEY\" }", "riverrun.toml:3:7: [providers.p] key: environment variable"),
        (
            "headers = { \"X-Team\" = { env = \"NO_SUCH_KEY\" } }",
            "riverrun.toml:1:12: [providers.p] header `X-Team`: environment variable",
        ),
    ];
    for (secret, place) in cases {
        let text = format!("[providers.p]\nkind = \"openai\"\n{secret}\n[agents.a]\nmodel = \"p/x\"\n");
        std::fs::write(directory.path().join("riverrun.toml"), text).expect("our file");
        for words in [&["config", "check"][..], &["serve", "--listen", "127.0.0.1:0"], &["run", "hi"]] {
            let output = riverrun(directory.path(), words);
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(78), "{words:?}: {said}");
            assert!(said.contains(&format!("{place} `NO_SUCH_KEY` is not set")), "{words:?}: {said}");
            assert!(said.contains("hint: set NO_SUCH_KEY"), "{words:?}: {said}");
        }
    }
}

#[test]
fn a_provider_that_no_agent_uses_needs_its_key_only_when_it_is_called() {
    let directory = tempfile::tempdir().expect("a directory");
    let text = "[providers.p]\nkind = \"openai\"\nkey = { env = \"NO_SUCH_KEY\" }\n\
                [agents.a]\nmodel = \"scripted/text\"\n";
    std::fs::write(directory.path().join("riverrun.toml"), text).expect("our file");
    let place = "riverrun.toml:3:7: [providers.p] key: environment variable `NO_SUCH_KEY` is not set";
    for (words, code) in [(&["config", "check"][..], 0), (&["run", "hi"], 0), (&["run", "p/gpt-x", "hi"], 1)]
    {
        let output = riverrun(directory.path(), words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {said}");
        assert!(said.contains(place), "{words:?}: {said}");
        let shown = format!("{said}{}", String::from_utf8_lossy(&output.stdout));
        let words_of_error = "NO_SUCH_KEY` is not set; set it";
        let flat = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(flat.contains(words_of_error), code == 1, "{words:?}: {shown}");
    }
}

#[test]
fn what_is_not_here_or_does_nothing_is_noted() {
    let directory = tempfile::tempdir().expect("a directory");
    let text = r#"
[providers.p]
kind = "openai"
key = { env = "GOOD_KEY" }
[providers.p.prices]
"cheap-*" = { input = 1, output = 2 }
[agents.a]
model = "p/dear"
limits = { cost = 0.5 }
[agents.b]
model = "p/cheap-one"
limits = { cost = 0.5 }
[tools.t]
command = ["./no-such-tool"]
"#;
    std::fs::write(directory.path().join("riverrun.toml"), text).expect("our file");
    let output = riverrun(directory.path(), &["config", "check"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("riverrun.toml:13:8: [tools.t] `./no-such-tool` is not there"), "{said}");
    assert!(
        said.contains("riverrun.toml:7:9: [agents.a] has a limit of cost") && said.contains("`p/dear`"),
        "{said}"
    );
    assert!(!said.contains("[agents.b]"), "{said}");
}

#[test]
fn an_address_is_checked_without_the_key() {
    let directory = tempfile::tempdir().expect("a directory");
    let text =
        "[providers.p]\nkind = \"openai\"\nbase_url = \"https://a b/v1\"\nkey = { env = \"NO_SUCH_KEY\" }\n";
    std::fs::write(directory.path().join("riverrun.toml"), text).expect("our file");
    let output = riverrun(directory.path(), &["config", "check"]);
    assert_eq!(output.status.code(), Some(78), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn servers_that_hang_are_tried_side_by_side_for_as_long_as_their_timeout_says() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut text = String::new();
    for name in ["a", "b", "c"] {
        text.push_str(&format!("[mcp.{name}]\ncommand = [\"sleep\", \"60\"]\ntimeout = \"2s\"\n"));
    }
    std::fs::write(directory.path().join("riverrun.toml"), text).expect("our file");
    let begun = std::time::Instant::now();
    let output = riverrun(directory.path(), &["doctor", "--json"]);
    let took = begun.elapsed();
    let checks: Value = serde_json::from_slice(&output.stdout).expect("one document");
    for name in ["a", "b", "c"] {
        let check = check(&checks, "mcp", &format!("{name}: no answer within its `timeout` of 2000 ms"));
        assert_eq!(check["verdict"], "bad");
    }
    assert!(took < std::time::Duration::from_secs(6), "one after the other: {took:?}");
}
