//! Commands that can be spoken to while they run.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use riverrun_tool::{
    CommandConfig, CommandTool, HostFuture, HowEnded, Orders, OutputPart, OutputStream, ProcessEnd,
    ProcessHost, ProcessPlan, Program, StdinChunk, Terminate, Tool, ToolErrorKind, ToolRequest, ValueSource,
    end_marked,
};
use serde_json::json;
use tokio::sync::{Notify, mpsc, oneshot};

use crate::support::call;

/// Remembers what it is told.
struct Told {
    id: String,
    orders: Mutex<Option<Orders>>,
    plan: Mutex<Option<ProcessPlan>>,
    output: Mutex<Vec<OutputPart>>,
    end: Mutex<Option<ProcessEnd>>,
    wrote: Notify,
}

impl ProcessHost for Told {
    fn id(&self) -> &str {
        &self.id
    }

    fn begin(&self, plan: ProcessPlan) -> HostFuture<'_, Option<Orders>> {
        *self.plan.lock().unwrap() = Some(plan);
        let orders = self.orders.lock().unwrap().take();
        Box::pin(async { orders })
    }

    fn output(&self, part: OutputPart) -> HostFuture<'_, ()> {
        self.output.lock().unwrap().push(part);
        self.wrote.notify_one();
        Box::pin(async {})
    }

    fn end(&self, end: ProcessEnd) -> HostFuture<'_, ()> {
        *self.end.lock().unwrap() = Some(end);
        Box::pin(async {})
    }
}

impl Told {
    fn text(&self, stream: OutputStream) -> String {
        let output = self.output.lock().unwrap();
        let bytes = output.iter().filter(|part| part.stream == stream).flat_map(|part| part.bytes.clone());
        String::from_utf8(bytes.collect()).unwrap()
    }

    async fn until(&self, text: &str) {
        while !self.text(OutputStream::Stdout).contains(text) {
            self.wrote.notified().await;
        }
    }

    fn how(&self) -> HowEnded {
        self.end.lock().unwrap().as_ref().expect("it has ended").how.clone()
    }
}

type Handles = (mpsc::Sender<StdinChunk>, oneshot::Sender<Terminate>);

fn host(id: &str) -> (Arc<Told>, Handles) {
    let ((input, writes), (terminate, end)) = (mpsc::channel(8), oneshot::channel());
    let told = Told {
        id: id.to_owned(),
        orders: Mutex::new(Some(Orders { input: writes, terminate: end })),
        plan: Mutex::default(),
        output: Mutex::default(),
        end: Mutex::default(),
        wrote: Notify::new(),
    };
    (Arc::new(told), (input, terminate))
}

fn tool(script: &str, timeout: Duration) -> CommandTool {
    let argv = ["sh", "-c", script].map(ToOwned::to_owned).to_vec();
    let env = [("KEY".to_owned(), ValueSource::Plain("hidden".to_owned()))].into();
    let program = Program { argv, env, ..Program::default() };
    let name = "talk".to_owned();
    let config = CommandConfig { name, timeout, program, interactive: true, ..CommandConfig::default() };
    CommandTool::new(config).unwrap()
}

fn hosted(host: &Arc<Told>) -> ToolRequest {
    ToolRequest { process: Some(host.clone()), ..call(json!({})) }
}

const LONG: Duration = Duration::from_secs(60);

#[tokio::test]
async fn input_is_read_and_its_end_is_signalled() {
    let (host, (input, _terminate)) = host("proc_read");
    let tool = tool("read -r a; echo \"<$a>\"; cat; echo $RIVERRUN_PROCESS_ID; echo oh >&2", LONG);
    let talk = async {
        input.send(StdinChunk { bytes: b"one\n".to_vec(), is_last: false }).await.unwrap();
        host.until("<one>").await;
        input.send(StdinChunk { bytes: b"two\n".to_vec(), is_last: true }).await.unwrap();
    };
    let (output, ()) = tokio::join!(tool.call(hosted(&host)), talk);
    assert_eq!(output.unwrap().content[0].text(), Some("<one>\ntwo\nproc_read"));
    assert_eq!(host.text(OutputStream::Stderr), "oh\n");
    assert_eq!(host.how(), HowEnded::Exited(0));
    let plan = host.plan.lock().unwrap().clone().unwrap();
    assert!(plan.command.starts_with("sh -c 'read -r a;") && plan.destructive, "{plan:?}");
    assert!(!format!("{plan:?}").contains("hidden"), "the environment is told: {plan:?}");
}

#[tokio::test]
async fn a_process_that_does_not_end_in_time_is_ended_though_it_does_not_want_to() {
    let (host, _handles) = host("proc_late");
    let tool = tool("trap '' TERM; echo begun; while :; do sleep 0.05; done", Duration::from_millis(300));
    let error = tool.call(hosted(&host)).await.unwrap_err();
    assert_eq!(error.kind, ToolErrorKind::Timeout);
    assert!(error.message.contains("within 300 ms") && error.message.contains("begun"), "{error}");
    assert!(matches!(host.how(), HowEnded::Terminated(Terminate { by, .. }) if by == "timeout"));
}

#[tokio::test]
async fn ending_a_process_returns_its_status_and_its_output() {
    let (host, (_input, terminate)) = host("proc_end");
    let tool = tool("trap 'echo bye; exit 0' TERM; echo begun; while :; do sleep 0.05; done", LONG);
    let order = Terminate { by: "key_1".to_owned(), reason: Some("enough".to_owned()) };
    let end = async {
        host.until("begun").await;
        terminate.send(order.clone()).unwrap();
    };
    let (output, ()) = tokio::join!(tool.call(hosted(&host)), end);
    assert!(output.unwrap_err().message.contains("enough"));
    assert_eq!(host.how(), HowEnded::Terminated(order));
    assert_eq!(host.text(OutputStream::Stdout), "begun\nbye\n");
}

#[tokio::test]
async fn an_exit_code_is_a_failure_that_shows_the_output() {
    let (host, _handles) = host("proc_code");
    let error = tool("echo out; echo wrong >&2; exit 3", LONG).call(hosted(&host)).await.unwrap_err();
    assert_eq!((error.kind, host.how()), (ToolErrorKind::Failed, HowEnded::Exited(3)));
    for word in ["exit code 3", "out", "wrong"] {
        assert!(error.message.contains(word), "{error}");
    }
}

#[tokio::test]
async fn nothing_starts_before_it_is_durable_that_it_will_or_where_nobody_can_reach_it() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("ran");
    let tool = tool(&format!("touch {}", mark.display()), LONG);
    let (host, _handles) = host("proc_never");
    host.orders.lock().unwrap().take();
    assert_eq!(tool.call(hosted(&host)).await.unwrap_err().kind, ToolErrorKind::Cancelled);
    assert_eq!(tool.call(call(json!({}))).await.unwrap_err().kind, ToolErrorKind::Unavailable);
    assert!(!mark.exists(), "it ran");
}

/// Only what carries the name is ended, however it came about.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_a_dead_owner_left_is_known_by_its_name_alone() {
    let start = |name: &str| {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", "sleep 60 & wait"]).env("RIVERRUN_PROCESS_ID", name);
        command.spawn().unwrap()
    };
    let name = format!("proc_mark_{}", std::process::id());
    let other_name = format!("{name}_not");
    let (mut ours, mut other) = (start(&name), start(&other_name));
    // The child of the shell carries the name as soon as it runs.
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(end_marked(&name), Some(2));
    assert!(!ours.wait().unwrap().success());
    // The shell's child is nobody's to wait for: it is gone a moment later.
    for _ in 0..500 {
        if end_marked(&name) == Some(0) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(end_marked(&name), Some(0));
    assert!(other.try_wait().unwrap().is_none(), "another process was ended");
    assert_eq!(end_marked(&other_name), Some(2));
    other.wait().unwrap();
}
