//! What a program may use of the machine, and what the model reads when it wants more.

use std::time::Duration;

use riverrun_tool::{CommandConfig, CommandTool, ProcessLimits, Program, ToolErrorKind};
use serde_json::json;

use crate::support::{call, fails, run, text};

fn limited(script: &str, limits: ProcessLimits) -> CommandTool {
    let argv = ["sh", "-c", script].map(str::to_owned).to_vec();
    let program = Program { argv, limits, ..Program::default() };
    CommandTool::new(CommandConfig { name: "it".to_owned(), program, ..CommandConfig::default() }).unwrap()
}

const OFF: ProcessLimits =
    ProcessLimits { memory: None, cpu: None, open_files: None, processes: None, file_size: None };

#[tokio::test]
async fn every_limit_is_set_and_inherited() {
    let limits = ProcessLimits {
        memory: Some(512 << 20),
        cpu: Some(Duration::from_secs(7)),
        open_files: Some(55),
        processes: Some(4321),
        file_size: Some(1 << 20),
    };
    // The pause is longer than it takes to set them.
    let script = "sleep 0.2; (ulimit -v; ulimit -t; ulimit -n; ulimit -f; ulimit -c); cat /proc/self/limits";
    let output = run(limited(script, limits), call(json!({}))).await.unwrap();
    let told = text(&output);
    assert!(told.starts_with("524288\n7\n55\n2048\n0\n"), "{told}");
    let processes = told.lines().find(|line| line.starts_with("Max processes")).unwrap();
    assert!(processes.contains("4321"), "{processes}");
}

#[tokio::test]
async fn a_child_that_was_there_before_the_limits_has_them_too() {
    // Many starts: in some of them the child is there first.
    for _ in 0..20 {
        let limits = ProcessLimits { open_files: Some(33), ..OFF };
        let script = "(sleep 0.1; ulimit -n) & wait";
        let output = run(limited(script, limits), call(json!({}))).await.unwrap();
        assert_eq!(text(&output), "33");
    }
}

#[tokio::test]
async fn a_process_over_its_cpu_limit_is_stopped_with_the_reason() {
    let limits = ProcessLimits { cpu: Some(Duration::from_secs(1)), ..OFF };
    let message =
        fails(limited("while :; do :; done", limits), call(json!({})), ToolErrorKind::LimitPassed).await;
    assert!(message.contains("1 s of processor time") && message.contains("`limits.cpu`"), "{message}");
}

#[tokio::test]
async fn a_process_that_writes_too_large_a_file_is_stopped_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let limits = ProcessLimits { file_size: Some(4096), ..OFF };
    let script = format!("sleep 0.1; exec head -c 100000 /dev/zero > {}", folder.path().join("f").display());
    let message = fails(limited(&script, limits), call(json!({})), ToolErrorKind::LimitPassed).await;
    assert!(message.contains("4096 bytes") && message.contains("`limits.file_size`"), "{message}");
}

#[tokio::test]
async fn who_wants_too_much_memory_fails_and_its_limit_is_named() {
    let limits = ProcessLimits { memory: Some(64 << 20), ..OFF };
    let script = "sleep 0.1; exec python3 -c 'x = bytearray(200 << 20)'";
    let message = fails(limited(script, limits), call(json!({})), ToolErrorKind::Failed).await;
    assert!(message.contains("it may use 67108864 bytes of memory"), "{message}");
}
