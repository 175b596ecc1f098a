//! What a person types when a decision is asked for.

use riverrun_client::{Decision, DecisionKind};
use serde_json::Value;

use crate::cli::decide::{edited, plain};

/// What a line that was typed means.
#[derive(Debug)]
pub enum Answer {
    Decision(Decision),
    /// Other arguments come with the next line.
    Edits,
    Unclear(String),
}

/// True if the action takes this decision.
pub fn takes(request: &Value, decision: &str) -> bool {
    let known = request["decisions"].as_array();
    known.is_none_or(|known| known.iter().any(|known| known == decision))
}

/// What can be typed.
pub fn choices(request: &Value) -> &'static str {
    if takes(request, "approve") { "y yes · n no · e edit · a always" } else { "type the answer · n no" }
}

pub fn answer(line: &str, approves: bool) -> Answer {
    match line.to_ascii_lowercase().as_str() {
        "n" | "no" => Answer::Decision(plain(DecisionKind::Reject)),
        "y" | "yes" if approves => Answer::Decision(plain(DecisionKind::Approve)),
        "a" | "always" if approves => {
            Answer::Decision(Decision { always: Some(true), ..plain(DecisionKind::Approve) })
        }
        "e" | "edit" if approves => Answer::Edits,
        _ if approves => Answer::Unclear("answer y, n, e or a".to_owned()),
        "" => Answer::Unclear("the answer is empty".to_owned()),
        _ => Answer::Decision(Decision { message: Some(line.to_owned()), ..plain(DecisionKind::Respond) }),
    }
}

/// A line of other arguments.
pub fn edits(line: &str) -> Answer {
    if matches!(line.to_ascii_lowercase().as_str(), "n" | "no") {
        return Answer::Decision(plain(DecisionKind::Reject));
    }
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

    fn said(answer: Answer) -> Value {
        match answer {
            Answer::Decision(decision) => serde_json::to_value(decision).expect("plain data"),
            Answer::Edits => json!("edits"),
            Answer::Unclear(why) => json!(why),
        }
    }

    #[test]
    fn a_letter_or_a_word_decides() {
        for (line, expected) in [
            ("y", json!({"decision": "approve"})),
            ("YES", json!({"decision": "approve"})),
            ("a", json!({"decision": "approve", "always": true})),
            ("n", json!({"decision": "reject"})),
            ("e", json!("edits")),
            ("sure", json!("answer y, n, e or a")),
        ] {
            assert_eq!(said(answer(line, true)), expected, "{line}");
        }
    }

    #[test]
    fn a_question_takes_any_text() {
        assert_eq!(said(answer("y", false)), json!({"decision": "respond", "message": "y"}));
        assert_eq!(said(answer("n", false)), json!({"decision": "reject"}));
        assert_eq!(said(answer("", false)), json!("the answer is empty"));
    }

    #[test]
    fn other_arguments_are_json_or_a_no() {
        assert_eq!(said(edits("{\"a\":1}")), json!({"decision": "edit", "arguments": {"a": 1}}));
        assert_eq!(said(edits("no")), json!({"decision": "reject"}));
        assert!(matches!(edits("{"), Answer::Unclear(_)));
    }
}
