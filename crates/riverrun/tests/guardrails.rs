//! `[[guardrails]]` of a real file, with the real binary.

#![allow(clippy::unwrap_used)]

mod support;

use std::path::Path;

use serde_json::Value;
use support::{lines, riverrun, said};

const CONFIG: &str = r#"
[agents.parrot]
model = "scripted/echo"

[agents.weatherman]
model = "scripted/tool"
tools = ["get_weather"]

[tools.get_weather]
description = "The weather in a city."
command = ["echo", "the password is swordfish"]
parameters = { type = "object", properties = { city = { type = "string" } } }
read_only = true
"#;

/// Runs an agent of the file with these guardrails; every event, and the result last.
fn run(guardrails: &str, agent: &str, input: &str) -> Vec<Value> {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), guardrails);
    let output = riverrun(directory.path(), &["run", agent, input, "--json", "--data-dir", "data"]);
    let lines = lines(&output);
    assert!(!lines.is_empty(), "{}", said(&output));
    lines
}

fn write(directory: &Path, guardrails: &str) {
    std::fs::write(directory.join("riverrun.toml"), format!("{CONFIG}{guardrails}")).unwrap();
    std::fs::write(directory.join("guard.sh"), GUARD).unwrap();
}

/// Refuses what has the word `nuclear` in it, and cannot cope with `broken`.
const GUARD: &str = r#"
question=$(cat)
case "$question" in
  *broken*) echo "not JSON"; exit 0;;
  *nuclear*) echo '{"decision":"block","reason":"not this one"}';;
esac
"#;

fn error(lines: &[Value]) -> (String, String) {
    let result = lines.last().unwrap();
    let text = |name: &str| result["error"][name].as_str().unwrap_or_default().to_owned();
    (text("code"), text("message"))
}

fn kinds(lines: &[Value]) -> Vec<&str> {
    lines.iter().filter_map(|line| line["type"].as_str()).collect()
}

#[test]
fn an_input_that_a_pattern_finds_reaches_no_model() {
    let guard = "[[guardrails]]\nname = \"keys\"\nchecks = [\"input\"]\ndeny = ['sk-[0-9]+']\n";
    let told = run(guard, "parrot", "my key is sk-123");
    let message = "guardrail `keys` refused the input: it has what `sk-[0-9]+` finds";
    assert_eq!(error(&told), ("guardrail_tripped".to_owned(), message.to_owned()));
    assert!(!kinds(&told).contains(&"model.delta"), "{:?}", kinds(&told));
    assert_eq!(run(guard, "parrot", "no key").last().unwrap()["outcome"], "completed");
}

#[test]
fn an_output_that_is_refused_is_retracted() {
    let guard = "[[guardrails]]\nname = \"brief\"\nchecks = [\"output\"]\nmax_characters = 5\nreason = \"too long\"\n";
    let told = run(guard, "parrot", "a long story");
    let message = "guardrail `brief` refused the output: too long";
    assert_eq!(error(&told), ("guardrail_tripped".to_owned(), message.to_owned()));
    assert!(kinds(&told).contains(&"item.retracted"), "{:?}", kinds(&told));
    let other = format!("{guard}agents = [\"weatherman\"]\n");
    assert_eq!(
        run(&other, "parrot", "a long story").last().unwrap()["outcome"],
        "completed",
        "not its agent"
    );
}

#[test]
fn a_call_and_a_result_that_are_refused_are_told_to_the_model() {
    let of = |check: &str, deny: &str| {
        format!(
            "[[guardrails]]\nname = \"g\"\nchecks = [\"{check}\"]\ntools = [\"get_*\"]\ndeny = ['{deny}']\n"
        )
    };
    let told = run(&of("tool_call", "Paris"), "weatherman", "weather?");
    assert!(kinds(&told).contains(&"tool.failed"), "{:?}", kinds(&told));
    assert!(!told.iter().any(|event| event.to_string().contains("swordfish")), "it did not run");
    assert_eq!(told.last().unwrap()["outcome"], "completed", "the model goes on without it");
    let told = run(&of("tool_result", "sword"), "weatherman", "weather?");
    let result = told.iter().find(|event| event["type"] == "tool.failed").expect("a failure").to_string();
    assert!(result.contains("guardrail `g`") && !result.contains("swordfish"), "{result}");
}

#[test]
fn a_program_is_asked_and_no_usable_answer_is_a_no() {
    let guard = "[[guardrails]]\nname = \"asked\"\nchecks = [\"input\"]\ncommand = [\"sh\", \"guard.sh\"]\ntimeout = \"20s\"\n";
    assert_eq!(run(guard, "parrot", "tides").last().unwrap()["outcome"], "completed");
    let refused = "guardrail `asked` refused the input: ";
    let (code, message) = error(&run(guard, "parrot", "nuclear tides"));
    assert_eq!((code.as_str(), message), ("guardrail_tripped", format!("{refused}not this one")));
    let (code, message) = error(&run(guard, "parrot", "broken tides"));
    assert_eq!(code, "guardrail_tripped");
    assert!(message.starts_with(&format!("{refused}its answer is not what a hook answers")), "{message}");
}

#[test]
fn a_mistake_has_a_place_and_a_suggestion() {
    let directory = tempfile::tempdir().unwrap();
    let check = |guardrails: &str| {
        std::fs::write(directory.path().join("riverrun.toml"), guardrails).unwrap();
        let output = riverrun(directory.path(), &["config", "check"]);
        assert_eq!(output.status.code(), Some(78), "{}", said(&output));
        said(&output)
    };
    for (body, expected) in [
        ("checks = [\"input\"]", ":1:1: guardrail `g` refuses nothing: give `deny`"),
        ("checks = [\"inptu\"]\ndeny = ['x']", ":3:10: checks: `inptu` is not one of"),
        ("checks = [\"input\"]\ndeny = ['(']", ":4:9: deny: `(` is no regular expression: unclosed group"),
        ("checks = [\"input\"]\nmax_character = 3", "did you mean `max_characters`?"),
        ("checks = [\"input\"]\ndeny = ['x']\ntools = [\"a\"]", "`tools` goes with the checks `tool_call`"),
        ("checks = [\"input\"]\ndeny = ['x']\nagents = [\"nobody\"]", "there is no agent `nobody`"),
        ("checks = [\"input\"]\ndeny = ['x']\ntimeout = \"3s\"", "`timeout` goes with `command` or `url`"),
    ] {
        let said = check(&format!("[[guardrails]]\nname = \"g\"\n{body}\n"));
        assert!(said.contains(expected), "{body}: {said}");
    }
}

#[test]
fn a_policy_that_fits_no_tool_is_complained_of_by_the_check_and_at_start() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), "[policy]\ndeny = [\"get_wether\", \"*_delete\"]\nallow = [\"get_*\"]\n");
    let wanted = [
        "riverrun.toml:15:9: [policy] deny: `get_wether` fits no tool and does nothing; did you mean `get_weather`?",
        "riverrun.toml:15:23: [policy] deny: `*_delete` fits no tool and does nothing; there are: ",
    ];
    let words = ["run", "parrot", "hello", "--data-dir", "data"];
    for (words, code) in [(&["config", "check"][..], 0), (&words, 0)] {
        let output = riverrun(directory.path(), words);
        assert_eq!(output.status.code(), Some(code), "{}", said(&output));
        for wanted in wanted {
            assert!(said(&output).contains(wanted), "{wanted}: {}", said(&output));
        }
        assert!(!said(&output).contains("`get_*`"), "{}", said(&output));
    }
}
