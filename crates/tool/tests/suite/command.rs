use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use riverrun_tool::{CommandConfig, CommandTool, Program, ToolErrorKind, ValueSource};
use serde_json::{Value, json};

use crate::support::{call, eventually, fails, is_alive, run, text, watched};

/// `sh` is the program under test here: nothing of the arguments reaches it but as `$1` and standard input.
fn shell(script: &str) -> CommandConfig {
    let script = &script.replace('{', "{{").replace('}', "}}");
    CommandConfig {
        name: "it".to_owned(),
        parameters: json!({"type": "object", "properties": {"q": {"type": "string"}}}),
        program: Program {
            argv: ["sh", "-c", script, "sh", "{q}"].map(str::to_owned).to_vec(),
            ..Program::default()
        },
        ..CommandConfig::default()
    }
}

fn tool(script: &str) -> CommandTool {
    CommandTool::new(shell(script)).unwrap()
}

fn q(value: &str) -> Value {
    json!({ "q": value })
}

#[tokio::test]
async fn arguments_arrive_whole_and_as_json() {
    let hostile = "$(touch /tmp/x); `id` 'a' \"b\"\n* Huế";
    let output = run(tool("printf %s \"$1\""), call(q(hostile))).await.unwrap();
    assert_eq!(text(&output), hostile);
    let output = run(tool("cat"), call(q("x"))).await.unwrap();
    assert_eq!(text(&output), r#"{"q":"x"}"#);
}

#[tokio::test]
async fn output_may_be_parts_and_blocks() {
    let script =
        r#"echo '{"content":[{"type":"text","text":"m"}],"blockList":[{"type":"html","text":"u"}]}'"#;
    let output = run(tool(script), call(q("x"))).await.unwrap();
    assert_eq!(output.content[0].text(), Some("m"));
    assert_eq!((output.block_list[0].tag(), output.block_list[0].text()), ("html", Some("u")));
    let output = run(tool(r#"echo '{"content":1}'"#), call(q("x"))).await.unwrap();
    assert_eq!(text(&output), r#"{"content":1}"#, "what is not of that form is text");
}

#[tokio::test]
async fn progress_lines_are_no_output() {
    let script = r#"echo a; echo '::progress {"fraction":0.5,"message":"half"}'; printf '::prog'; sleep 0.05
        printf 'ress almost\n::progress'; echo; printf 'b ::progress no\n::'"#;
    let (call, seen) = watched(q("x"));
    let output = run(tool(script), call).await.unwrap();
    assert_eq!(text(&output), "a\n::progress\nb ::progress no\n::");
    let seen = seen.lock().unwrap();
    let told: Vec<_> = seen.iter().map(|p| (p.message.as_deref(), p.fraction)).collect();
    assert_eq!(told, [(Some("half"), Some(0.5)), (Some("almost"), None)]);
}

#[tokio::test]
async fn a_failure_has_its_status_and_the_end_of_its_errors() {
    let script = "echo out; yes x | head -5000 >&2; echo 'no such host' >&2; exit 3";
    let message = fails(tool(script), call(q("x")), ToolErrorKind::Failed).await;
    assert!(message.contains("exit status: 3") && message.ends_with("no such host"), "{message}");
    assert!(message.len() < 2300, "{}", message.len());
    let message = fails(tool("kill -9 $$"), call(q("x")), ToolErrorKind::Crashed).await;
    assert!(message.contains("signal: 9"), "{message}");
    let mut config = shell("");
    config.program.argv[0] = "/no/such/program".to_owned();
    let absent = CommandTool::new(config).unwrap();
    fails(absent, call(q("x")), ToolErrorKind::Unavailable).await;
    fails(tool("true"), call(q("-rf")), ToolErrorKind::BadArguments).await;
}

#[tokio::test]
async fn output_is_cut_at_its_limit_and_a_flood_is_stopped() {
    let limited =
        |script: &str| CommandTool::new(CommandConfig { output_limit: 10, ..shell(script) }).unwrap();
    let output = run(limited("printf '123456789\u{1ec7}tail'"), call(q("x"))).await.unwrap();
    assert_eq!(text(&output), "123456789\n[cut: the first 10 of 16 bytes]");
    let output = run(limited("printf 1234567890"), call(q("x"))).await.unwrap();
    assert_eq!(text(&output), "1234567890");
    let start = Instant::now();
    fails(limited("yes"), call(q("x")), ToolErrorKind::LimitPassed).await;
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[tokio::test]
async fn the_environment_is_only_what_was_named() {
    // Cargo sets this for tests; a program must not see it unless it is named.
    assert!(std::env::var("CARGO_MANIFEST_DIR").is_ok());
    let output = run(tool("echo \"[$CARGO_MANIFEST_DIR]\"; pwd"), call(q("x"))).await.unwrap();
    assert!(text(&output).starts_with("[]\n"), "{}", text(&output));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, "s3cret\n").unwrap();
    let mut config = shell("echo \"$CARGO_MANIFEST_DIR|${#TOKEN}\"; pwd");
    config.program.inherit = vec!["CARGO_MANIFEST_DIR".to_owned()];
    config.program.env = BTreeMap::from([("TOKEN".to_owned(), ValueSource::File(file))]);
    config.program.cwd = Some(folder.path().to_owned());
    assert!(!format!("{config:?}").contains("s3cret"));
    let output = run(CommandTool::new(config).unwrap(), call(q("x"))).await.unwrap();
    let expected = format!("{}|6\n{}", env!("CARGO_MANIFEST_DIR"), folder.path().display());
    assert_eq!(text(&output), expected);
}

/// A grandchild that ignores the polite signal and writes down its id.
const STUBBORN: &str =
    "sh -c 'trap \"\" TERM; echo $$ > pid.new; mv pid.new pid; while :; do sleep 0.1; done' & wait";

async fn started(folder: &std::path::Path) -> String {
    let file = folder.join("pid");
    eventually("the grandchild started", || file.exists()).await;
    let pid = std::fs::read_to_string(file).unwrap();
    assert!(is_alive(&pid));
    pid
}

fn stubborn(folder: &std::path::Path, timeout: Duration, script: &str) -> CommandTool {
    let mut config = CommandConfig { timeout, ..shell(script) };
    config.program.cwd = Some(folder.to_owned());
    CommandTool::new(config).unwrap()
}

#[tokio::test]
async fn a_timeout_ends_the_grandchildren_too() {
    let folder = tempfile::tempdir().unwrap();
    let tool = stubborn(folder.path(), Duration::from_secs(3), STUBBORN);
    let (message, pid) =
        tokio::join!(fails(tool, call(q("x")), ToolErrorKind::Timeout), started(folder.path()));
    assert!(message.contains("3000 ms"), "{message}");
    eventually("the grandchild is gone", || !is_alive(&pid)).await;
}

#[tokio::test]
async fn a_cancelled_call_ends_the_grandchildren_too() {
    let folder = tempfile::tempdir().unwrap();
    let tool = stubborn(folder.path(), Duration::from_secs(60), STUBBORN);
    let call = call(q("x"));
    let cancel = call.cancel.clone();
    let stop = async {
        let pid = started(folder.path()).await;
        cancel.cancel();
        pid
    };
    let (_, pid) = tokio::join!(fails(tool, call, ToolErrorKind::Cancelled), stop);
    eventually("the grandchild is gone", || !is_alive(&pid)).await;
}

#[tokio::test]
async fn a_dropped_call_ends_the_grandchildren_too() {
    let folder = tempfile::tempdir().unwrap();
    let tool = stubborn(folder.path(), Duration::from_secs(60), STUBBORN);
    let task = tokio::spawn(run(tool, call(q("x"))));
    let pid = started(folder.path()).await;
    task.abort();
    eventually("the grandchild is gone", || !is_alive(&pid)).await;
}

#[test]
fn a_runtime_that_ends_takes_the_grandchildren_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let tool = stubborn(folder.path(), Duration::from_secs(60), STUBBORN);
    let pid = runtime.block_on(async {
        tokio::spawn(run(tool, call(q("x"))));
        started(folder.path()).await
    });
    drop(runtime);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(eventually("the grandchild is gone", || !is_alive(&pid)));
}

#[tokio::test]
async fn what_a_program_leaves_behind_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let script = STUBBORN.replace("& wait", "& while [ ! -e pid ]; do sleep 0.02; done; cat pid");
    let tool = stubborn(folder.path(), Duration::from_secs(60), &script);
    let output = run(tool, call(q("x"))).await.unwrap();
    let pid = text(&output).to_owned();
    eventually("the grandchild is gone", || !is_alive(&pid)).await;
}

#[tokio::test]
async fn a_call_has_its_key_and_carries_its_mark() {
    let folder = tempfile::tempdir().unwrap();
    let script = "printf %s \"$RIVERRUN_IDEMPOTENCY_KEY\" > key; echo $$ > part; mv part pid; sleep 600";
    let tool = stubborn(folder.path(), Duration::from_secs(60), script);
    let mark = format!("task_{}/call_1", folder.path().display());
    let task = tokio::spawn(run(tool, riverrun_tool::ToolRequest { mark: mark.clone(), ..call(q("x")) }));
    let pid = started(folder.path()).await;
    assert_eq!(std::fs::read_to_string(folder.path().join("key")).unwrap(), "key-1");
    // What a server that is gone left running is found by the mark alone.
    assert!(riverrun_tool::end_marked(&mark).is_some_and(|ended| ended >= 1));
    eventually("the program is gone", || !is_alive(&pid)).await;
    assert_eq!(task.await.unwrap().unwrap_err().kind, ToolErrorKind::Crashed);
}

/// A grandchild that leaves the group, and writes down its id.
const AWAY: &str = "setsid sh -c 'echo $$ > pid.new; mv pid.new pid; exec sleep 77' &";

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_leaves_the_group_ends_with_the_call_too() {
    let folder = tempfile::tempdir().unwrap();
    let tool = stubborn(folder.path(), Duration::from_secs(2), &format!("{AWAY} sleep 60"));
    let (_, pid) = tokio::join!(fails(tool, call(q("x")), ToolErrorKind::Timeout), started(folder.path()));
    eventually("it is gone after a timeout", || !is_alive(&pid)).await;

    let folder = tempfile::tempdir().unwrap();
    let script = format!("{AWAY} while [ ! -e pid ]; do sleep 0.02; done; cat pid");
    let output = run(stubborn(folder.path(), Duration::from_secs(60), &script), call(q("x"))).await.unwrap();
    let pid = text(&output).to_owned();
    eventually("it is gone after the end", || !is_alive(&pid)).await;
}
