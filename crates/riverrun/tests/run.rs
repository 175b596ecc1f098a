//! `riverrun run` as a script meets it: pipes instead of a terminal, exit codes, the last line of `--json`.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn riverrun(directory: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_riverrun"))
        .args(words)
        .current_dir(directory)
        .env_remove("RIVERRUN_URL")
        .env_remove("RIVERRUN_KEY")
        .env_remove("RIVERRUN_CONFIG")
        .stdin(Stdio::null())
        .output()
        .expect("the binary runs")
}

fn result(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.lines().last().unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    serde_json::from_str(last).expect("the last line is JSON")
}

#[test]
fn a_turn_without_a_server_runs_in_this_process() {
    let directory = tempfile::tempdir().expect("a directory");
    let output =
        riverrun(directory.path(), &["run", "scripted/text", "weather?", "--json", "--data-dir", "data"]);
    let result = result(&output);
    assert_eq!(output.status.code(), Some(0), "{result}");
    assert_eq!((&result["type"], &result["outcome"]), (&Value::from("result"), &Value::from("completed")));
    assert_eq!(result["finalOutput"], "The weather in Paris is sunny and 15°C.", "{result}");
    let lines = String::from_utf8_lossy(&output.stdout).lines().count();
    assert!(lines > 10, "every event is a line: {lines}");
}

#[test]
fn the_result_has_a_long_output_whole() {
    let directory = tempfile::tempdir().expect("a directory");
    let file =
        |name: &str, text: &str| std::fs::write(directory.path().join(name), text).expect("it is written");
    let long = "x".repeat(400_000);
    file("much.json", &serde_json::json!({"step": [{"play": [{"text": {"pieces": [long]}}]}]}).to_string());
    file("riverrun.toml", "[scripts]\nfiles = [\"much.json\"]\n[agents.much]\nmodel = \"scripted/much\"\n");
    let output = riverrun(directory.path(), &["run", "much", "talk", "--json", "--data-dir", "data"]);
    let result = result(&output);
    assert_eq!(result["finalOutput"].as_str().map(str::len), Some(400_000), "{}", result["outcome"]);
}

#[test]
fn a_decision_that_nobody_can_make_is_exit_code_5() {
    let directory = tempfile::tempdir().expect("a directory");
    let output = riverrun(directory.path(), &["run", "demo", "tides", "--json", "--data-dir", "data"]);
    let result = result(&output);
    assert_eq!(output.status.code(), Some(5), "{result}");
    assert_eq!(result["outcome"], "waiting");
    assert_eq!(result["actions"].as_array().map(Vec::len), Some(1));
}

#[test]
fn an_agent_that_is_not_there_is_named_with_what_is() {
    let directory = tempfile::tempdir().expect("a directory");
    let output = riverrun(directory.path(), &["run", "dmeo", "tides", "--data-dir", "data"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("did you mean `demo`?"), "{said}");
}

#[test]
fn a_turn_cannot_be_left_with_a_server_that_ends_with_the_command() {
    let directory = tempfile::tempdir().expect("a directory");
    let output = riverrun(directory.path(), &["run", "demo", "tides", "--detach", "--data-dir", "data"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("riverrun serve --data-dir data") && output.stdout.is_empty(), "{said}");
    let output = riverrun(directory.path(), &["run", "demo", "tides", "--data-dir", "data"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("start `riverrun serve --data-dir data` first"), "{said}");
}

#[test]
fn the_server_that_goes_on_is_named_with_its_configuration() {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("own.toml"), "[log]\nretention = \"1d\"\n").expect("our file");
    let words = ["run", "demo", "tides", "--config", "own.toml", "--data-dir", "data"];
    let output = riverrun(directory.path(), &words);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("start `riverrun serve --config own.toml --data-dir data` first"), "{said}");
}

#[test]
fn a_mistyped_agent_is_not_taken_as_the_input() {
    let directory = tempfile::tempdir().expect("a directory");
    let output = riverrun(directory.path(), &["run", "dmo", "--data-dir", "data"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("there is no agent `dmo`; did you mean `demo`?"), "{said}");
}

#[test]
fn with_json_a_usage_error_is_json_too() {
    let directory = tempfile::tempdir().expect("a directory");
    for words in [&["respond", "--json", "act_1"][..], &["--json", "--nonsense"]] {
        let output = riverrun(directory.path(), words);
        let said: Value = serde_json::from_slice(&output.stderr).expect("one JSON document");
        assert_eq!((output.status.code(), &said["error"]["exit"]), (Some(2), &Value::from(2)), "{said}");
    }
    let help = riverrun(directory.path(), &["--json", "--help"]);
    assert_eq!(help.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&help.stdout).contains("Usage: riverrun"));
}

#[test]
fn a_usage_line_names_no_flag_that_the_environment_stands_in_for() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_riverrun"));
    command.args(["respond", "act_1"]).env("RIVERRUN_URL", "http://127.0.0.1:1");
    let output = command.output().expect("the binary runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("Usage: riverrun respond <ACTION> <ANSWER>"), "{said}");
}

#[test]
fn what_a_terminal_would_obey_is_written_as_an_escape() {
    let directory = tempfile::tempdir().expect("a directory");
    let words = ["run", "scripted/echo", "a\u{1b}[2Jb", "--data-dir", "data", "--color", "never"];
    let output = riverrun(directory.path(), &words);
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("\\u{1b}[2J") && !said.contains('\u{1b}'), "{said:?}");
}

#[test]
fn a_mistake_in_the_file_has_a_place_and_a_suggestion() {
    let directory = tempfile::tempdir().expect("a directory");
    let text = "[agents.a]\nmodle = \"scripted/text\"\nmodel = \"scripted/text\"\ntools = [\"none\"]\n";
    std::fs::write(directory.path().join("riverrun.toml"), text).expect("our file");
    for words in [&["config", "check"][..], &["serve", "--listen", "127.0.0.1:0"]] {
        let output = riverrun(directory.path(), words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(78), "{said}");
        assert!(
            said.contains("riverrun.toml:2:1: unknown key `modle` in [agents.a]; did you mean `model`?"),
            "{said}"
        );
        assert!(said.contains("riverrun.toml:4:10: there is no tool `none`; none is declared"), "{said}");
    }
}
