//! What a person types when a decision is asked for.

use serde_json::Value;

use crate::cli::decide::{Decision, DecisionKind, edited, plain};

/// What the next line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wanted {
    /// What is to be done.
    #[default]
    Decision,
    /// Other arguments.
    Arguments,
    /// What the model reads instead of a result.
    Result,
}

impl Wanted {
    /// What the prompt says.
    pub fn prompt(self, request: &Value) -> String {
        match self {
            Wanted::Decision => choices(request),
            Wanted::Arguments => "the arguments as one line of JSON, or n".to_owned(),
            Wanted::Result => "what the agent reads instead of a result, or n".to_owned(),
        }
    }
}

/// What a line that was typed means.
#[derive(Debug)]
pub enum Answer {
    Decision(Decision),
    /// More comes with the next line.
    More(Wanted),
    Unclear(String),
}

/// True if the action takes this decision.
fn takes(request: &Value, decision: &str) -> bool {
    let known = request["decisions"].as_array();
    known.is_none_or(|known| known.iter().any(|known| known == decision))
}

/// What can be typed.
fn choices(request: &Value) -> String {
    if !takes(request, "approve") {
        return "r respond (r TEXT, or just the text) · n no (n alone)".to_owned();
    }
    let mut words = vec!["y yes", "a always", "n no (n WHY tells the agent)"];
    words.extend(takes(request, "edit").then_some("e edit"));
    words.extend(takes(request, "respond").then_some("r respond"));
    words.join(" · ")
}

pub fn answer(line: &str, wanted: Wanted, request: &Value) -> Answer {
    let is_no = matches!(line.to_ascii_lowercase().as_str(), "n" | "no");
    match wanted {
        _ if is_no => Answer::Decision(plain(DecisionKind::Reject)),
        Wanted::Arguments => arguments(line),
        Wanted::Result => result(line),
        Wanted::Decision if takes(request, "approve") => decision(line, request),
        Wanted::Decision => response(line),
    }
}

/// Only an answer is asked for: it may stand alone, or behind the letter that it has at other prompts.
fn response(line: &str) -> Answer {
    match line.split_once(char::is_whitespace) {
        None if is_respond(line) => Answer::More(Wanted::Result),
        Some((word, text)) if is_respond(word) => result(text.trim()),
        None | Some(_) => result(line),
    }
}

fn is_respond(word: &str) -> bool {
    matches!(word.to_ascii_lowercase().as_str(), "r" | "respond")
}

/// A word, and perhaps something behind it.
fn decision(line: &str, request: &Value) -> Answer {
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    match (word.to_ascii_lowercase().as_str(), rest) {
        ("y" | "yes", "") => Answer::Decision(plain(DecisionKind::Approve)),
        ("a" | "always", "") => {
            Answer::Decision(Decision { always: Some(true), ..plain(DecisionKind::Approve) })
        }
        ("n" | "no", why) => {
            Answer::Decision(Decision { message: Some(why.to_owned()), ..plain(DecisionKind::Reject) })
        }
        ("e" | "edit", "") if takes(request, "edit") => Answer::More(Wanted::Arguments),
        ("e" | "edit", json) if takes(request, "edit") => arguments(json),
        ("r" | "respond", "") if takes(request, "respond") => Answer::More(Wanted::Result),
        ("r" | "respond", text) if takes(request, "respond") => result(text),
        _ => Answer::Unclear(format!("answer with one of: {}", choices(request))),
    }
}

fn result(line: &str) -> Answer {
    match line.is_empty() {
        true => Answer::Unclear("the answer is empty".to_owned()),
        false => {
            Answer::Decision(Decision { message: Some(line.to_owned()), ..plain(DecisionKind::Respond) })
        }
    }
}

fn arguments(line: &str) -> Answer {
    match edited(line) {
        Ok(arguments) => {
            Answer::Decision(Decision { raw_arguments: Some(arguments), ..plain(DecisionKind::Edit) })
        }
        Err(failure) => Answer::Unclear(failure.what),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(line: &str, wanted: Wanted, decisions: &[&str]) -> Value {
        match answer(line, wanted, &json!({ "decisions": decisions })) {
            Answer::Decision(decision) => serde_json::to_value(decision).expect("plain data"),
            Answer::More(wanted) => json!(format!("{wanted:?}")),
            Answer::Unclear(why) => json!(why),
        }
    }

    #[test]
    fn a_letter_or_a_word_decides_and_what_stands_behind_it_counts() {
        for (line, expected) in [
            ("y", json!({"decision": "approve"})),
            ("YES", json!({"decision": "approve"})),
            ("a", json!({"decision": "approve", "always": true})),
            ("n", json!({"decision": "reject"})),
            ("no  not today", json!({"decision": "reject", "message": "not today"})),
            ("e", json!("Arguments")),
            ("e {\"a\":1}", json!({"decision": "edit", "arguments": {"a": 1}})),
            ("r", json!("Result")),
            ("r it is done", json!({"decision": "respond", "message": "it is done"})),
        ] {
            let decisions = ["approve", "edit", "reject", "respond"];
            assert_eq!(check(line, Wanted::Decision, &decisions), expected, "{line}");
        }
        let unclear = "answer with one of: y yes · a always · n no (n WHY tells the agent)";
        for line in ["sure", "e", "r", "y but slowly", ""] {
            assert_eq!(check(line, Wanted::Decision, &["approve", "reject"]), unclear, "{line}");
        }
    }

    #[test]
    fn a_question_takes_any_text() {
        let check = |line| check(line, Wanted::Decision, &["respond", "reject"]);
        assert_eq!(check("y"), json!({"decision": "respond", "message": "y"}));
        assert_eq!(check("no idea"), json!({"decision": "respond", "message": "no idea"}));
        assert_eq!(check("r it is 4"), json!({"decision": "respond", "message": "it is 4"}));
        assert_eq!(check("respond  r"), json!({"decision": "respond", "message": "r"}));
        assert_eq!(check("r"), json!("Result"));
        assert_eq!(check("n"), json!({"decision": "reject"}));
        assert_eq!(check(""), json!("the answer is empty"));
    }

    #[test]
    fn what_was_asked_for_behind_a_letter_may_be_a_no() {
        let check = |line, wanted| check(line, wanted, &[]);
        assert_eq!(check("{\"a\":1}", Wanted::Arguments), json!({"decision": "edit", "arguments": {"a": 1}}));
        assert_eq!(check("no", Wanted::Arguments), json!({"decision": "reject"}));
        assert_eq!(check("7", Wanted::Arguments), json!("the arguments must be a JSON object"));
        assert_eq!(check("done", Wanted::Result), json!({"decision": "respond", "message": "done"}));
        assert_eq!(check("n", Wanted::Result), json!({"decision": "reject"}));
    }
}
