//! Hooks that the configuration declares, in the hands of the real binary: programs and addresses that are asked.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};

use crate::stage::{Stage, find, kinds, place};

/// Calls `say` with these words, then says that it is done.
const CALLS: &str = r#"[[step]]
when = { step = 1 }
play = [{ call = { id = "c0", name = "say", arguments = ['{"words":"rm"}'] } }]

[[step]]
play = [{ text = { pieces = ["done"] } }]
"#;

/// An agent with a tool that repeats words, and these hooks.
fn stage(name: &str, hooks: &str) -> Stage {
    let config = format!(
        r#"
[agents.doer]
model = "scripted/do"
tools = ["say"]

[tools.say]
command = ["echo", "{{words}}"]
approval = "never"
{hooks}"#
    );
    Stage::new(name, &config, &[("do", CALLS)])
}

/// A program that runs this Python text with the question as `q` and its answer as `a`.
fn program(folder: &Path, name: &str, body: &str) -> String {
    let path = folder.join(name);
    let text = format!(
        "#!/usr/bin/env python3\nimport json, os, sys, time\nq = json.load(sys.stdin)\na = {{}}\n{body}\nprint(json.dumps(a))\n"
    );
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

fn hook(name: &str, point: &str, rest: &str) -> String {
    format!("\n[[hooks]]\nname = \"{name}\"\npoints = [\"{point}\"]\n{rest}\n")
}

/// What the model read as the call's result.
fn read(events: &[Value]) -> String {
    let results = events.iter().filter(|event| event["payload"]["item"]["type"] == "tool_result");
    let completed = results.filter(|event| event["type"] == "item.completed");
    let texts = completed.flat_map(|event| event["payload"]["item"]["content"].as_array().cloned());
    texts.flatten().filter_map(|part| part["text"].as_str().map(ToOwned::to_owned)).collect()
}

#[test]
fn scenario_12_a_hook_that_rewrites_input_is_seen_to_do_so() {
    let folder = tempfile::tempdir().unwrap();
    let rewrite = "assert q['arguments'] == {'words': 'rm'}, q\na['updatedInput'] = {'words': 'ls'}\na['reason'] = 'rm is not for you'";
    let command = program(folder.path(), "rewrite", rewrite);
    let hooks = hook("safer", "pre_tool_use", &format!("tools = [\"sa*\"]\ncommand = [\"{command}\"]"));
    let mut stage = stage("hook_rewrite", &hooks);
    stage.submit("t1", "doer");
    let events = stage.until_ended("t1");
    let run = find(&events, "hook.completed");
    let told = &run["payload"];
    assert_eq!(
        (&told["originalInput"], &told["updatedInput"]),
        (&json!({"words": "rm"}), &json!({"words": "ls"}))
    );
    assert_eq!((&told["hookName"], &told["point"]), (&json!("safer"), &json!("pre_tool_use")));
    assert_eq!(told["reason"], "rm is not for you");
    assert!(told["durationMs"].is_u64(), "{told}");
    assert_eq!(
        (&run["threadId"], &run["turnId"], &run["toolCallId"]),
        (&json!("main"), &json!("t1"), &json!("c0"))
    );
    let started = find(&events, "tool.started");
    assert_eq!(started["payload"]["safeArgs"], json!({"words": "ls"}), "what truly ran is told: {started}");
    assert!(place(&events, "hook.completed") < place(&events, "permission.evaluated"));
    assert!(read(&events).contains("ls") && !read(&events).contains("rm"), "{}", read(&events));
    let reference = told["updatedInputRef"].as_str().unwrap();
    let blob = stage.world.get(&format!("/v1/blobs/{reference}")).unwrap();
    assert_eq!(blob, json!({"words": "ls"}));

    // The state keeps it with the call, over a restart.
    let kept =
        |stage: &Stage| stage.world.get("/v1/sessions/s/state").unwrap()["toolCalls"][0]["hooks"].clone();
    let before = kept(&stage);
    assert_eq!(
        (&before[0]["hookName"], &before[0]["status"]),
        (&json!("safer"), &json!("completed")),
        "{before}"
    );
    stage.restart();
    assert_eq!(kept(&stage), before);
}

#[test]
fn a_hook_that_blocks_is_seen_and_nothing_runs() {
    let folder = tempfile::tempdir().unwrap();
    let command = program(folder.path(), "block", "a['decision'] = 'block'; a['reason'] = 'not today'");
    let stage = stage("hook_block", &hook("no", "pre_tool_use", &format!("command = [\"{command}\"]")));
    stage.submit("t1", "doer");
    let events = stage.until_ended("t1");
    assert_eq!(find(&events, "hook.completed")["payload"]["outcome"], "block");
    assert!(!kinds(&events).contains(&"tool.started"), "{:?}", kinds(&events));
    assert_eq!(find(&events, "permission.evaluated")["payload"]["decisionSource"], "hook");
    assert_eq!(read(&events), "the call was refused by hook `no`: not today");
    assert_eq!(events.last().unwrap()["type"], "turn.completed");
}

#[test]
fn a_hook_without_a_usable_answer_closes_the_way_unless_it_may_be_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str, body: &str| format!("command = [\"{}\"]", program(folder.path(), name, body));
    let pids = folder.path().join("pids");
    let hang =
        format!("open({:?}, 'w').write(str(os.getpid()))\ntime.sleep(300)", pids.display().to_string());
    for (name, rest, code, told) in [
        ("slow", format!("timeout = \"700ms\"\n{}", at("slow", &hang)), "timeout", "700 ms"),
        ("garbage", at("garbage", "print('yes'); sys.exit(0)"), "failed", "not what a hook answers"),
        ("unknown", at("unknown", "a['decison'] = 'block'"), "failed", "unknown field `decison`"),
        (
            "long",
            format!("output_bytes = 1000\n{}", at("long", "a['reason'] = 'x' * 5000")),
            "failed",
            "answer",
        ),
        ("exits", at("exits", "sys.exit(3)"), "failed", "exit status: 3"),
        ("misfit", at("misfit", "a['updatedInput'] = {'word': 1}"), "bad_answer", "schema"),
        ("absent", "command = [\"/no/such/program\"]".to_owned(), "failed", "cannot be started"),
    ] {
        let stage_closed = stage(&format!("hook_{name}"), &hook(name, "pre_tool_use", &rest));
        stage_closed.submit("t1", "doer");
        let events = stage_closed.until_ended("t1");
        let failed = &find(&events, "hook.failed")["payload"];
        let (found, message) =
            (&failed["error"]["code"], failed["error"]["message"].as_str().unwrap_or_default());
        assert!(found == code && message.contains(told), "{name}: {failed}");
        assert_eq!(failed["outcome"], "block", "{name}");
        assert!(!kinds(&events).contains(&"tool.started"), "{name}");
    }
    let pid = std::fs::read_to_string(&pids).unwrap();
    let began = std::time::Instant::now();
    while Path::new(&format!("/proc/{pid}")).exists() {
        assert!(began.elapsed().as_secs() < 20, "the program of a hook that took too long still runs");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn a_hook_that_fails_and_may_be_passed_over_is_warned_about() {
    let folder = tempfile::tempdir().unwrap();
    let broken = program(folder.path(), "open", "sys.exit(3)");
    let open = format!("on_failure = \"allow\"\ncommand = [\"{broken}\"]");
    let stage = stage("hook_open", &hook("open", "pre_tool_use", &open));
    stage.submit("t1", "doer");
    let events = stage.until_ended("t1");
    assert_eq!(find(&events, "hook.failed")["payload"]["outcome"], "continue");
    assert!(find(&events, "runtime.warning")["payload"]["message"].as_str().unwrap().contains("hook `open`"));
    assert!(read(&events).contains("rm"), "{}", read(&events));
}

#[test]
fn a_hook_sees_no_secret_of_the_server_and_leaves_none_of_its_own_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let seen = folder.path().join("seen");
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "sk-of-the-hook\n").unwrap();
    let look = format!(
        "assert os.environ['HOOK_TOKEN'] == 'sk-of-the-hook'\nopen({:?}, 'w').write(json.dumps(q) + json.dumps(dict(os.environ)))",
        seen.display().to_string()
    );
    let command = program(folder.path(), "look", &look);
    let env = format!("env = {{ HOOK_TOKEN = {{ file = {:?} }} }}", secret.display().to_string());
    let stage =
        stage("hook_secret", &hook("look", "pre_tool_use", &format!("command = [\"{command}\"]\n{env}")));
    stage.submit("t1", "doer");
    let events = stage.until_ended("t1");
    assert_eq!(find(&events, "hook.completed")["payload"]["outcome"], "continue");
    let seen = std::fs::read_to_string(&seen).unwrap();
    let key = stage.world.place.key().unwrap();
    assert!(!seen.contains(&key), "the hook saw the server's key");
    // All that a command is told by us is the key of its call, and by what its leftovers are known.
    let others = seen.replace("RIVERRUN_IDEMPOTENCY_KEY", "").replace("RIVERRUN_START_ID", "");
    assert!(!others.contains("RIVERRUN_"), "the hook saw the server's environment: {seen}");
    let log = serde_json::to_string(&events).unwrap();
    assert!(!log.contains("sk-of-the-hook") && !log.contains(&key), "a secret is in the log");
}

/// Answers one request with this body; the request that came.
fn answer_once(body: &'static str) -> (u16, std::thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let served = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        let mut part = [0; 4096];
        while !request.ends_with(b"}") {
            let count = stream.read(&mut part).unwrap();
            request.extend_from_slice(&part[..count]);
        }
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
        write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
        String::from_utf8(request).unwrap()
    });
    (port, served)
}

#[test]
fn a_hook_over_http_is_asked_within_the_walls_of_http_tools() {
    let (port, served) = answer_once(r#"{"updatedToolOutput":"[cut]"}"#);
    let rest = format!("url = \"http://127.0.0.1:{port}/hook\"\nallow_hosts = [\"127.0.0.1\"]");
    let stage_allowed = stage("hook_http", &hook("web", "post_tool_use", &rest));
    stage_allowed.submit("t1", "doer");
    let events = stage_allowed.until_ended("t1");
    assert!(read(&events).contains("[cut]") && !read(&events).contains("rm"), "{}", read(&events));
    let request = served.join().unwrap();
    assert!(request.starts_with("POST /hook ") && request.contains("\"output\":\"rm\""), "{request}");

    // What the file can tell by itself does not start; this one is an address only to the resolver.
    let walled = "url = \"https://127.1:9/hook\"";
    let stage = stage("hook_walled", &hook("web", "pre_tool_use", walled));
    stage.submit("t1", "doer");
    let events = stage.until_ended("t1");
    let failed = &find(&events, "hook.failed")["payload"];
    assert_eq!(failed["outcome"], "block", "{failed}");
    assert!(!kinds(&events).contains(&"tool.started"));
}

#[test]
fn a_hook_that_is_cut_off_is_asked_again_with_the_same_key() {
    let folder = tempfile::tempdir().unwrap();
    let asked = folder.path().join("asked");
    let path = asked.display().to_string();
    let body = format!(
        "first = not os.path.exists({path:?})\nopen({path:?}, 'a').write(q['idempotencyKey'] + '\\n')\nif first: time.sleep(20)"
    );
    let command = program(folder.path(), "slow", &body);
    let hooks = hook("slow", "pre_tool_use", &format!("timeout = \"60s\"\ncommand = [\"{command}\"]"));
    let mut stage = stage("hook_cut", &hooks);
    stage.submit("t1", "doer");
    let began = std::time::Instant::now();
    while std::fs::read_to_string(&asked).unwrap_or_default().is_empty() {
        assert!(began.elapsed().as_secs() < 20, "the hook is never asked");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    stage.restart();
    let events = stage.until_ended("t1");
    let told: Vec<&str> = kinds(&events).into_iter().filter(|kind| kind.starts_with("hook.")).collect();
    assert_eq!(told, ["hook.started", "hook.failed", "hook.started", "hook.completed"]);
    assert_eq!(find(&events, "hook.failed")["payload"]["error"]["code"], "interrupted");
    let asked = std::fs::read_to_string(&asked).unwrap();
    let keys: Vec<&str> = asked.lines().collect();
    assert!(keys.len() == 2 && keys[0] == keys[1] && !keys[0].is_empty(), "{keys:?}");
    assert!(read(&events).contains("rm"), "{}", read(&events));
}
