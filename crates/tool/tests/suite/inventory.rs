//! Servers that come late, die and come back with other tools.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use riverrun_tool::{
    AddressGuard, Endpoint, McpConfig, McpInventory, McpServer, Program, Tool, ToolError, ToolErrorKind,
};
use serde_json::json;
use tempfile::TempDir;

use crate::support::{call, eventually, watched};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/mcp_plain.py");
const PATIENCE: Duration = Duration::from_secs(10);

struct Bench {
    folder: TempDir,
    inventory: McpInventory,
}

impl Bench {
    fn new(folder: TempDir, endpoint: Endpoint) -> Self {
        let inventory = McpInventory::keep(McpServer::new(McpConfig::new("hand", endpoint)));
        Self { folder, inventory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn offer(&self, tools: &str) {
        std::fs::write(self.path("tools"), tools).unwrap();
    }

    fn names(&self) -> Vec<String> {
        self.inventory.known().tools.iter().map(|tool| tool.definition().name.clone()).collect()
    }

    async fn lists(&self, names: &[&str]) {
        eventually(&format!("the tools are {names:?}"), || self.names() == names).await;
    }

    fn tool(&self, name: &str) -> Arc<dyn Tool> {
        let known = self.inventory.known();
        known.tools.iter().find(|tool| tool.definition().name == name).expect("it is listed").clone()
    }

    async fn ask(&self, name: &str) -> Result<String, ToolError> {
        let output = self.tool(name).call(call(json!({"x": 1}))).await?;
        Ok(output.content[0].text().unwrap().to_owned())
    }

    /// Asks until there is an answer; every error on the way is one of a server that is away.
    async fn ask_until(&self, name: &str) -> String {
        let began = std::time::Instant::now();
        loop {
            match self.ask(name).await {
                Ok(said) => return said,
                Err(error) => {
                    let is_away = matches!(error.kind, ToolErrorKind::Unavailable | ToolErrorKind::Crashed);
                    assert!(is_away && error.message.contains("`hand`"), "{error}");
                }
            }
            assert!(began.elapsed() < Duration::from_secs(20), "no answer");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    fn pids(&self) -> Vec<String> {
        let notes = std::fs::read_to_string(self.path("notes")).unwrap_or_default();
        notes.lines().map(ToOwned::to_owned).collect()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_is_not_there_yet_is_found_later_and_again_after_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let argv = vec!["python3".to_owned(), at("server.py"), "stdio".to_owned(), at("tools"), at("notes")];
    let bench = Bench::new(folder, Endpoint::Stdio(Program { argv, ..Program::default() }));
    bench.offer("echo");
    let first = bench.inventory.first(PATIENCE).await;
    assert!(first.problem.is_some_and(|problem| problem.contains("`hand`")) && first.tools.is_empty());

    std::fs::copy(SCRIPT, bench.path("server.py")).unwrap();
    bench.lists(&["hand__echo"]).await;
    assert_eq!(bench.inventory.known().problem, None);
    assert_eq!(bench.ask("hand__echo").await.unwrap(), "echo {\"x\": 1}");

    let before = bench.inventory.known().revision;
    bench.offer("echo other");
    let pid = bench.pids().pop().unwrap();
    assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
    assert_eq!(bench.ask_until("hand__echo").await, "echo {\"x\": 1}");
    bench.lists(&["hand__echo", "hand__other"]).await;
    assert_eq!(bench.inventory.known().revision, before + 1);
    assert_ne!(bench.pids().pop().unwrap(), pid);
}

struct Listening(Child);

impl Listening {
    async fn start(bench: &Bench, port: u16) -> Self {
        let mut command = Command::new("python3");
        command.arg(SCRIPT).arg("http").arg(bench.path("tools")).arg(bench.path("notes"));
        let child = command.arg(port.to_string()).stdout(Stdio::null()).spawn().unwrap();
        let listening = Self(child);
        eventually("it listens", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()).await;
        listening
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_over_http_that_is_down_is_found_later_and_again_after_a_kill() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let outbound = AddressGuard { allow: vec![format!("127.0.0.1:{port}")] };
    let url = format!("http://127.0.0.1:{port}/mcp");
    let endpoint = Endpoint::Http { url, headers: Vec::new(), outbound };
    let bench = Bench::new(tempfile::tempdir().unwrap(), endpoint);
    bench.offer("echo");
    let first = bench.inventory.first(PATIENCE).await;
    assert!(first.problem.is_some() && first.tools.is_empty(), "{:?}", first.problem);

    let listening = Listening::start(&bench, port).await;
    bench.lists(&["hand__echo"]).await;
    assert_eq!(bench.ask("hand__echo").await.unwrap(), "echo {\"x\": 1}");

    drop(listening);
    let error = bench.ask("hand__echo").await.unwrap_err();
    assert!(matches!(error.kind, ToolErrorKind::Unavailable | ToolErrorKind::Crashed), "{error:?}");
    bench.offer("echo other");
    let _listening = Listening::start(&bench, port).await;
    assert_eq!(bench.ask_until("hand__echo").await, "echo {\"x\": 1}");
    bench.lists(&["hand__echo", "hand__other"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_line_on_the_stream_of_a_call_is_progress_of_that_call() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let outbound = AddressGuard { allow: vec![format!("127.0.0.1:{port}")] };
    let url = format!("http://127.0.0.1:{port}/mcp");
    let bench =
        Bench::new(tempfile::tempdir().unwrap(), Endpoint::Http { url, headers: Vec::new(), outbound });
    bench.offer("tells_a tells_b");
    let _listening = Listening::start(&bench, port).await;
    bench.lists(&["hand__tells_a", "hand__tells_b"]).await;
    let ask = async |name: &str| {
        let (call, seen) = watched(json!({}));
        bench.tool(name).call(call).await.unwrap();
        let told = seen.lock().unwrap();
        told.iter().filter_map(|progress| progress.message.clone()).collect::<Vec<String>>()
    };
    let told = tokio::join!(ask("hand__tells_a"), ask("hand__tells_b"));
    assert_eq!(told, (vec!["tells_a".to_owned()], vec!["tells_b".to_owned()]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answered_http_call_is_not_reported_as_undelivered() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let outbound = AddressGuard { allow: vec![format!("127.0.0.1:{port}")] };
    let url = format!("http://127.0.0.1:{port}/mcp");
    let endpoint = Endpoint::Http { url, headers: Vec::new(), outbound };
    let bench = Bench::new(tempfile::tempdir().unwrap(), endpoint);
    let unknown = ToolErrorKind::OutcomeUnknown;
    let cases = [
        ("html", unknown, "answered with text/html instead of JSON or an event stream; what the call did"),
        ("words", unknown, "answered with JSON that is no message of the protocol: "),
        ("broken", unknown, "answered with something that cannot be read: "),
        ("cut", unknown, "answered with nothing: "),
        (
            "s500",
            unknown,
            "answered with HTTP 500 Internal Server Error: oops; what the call did is not known",
        ),
        (
            "s202",
            unknown,
            "answered with HTTP 202 Accepted, which takes a call and never answers it; what the call did is not known",
        ),
        ("s403", ToolErrorKind::Failed, "refused the call: HTTP 403 Forbidden: oops"),
        ("s503", ToolErrorKind::Unavailable, "cannot take the call now: HTTP 503"),
        ("stream", ToolErrorKind::LimitPassed, "wrote a message of more than 33554432 bytes"),
    ];
    bench.offer(&cases.map(|(name, ..)| name).join(" "));
    let listening = Listening::start(&bench, port).await;
    bench.lists(&cases.map(|(name, ..)| format!("hand__{name}")).each_ref().map(String::as_str)).await;
    for (name, kind, words) in cases {
        let asked = tokio::time::timeout(PATIENCE, bench.ask(&format!("hand__{name}"))).await;
        let error = asked.expect("it is told at once").unwrap_err();
        assert_eq!(error.kind, kind, "{name}: {error}");
        assert!(error.message.contains(words), "{name}: {error}");
    }
    drop(listening);
    let error = bench.ask("hand__html").await.unwrap_err();
    assert_eq!(error.kind, ToolErrorKind::Unavailable, "{error}");
    assert!(error.message.contains("could not be told"), "{error}");
}
