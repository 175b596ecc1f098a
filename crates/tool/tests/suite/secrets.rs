//! Secrets that a tool is given and repeats.

use std::sync::{Arc, Mutex};

use riverrun_tool::{
    AddressGuard, CommandConfig, CommandTool, Endpoint, HostFuture, HttpConfig, HttpTool, McpConfig,
    McpServer, Orders, OutputPart, ProcessEnd, ProcessHost, ProcessPlan, Program, Tool, ToolErrorKind,
    ToolRequest, ToolSet, ValueSource,
};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};

use crate::support::{call, eventually, fails, run, text, watched};

const VALUE: &str = "tr0ub4dor&3-and-more";

/// The value in a file, and a program that has it as `SESAME`.
fn shell(script: &str, is_interactive: bool) -> (tempfile::TempDir, CommandTool) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("secret");
    std::fs::write(&file, format!("{VALUE}\n")).unwrap();
    let script = &script.replace('{', "{{").replace('}', "}}");
    let argv = ["sh", "-c", script].map(str::to_owned).to_vec();
    let env =
        [("SESAME".to_owned(), ValueSource::File(file)), ("MODE".to_owned(), "plain-value".into())].into();
    let program = Program { argv, env, ..Program::default() };
    let config = CommandConfig {
        name: "it".to_owned(),
        program,
        interactive: is_interactive,
        ..CommandConfig::default()
    };
    (folder, CommandTool::new(config).unwrap())
}

#[tokio::test]
async fn a_command_that_prints_its_environment_shows_no_secret() {
    let (_folder, tool) = shell("env; echo \"::progress $SESAME is it\"", false);
    let (call, seen) = watched(json!({}));
    let output = run(tool, call).await.unwrap();
    let told = text(&output);
    assert!(told.contains("SESAME=[secret]") && told.contains("MODE=plain-value"), "{told}");
    assert!(told.contains("RIVERRUN_IDEMPOTENCY_KEY=key-1") && !told.contains(VALUE), "{told}");
    assert_eq!(seen.lock().unwrap()[0].message.as_deref(), Some("[secret] is it"));
}

#[tokio::test]
async fn a_secret_in_pieces_in_errors_and_in_json_is_found() {
    let (_folder, tool) = shell("printf 'tr0ub4dor'; sleep 0.1; printf '&3-and-more!'", false);
    assert_eq!(text(&run(tool, call(json!({}))).await.unwrap()), "[secret]!");
    let (_folder, tool) = shell("head -c 3000 /dev/zero | tr '\\0' x >&2; echo $SESAME >&2; exit 1", false);
    let message = fails(tool, call(json!({})), ToolErrorKind::Failed).await;
    assert!(message.ends_with("[secret]") && !message.contains("tr0ub"), "{message}");
    let json = r#"printf '{"content":[{"type":"text","text":"tr0ub4dor\\u00263-and-more"}]}'"#;
    let (_folder, tool) = shell(json, false);
    let output = run(tool, call(json!({}))).await.unwrap();
    assert_eq!(output.content[0].text(), Some("[secret]"));
}

#[derive(Default)]
struct Host {
    said: Mutex<Vec<u8>>,
    preview: Mutex<String>,
    orders:
        Mutex<Option<(mpsc::Sender<riverrun_tool::StdinChunk>, oneshot::Sender<riverrun_tool::Terminate>)>>,
}

impl ProcessHost for Host {
    fn id(&self) -> &str {
        "proc_secret"
    }

    fn begin(&self, _plan: ProcessPlan) -> HostFuture<'_, Option<Orders>> {
        let ((input, writes), (terminate, end)) = (mpsc::channel(1), oneshot::channel());
        *self.orders.lock().unwrap() = Some((input, terminate));
        Box::pin(async { Some(Orders { input: writes, terminate: end }) })
    }

    fn output(&self, part: OutputPart) -> HostFuture<'_, ()> {
        self.said.lock().unwrap().extend(part.bytes);
        Box::pin(async {})
    }

    fn end(&self, end: ProcessEnd) -> HostFuture<'_, ()> {
        *self.preview.lock().unwrap() = end.preview;
        Box::pin(async {})
    }
}

#[tokio::test]
async fn a_process_that_writes_a_secret_in_pieces_shows_none_of_it() {
    let script = "printf 'it is tr0u'; sleep 0.3; printf 'b4dor&3-'; sleep 0.3; printf 'and-more. tr0ub'";
    let (_folder, tool) = shell(script, true);
    let host = Arc::new(Host::default());
    let output = tool.call(ToolRequest { process: Some(host.clone()), ..call(json!({})) }).await.unwrap();
    let said = String::from_utf8(host.said.lock().unwrap().clone()).unwrap();
    assert_eq!(said, "it is [secret]. tr0ub", "what only looks like the beginning comes at the end");
    assert_eq!((host.preview.lock().unwrap().as_str(), output.content[0].text()), (&*said, Some(&*said)));
}

/// Answers each request with all that it was sent.
async fn mirror(status: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            while !request.windows(4).any(|end| end == b"\r\n\r\n") {
                if stream.read_buf(&mut request).await.unwrap_or(0) == 0 {
                    break;
                }
            }
            let head = format!("HTTP/1.1 {status}\r\ncontent-type: text/plain\r\ncontent-length: ");
            let _ = stream.write_all(format!("{head}{}\r\n\r\n", request.len()).as_bytes()).await;
            let _ = stream.write_all(&request).await;
        }
    });
    port
}

#[tokio::test]
async fn an_address_that_repeats_its_headers_shows_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("secret");
    std::fs::write(&file, format!("Bearer {VALUE}")).unwrap();
    for (status, is_error) in [("200 OK", false), ("401 Unauthorized", true)] {
        let port = mirror(status).await;
        let tool = HttpTool::new(HttpConfig {
            name: "it".to_owned(),
            url: format!("http://127.0.0.1:{port}/"),
            headers: vec![("authorization".to_owned(), ValueSource::File(file.clone()))],
            outbound: AddressGuard { allow: vec!["127.0.0.1".to_owned()] },
            ..HttpConfig::default()
        });
        let told = match run(tool.unwrap(), call(json!({}))).await {
            Ok(output) => text(&output).to_owned(),
            Err(error) => error.message,
        };
        assert_eq!(told.contains("was answered with 401"), is_error, "{told}");
        assert!(told.contains("authorization: [secret]") && !told.contains(VALUE), "{told}");
    }
}

/// What the tool `echo` of a server repeats.
async fn echoed(config: McpConfig, said: &[&str], change: impl FnOnce()) -> String {
    let server = McpServer::new(config);
    let mut set = ToolSet::default();
    for tool in server.offer().await.unwrap().tools {
        set.insert(Arc::new(tool)).unwrap();
    }
    // What the server was started with may be another value by now.
    change();
    let output = set.run("hand__echo", call(json!({"say": said.join(" ")})), None).await.unwrap();
    let told = text(&output).to_owned();
    server.stop().await;
    told
}

#[tokio::test]
async fn an_mcp_server_that_repeats_its_secrets_shows_none() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("secret");
    std::fs::write(&file, VALUE).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/mcp_server.py");
    let notes = folder.path().join("notes").display().to_string();
    let argv = ["python3", script, "good", &notes].map(str::to_owned).to_vec();
    let env = [("SESAME".to_owned(), ValueSource::File(file.clone()))].into();
    let stdio = Endpoint::Stdio(Program { argv, env, ..Program::default() });
    let change = || std::fs::write(&file, "another-value").unwrap();
    let told = echoed(McpConfig::new("hand", stdio), &[VALUE, "and another-value"], change).await;
    assert_eq!(told, "[secret] and [secret]");

    std::fs::write(&file, format!("Bearer {VALUE}")).unwrap();
    std::fs::write(folder.path().join("tools"), "echo").unwrap();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/mcp_plain.py");
    let mut child = std::process::Command::new("python3")
        .args([script, "http"])
        .args([folder.path().join("tools"), folder.path().join("notes")])
        .arg(port.to_string())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    eventually("the server listens", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()).await;
    let http = Endpoint::Http {
        url: format!("http://127.0.0.1:{port}/mcp"),
        headers: vec![("authorization".to_owned(), ValueSource::File(file))],
        outbound: AddressGuard { allow: vec!["127.0.0.1".to_owned()] },
    };
    let told = tokio::spawn(async move { echoed(McpConfig::new("hand", http), &[VALUE], || ()).await }).await;
    child.kill().unwrap();
    child.wait().unwrap();
    let told = told.unwrap();
    assert!(told.contains("[secret]") && !told.contains(VALUE), "{told}");
}
