use std::sync::Arc;
use std::time::Duration;

use riverrun_tool::{
    CallProgress, ClientTool, Effect, Flags, FunctionTool, Json, SetError, Tool, ToolError, ToolErrorKind,
    ToolOutput, ToolRequest, ToolSet,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::support::{call, fails, run, set, text, watched};

#[derive(Deserialize, JsonSchema)]
struct Add {
    /// The first number.
    a: i64,
    b: i64,
}

fn add() -> FunctionTool {
    FunctionTool::new("add", "Adds two numbers.", |add: Add| async move {
        add.a.checked_add(add.b).map(|sum| sum.to_string()).ok_or("the sum is too large")
    })
    .read_only()
}

#[tokio::test]
async fn a_function_gets_typed_arguments_and_a_schema() {
    let output = run(add(), call(json!({"a": 2, "b": 3}))).await.unwrap();
    assert_eq!(text(&output), "5");
    let tool = add();
    let definition = tool.definition();
    let expected = json!({"type": "object", "required": ["a", "b"], "properties": {
        "a": {"type": "integer", "format": "int64", "description": "The first number."},
        "b": {"type": "integer", "format": "int64"},
    }});
    assert_eq!(definition.parameters, expected);
    assert_eq!((definition.effect(), definition.source.as_str()), (Effect::Repeatable, "function"));
    assert_eq!(
        definition.flags,
        Flags { read_only: true, destructive: false, idempotent: true, open_world: true }
    );
}

#[tokio::test]
async fn every_way_to_fail_is_an_error_that_the_model_reads() {
    let message = fails(add(), call(json!({"a": i64::MAX, "b": 1})), ToolErrorKind::Failed).await;
    assert_eq!(message, "the sum is too large");
    let message = fails(add(), call(json!({"a": 1, "b": "x"})), ToolErrorKind::BadArguments).await;
    assert!(message.contains("/b") && message.contains("integer"), "{message}");

    let denied = FunctionTool::new("f", "", |_: Nothing| async {
        Err::<(), _>(ToolError::new(ToolErrorKind::Denied, "not for you"))
    });
    assert_eq!(fails(denied, call(json!({})), ToolErrorKind::Denied).await, "not for you");

    let panics = FunctionTool::new("f", "", |_: Nothing| async {
        if true {
            panic!("password 123")
        }
    });
    let message = fails(panics, call(json!({})), ToolErrorKind::Failed).await;
    assert!(message.contains("`f` broke down") && !message.contains("123"), "{message}");
    let panics = FunctionTool::new("f", "", |_: Nothing| -> std::future::Ready<()> { panic!("at once") });
    fails(panics, call(json!({})), ToolErrorKind::Failed).await;
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

fn endless() -> FunctionTool {
    FunctionTool::new("wait", "", |_: Nothing| std::future::pending::<()>())
}

#[tokio::test(start_paused = true)]
async fn time_runs_out_and_calls_are_cancelled() {
    let message =
        fails(endless().timeout(Duration::from_millis(50)), call(json!({})), ToolErrorKind::Timeout).await;
    assert!(message.contains("`wait`") && message.contains("50 ms"), "{message}");
    let error =
        set(endless()).run("wait", call(json!({})), Some(Duration::from_millis(7))).await.unwrap_err();
    assert!(error.message.contains("7 ms"), "the caller's time holds: {error}");
    let call = call(json!({}));
    call.cancel.cancel();
    fails(endless(), call, ToolErrorKind::Cancelled).await;
}

#[tokio::test]
async fn a_function_can_report_its_progress() {
    let tool = FunctionTool::with_call("f", "", |_: Nothing, call: ToolRequest| async move {
        (call.progress)(CallProgress { fraction: Some(0.5), ..CallProgress::default() });
        Json(vec![call.idempotency_key])
    });
    let (call, seen) = watched(json!({}));
    let output = run(tool, call).await.unwrap();
    assert_eq!((text(&output), &output.structured), (r#"["key-1"]"#, &Some(json!(["key-1"]))));
    assert_eq!(seen.lock().unwrap()[0].fraction, Some(0.5));
}

#[tokio::test]
async fn a_set_knows_its_tools_and_names_them() {
    let mut set = ToolSet::default();
    set.insert(Arc::new(add())).unwrap();
    set.insert(Arc::new(endless())).unwrap();
    assert_eq!(set.insert(Arc::new(add())), Err(SetError::Duplicate("add".to_owned())));
    let hostile = FunctionTool::new("a\u{202e}b", "", |_: Nothing| async {});
    assert_eq!(set.insert(Arc::new(hostile)), Err(SetError::BadName("a\\u{202e}b".to_owned())));
    let error = set.run("ad", call(json!({})), None).await.unwrap_err();
    assert_eq!(error.kind, ToolErrorKind::UnknownTool);
    assert_eq!(error.message, "there is no tool `ad`; did you mean `add`?; there are: add, wait");
    assert_eq!(set.parse("add", r#"{"a":1,"b":2}"#), Ok(json!({"a": 1, "b": 2})));
    let listed = serde_json::to_value(set.inventory()).unwrap();
    assert_eq!(
        (listed[0]["name"].as_str(), listed[1]["flags"]["destructive"].as_bool()),
        (Some("add"), Some(true))
    );
    assert_eq!(
        (listed[0]["source"].as_str(), listed[0]["timeoutMs"].as_u64()),
        (Some("function"), Some(60_000))
    );
}

#[tokio::test]
async fn a_client_s_tool_is_never_run_here() {
    let tool = ClientTool::new("pick", "", json!({"type": "object"}));
    assert!(tool.definition().is_client_run());
    fails(tool, call(json!({})), ToolErrorKind::Denied).await;
}

#[tokio::test]
async fn an_error_of_the_tool_itself_is_an_output() {
    let tool = FunctionTool::new("f", "", |_: Nothing| async {
        ToolOutput { is_error: true, ..ToolOutput::text("no") }
    });
    assert!(run(tool, call(json!({}))).await.unwrap().is_error);
}
