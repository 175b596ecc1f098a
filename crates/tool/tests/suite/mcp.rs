use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use riverrun_tool::{
    Endpoint, Flags, McpConfig, McpServer, McpTool, Program, Tool, ToolError, ToolErrorKind, ToolOutput,
    ToolSet,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{call, eventually, is_alive, text, watched};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/mcp_server.py");

struct Bench {
    server: Arc<McpServer>,
    notes: TempDir,
}

impl Bench {
    fn new(mode: &str) -> Self {
        Self::with(mode, |_| {})
    }

    fn with(mode: &str, change: impl FnOnce(&mut McpConfig)) -> Self {
        let notes = tempfile::tempdir().unwrap();
        let file = notes.path().join("notes").display().to_string();
        let argv = ["python3", SCRIPT, mode, &file].map(str::to_owned).to_vec();
        let mut config = McpConfig::new("hand", Endpoint::Stdio(Program { argv, ..Program::default() }));
        change(&mut config);
        Self { server: McpServer::new(config), notes }
    }

    async fn set(&self) -> ToolSet {
        let mut set = ToolSet::default();
        for tool in self.server.offer().await.unwrap().tools {
            set.insert(Arc::new(tool)).unwrap();
        }
        set
    }

    async fn run(&self, tool: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
        self.set().await.run(&format!("hand__{tool}"), call(arguments), None).await
    }

    async fn fails(&self, tool: &str, kind: ToolErrorKind) -> String {
        let error = self.run(tool, json!({})).await.expect_err("the call fails");
        assert_eq!(error.kind, kind, "{error}");
        error.message
    }

    fn noted(&self) -> String {
        std::fs::read_to_string(self.notes.path().join("notes")).unwrap_or_default()
    }
}

#[tokio::test]
async fn all_pages_are_listed_and_hostile_tools_are_refused() {
    let bench = Bench::new("good");
    let offer = bench.server.offer().await.unwrap();
    let names: Vec<&str> = offer.tools.iter().map(|tool| tool.definition().name.as_str()).collect();
    assert_eq!(names[..3], ["hand__echo", "hand__files_read", "hand__boom"]);
    assert_eq!(names.len(), 13);
    let refused: Vec<String> =
        offer.refused.iter().map(|refused| format!("{}: {}", refused.name, refused.reason)).collect();
    for (refused, expected) in refused.iter().zip([
        "a b: ",
        "a\\u{202e}b: ",
        "xxx",
        "two tools",
        "remote: its schema",
        "endless: its schema",
        "shapeless: it is no tool",
        ": it has no name",
    ]) {
        assert!(refused.contains(expected) && refused.len() < 300, "{refused}");
    }
    assert_eq!(refused.len(), 8);
    assert!(
        offer.tools.iter().all(|tool| tool.definition().flags == Flags::default()),
        "hints are not believed"
    );
    assert_eq!(offer.tools[0].definition().source, "mcp:hand");
}

#[tokio::test]
async fn hints_count_if_the_operator_trusts_them() {
    let bench = Bench::with("good", |config| config.trust_hints = true);
    let tools = bench.server.offer().await.unwrap().tools;
    let flags = |tool: &McpTool| tool.definition().flags;
    assert_eq!(
        flags(&tools[0]),
        Flags { read_only: true, destructive: false, idempotent: true, open_world: false }
    );
    assert_eq!(
        flags(&tools[1]),
        Flags { read_only: false, destructive: false, idempotent: true, open_world: true }
    );
    assert_eq!(flags(&tools[2]), Flags::default());
}

#[tokio::test]
async fn calls_give_text_errors_progress_and_other_kinds() {
    let bench = Bench::new("good");
    assert_eq!(text(&bench.run("echo", json!({"say": "Huế 😀"})).await.unwrap()), "Huế 😀");
    assert_eq!(
        text(&bench.run("files_read", json!({})).await.unwrap()),
        "read",
        "the server gets its own name"
    );
    let output = bench.run("fail", json!({})).await.unwrap();
    assert_eq!((text(&output), output.is_error), ("it did not work", true));
    let output = bench.run("kinds", json!({})).await.unwrap();
    assert_eq!((output.content[0].tag(), &output.structured), ("image", &Some(json!({"n": 1}))));
    assert!(output.content[1].text().unwrap().contains("from_the_future"));
    let (call, seen) = watched(json!({}));
    bench.set().await.run("hand__steps", call, None).await.unwrap();
    let mut told: Vec<_> = seen.lock().unwrap().iter().map(|p| (p.message.clone(), p.fraction)).collect();
    told.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(told, [(Some("step 1".to_owned()), Some(0.5)), (Some("step 2".to_owned()), Some(1.0))]);
    let message = bench.fails("boom", ToolErrorKind::Failed).await;
    assert_eq!(message, "the MCP server `hand` answered with an error: no tool 'boom' (-32602)");
    bench.fails("echo", ToolErrorKind::BadArguments).await;
    assert_eq!(bench.noted().matches("initialize").count(), 1, "one process for all of it");
}

#[tokio::test]
async fn a_server_shows_drafts_of_its_result() {
    let bench = Bench::new("good");
    let (call, seen) = watched(json!({}));
    bench.set().await.run("hand__paint", call, None).await.unwrap();
    let progress: Vec<Value> = seen.lock().unwrap().iter().map(shown).collect();
    let image =
        json!({"type": "image", "imageUrl": {"url": "data:image/png;base64,AAAA"}, "mediaType": "image/png"});
    assert_eq!(
        progress,
        [
            json!([null, image, null]),
            json!(["half", {"type": "text", "text": "so"}, 1]),
            json!([null, {"type": "html", "text": "<b>x</b>"}, 2]),
            json!(["{not a draft}", null, null]),
        ]
    );
}

fn shown(progress: &riverrun_tool::CallProgress) -> Value {
    json!([progress.message, progress.partial, progress.block_index])
}

#[tokio::test]
async fn what_a_server_logs_during_a_call_is_progress_of_the_call() {
    let bench = Bench::new("good");
    let set = bench.set().await;
    let (chatty, seen) = watched(json!({}));
    set.run("hand__chatty", chatty, None).await.unwrap();
    let mut told: Vec<_> = seen.lock().unwrap().iter().filter_map(|p| p.message.clone()).collect();
    told.sort();
    assert_eq!(told, ["error: [1,2]", "looking", "warning: slow disk"]);
    // Standard output is one for all calls: a line that may be another's is nobody's.
    let (one, by_one) = watched(json!({}));
    let (other, by_other) = watched(json!({}));
    let (one, other) = tokio::join!(set.run("hand__both", one, None), set.run("hand__both", other, None));
    assert_eq!((text(&one.unwrap()), text(&other.unwrap())), ("both", "both"));
    assert!(by_one.lock().unwrap().is_empty() && by_other.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_changed_list_is_reported() {
    let bench = Bench::new("good");
    let mut changes = bench.server.changes();
    bench.run("change", json!({})).await.unwrap();
    tokio::time::timeout(Duration::from_secs(20), changes.changed()).await.unwrap().unwrap();
}

#[tokio::test]
async fn long_text_is_cut() {
    let bench = Bench::with("good", |config| config.output_limit = 1000);
    let output = bench.run("big", json!({})).await.unwrap();
    assert!(text(&output).ends_with("x\n[cut: the first 1000 of 300000 bytes]"));
}

#[tokio::test]
async fn a_call_that_is_given_up_is_cancelled_at_the_server() {
    let bench = Bench::with("good", |config| config.timeout = Duration::from_secs(2));
    bench.fails("wait", ToolErrorKind::Timeout).await;
    eventually("the server was told", || bench.noted().contains("cancelled")).await;
    let call = call(json!({}));
    let cancel = call.cancel.clone();
    let stop = async {
        eventually("the call arrived", || bench.noted().matches("call wait").count() == 2).await;
        cancel.cancel();
    };
    let set = bench.set().await;
    let (ended, ()) = tokio::join!(set.run("hand__wait", call, Some(Duration::from_secs(60))), stop);
    assert_eq!(ended.unwrap_err().kind, ToolErrorKind::Cancelled);
    eventually("the server was told", || bench.noted().matches("cancelled").count() == 2).await;
    assert_eq!(text(&bench.run("echo", json!({"say": "still here"})).await.unwrap()), "still here");
}

#[tokio::test]
async fn a_crash_is_reported_and_the_next_call_restarts_the_server() {
    let bench = Bench::new("good");
    let set = bench.set().await;
    let error = set.run("hand__crash", call(json!({})), None).await.unwrap_err();
    assert_eq!(error.kind, ToolErrorKind::Crashed, "{error}");
    assert!(error.message.contains("went away"), "{error}");
    let output = set.run("hand__echo", call(json!({"say": "back"})), None).await.unwrap();
    assert_eq!(text(&output), "back");
    assert_eq!(bench.noted().matches("initialize").count(), 2);
}

#[tokio::test]
async fn a_server_that_does_not_start_is_tried_with_pauses() {
    let bench = Bench::new("crash_at_start");
    let start = Instant::now();
    for _ in 0..4 {
        let error = bench.server.offer().await.err().expect("it cannot start");
        assert_eq!(error.kind, ToolErrorKind::Unavailable, "{error}");
    }
    assert!(start.elapsed() >= Duration::from_millis(1500), "{:?}", start.elapsed());
    let absent = Program { argv: vec!["/no/such/server".to_owned()], ..Program::default() };
    let absent = McpServer::new(McpConfig::new("absent", Endpoint::Stdio(absent)));
    assert_eq!(absent.offer().await.err().unwrap().kind, ToolErrorKind::Unavailable);
}

#[tokio::test]
async fn a_server_that_never_greets_is_given_up() {
    let bench = Bench::with("mute", |config| config.start_timeout = Duration::from_secs(3));
    let error = bench.server.offer().await.err().expect("it never greets");
    assert!(matches!(error.kind, ToolErrorKind::Unavailable | ToolErrorKind::Timeout), "{error}");
    let noted = bench.noted();
    let pid = noted.lines().find_map(|line| line.strip_prefix("pid ")).expect("it was started");
    eventually("it was ended", || !is_alive(pid)).await;
}

#[tokio::test]
async fn lines_that_are_no_messages_are_skipped_but_not_forever() {
    let noisy = Bench::new("noisy");
    assert_eq!(text(&noisy.run("echo", json!({"say": "through"})).await.unwrap()), "through");
    let garbage = Bench::new("garbage");
    let set = garbage.set().await;
    let error = set.run("hand__boom", call(json!({})), None).await.unwrap_err();
    assert_eq!(error.kind, ToolErrorKind::Crashed);
    assert!(error.message.contains("no message"), "{error}");
}

#[tokio::test]
async fn an_answer_that_is_no_message_ends_its_call_at_once() {
    for mode in ["surrogate", "no_result", "deep", "half"] {
        let bench = Bench::new(mode);
        let set = bench.set().await;
        let asked = set.run("hand__boom", call(json!({})), None);
        let error = tokio::time::timeout(Duration::from_secs(10), asked).await.expect("at once").unwrap_err();
        assert_eq!(error.kind, ToolErrorKind::OutcomeUnknown, "{mode}: {error}");
        assert!(error.message.contains("answered with a line that is no message"), "{mode}: {error}");
        assert!(error.message.contains("what the call did is not known"), "{mode}: {error}");
    }
}

#[tokio::test]
async fn a_message_without_end_is_cut_off() {
    let bench = Bench::with("huge", |config| config.message_limit = 1_000_000);
    let message = bench.fails("boom", ToolErrorKind::LimitPassed).await;
    assert!(message.contains("1000000 bytes"), "{message}");
}

#[tokio::test]
async fn an_answer_of_another_shape_is_an_error() {
    let bench = Bench::new("nonsense");
    let message = bench.fails("boom", ToolErrorKind::Failed).await;
    assert!(message.contains("no tool result"), "{message}");
    let bench = Bench::new("endless_pages");
    let offer = bench.server.offer().await.unwrap();
    assert_eq!((offer.tools.len(), offer.refused.len()), (1, 99), "pages come to an end");
}

#[tokio::test]
async fn a_stopped_server_ends() {
    let bench = Bench::new("good");
    bench.set().await;
    bench.server.stop().await;
    eventually("it ended by itself", || bench.noted().contains("end of input")).await;
}

/// The official package, where it is installed: `RIVERRUN_MCP_PYTHON` names a Python that can import `mcp`.
#[tokio::test]
async fn the_official_server_is_understood_over_both_transports() {
    let Ok(python) = std::env::var("RIVERRUN_MCP_PYTHON") else {
        println!("skipped: set RIVERRUN_MCP_PYTHON to a Python with the package `mcp` to run this");
        return;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/mcp_official.py");
    let script = script.display().to_string();
    let argv = vec![python.clone(), script.clone(), "stdio".to_owned()];
    let stdio = Endpoint::Stdio(Program { argv, ..Program::default() });
    official(McpConfig::new("official", stdio)).await;

    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut child =
        std::process::Command::new(python).args([&script, "http", &port.to_string()]).spawn().unwrap();
    eventually("the server listens", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()).await;
    let outbound = riverrun_tool::AddressGuard { allow: vec![format!("127.0.0.1:{port}")] };
    let url = format!("http://127.0.0.1:{port}/mcp");
    let ended = tokio::spawn(official(McpConfig::new(
        "official",
        Endpoint::Http { url, headers: Vec::new(), outbound },
    )))
    .await;
    child.kill().unwrap();
    child.wait().unwrap();
    ended.unwrap();
}

async fn official(config: McpConfig) {
    let server = McpServer::new(config);
    let mut set = ToolSet::default();
    for tool in server.offer().await.unwrap().tools {
        set.insert(Arc::new(tool)).unwrap();
    }
    let names: Vec<&str> = set.definitions().map(|definition| definition.name.as_str()).collect();
    assert_eq!(names, ["official__add", "official__slow", "official__broken"]);
    let output = set.run("official__add", call(json!({"a": 2, "b": 3})), None).await.unwrap();
    assert_eq!((text(&output), &output.structured), ("5", &Some(json!({"result": 5}))));
    let (call_slow, seen) = watched(json!({}));
    let output = set.run("official__slow", call_slow, None).await.unwrap();
    assert_eq!(text(&output), "slept");
    assert_eq!(seen.lock().unwrap()[0].fraction, Some(0.5));
    let output = set.run("official__broken", call(json!({})), None).await.unwrap();
    assert!(output.is_error && text(&output).contains("broken"), "{output:?}");
    let error =
        set.run("official__slow", call(json!({})), Some(Duration::from_millis(50))).await.unwrap_err();
    assert_eq!(error.kind, ToolErrorKind::Timeout);
    server.stop().await;
}

#[tokio::test]
async fn a_server_that_hangs_is_ended_and_started_again() {
    let short = |config: &mut McpConfig| config.timeout = Duration::from_millis(500);
    let bench = Bench::with("hangs", short);
    bench.fails("wait", ToolErrorKind::Timeout).await;
    let pid = bench.noted().lines().find_map(|line| line.strip_prefix("pid ").map(str::to_owned)).unwrap();
    eventually("the server that hangs is gone", || !is_alive(&pid)).await;
    assert_eq!(text(&bench.run("echo", json!({"say": "back"})).await.unwrap()), "back");
    // One that only takes its time is left alone.
    let bench = Bench::with("good", short);
    bench.fails("wait", ToolErrorKind::Timeout).await;
    bench.run("echo", json!({"say": "x"})).await.unwrap();
    assert_eq!(bench.noted().matches("pid ").count(), 1);
    assert!(bench.noted().contains("key key-1"), "a call has its key");
}
