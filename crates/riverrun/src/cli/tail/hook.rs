//! What a hook did, in one line.

use serde_json::Value;

use crate::cli::terminal::Mark;

/// How the line begins and goes on; None for a hook that changed nothing.
pub struct HookLine {
    pub mark: Mark,
    pub word: &'static str,
    pub said: String,
}

pub fn completed(payload: &Value) -> Option<HookLine> {
    let text = |name: &str| payload[name].as_str().unwrap_or_default();
    let about = [text("hookName"), text("toolName")].join("  ");
    let (about, reason) = (about.trim_end(), text("reason"));
    let line = |mark, word, said: String| Some(HookLine { mark, word, said: said.trim_end().to_owned() });
    let updated =
        [&payload["updatedInput"], &payload["updatedPrompt"]].into_iter().find(|value| !value.is_null());
    match text("outcome") {
        "block" | "deny" => line(Mark::Stopped, "blocked  ", format!("{about}  {reason}")),
        "ask" if updated.is_none() => line(Mark::Waiting, "hook asks", format!("{about}  {reason}")),
        _ if payload["updatedInputRef"].is_string() => {
            let after = updated.map_or_else(|| text("preview").to_owned(), Value::to_string);
            let said = match &payload["originalInput"] {
                Value::Null => format!("{about}  to {after}"),
                before => format!("{about}  {before} to {after}"),
            };
            line(Mark::Running, "rewritten", said)
        }
        _ if payload["updatedToolOutputRef"].is_string() => {
            line(Mark::Running, "replaced ", format!("{about}  {}", text("preview")))
        }
        _ if payload["suppressOutput"] == true => line(Mark::Running, "hidden   ", about.to_owned()),
        _ if payload["additionalContext"].is_string() => {
            line(Mark::Running, "hook adds", format!("{about}  {}", text("additionalContext")))
        }
        _ => None,
    }
}

pub fn failed(payload: &Value) -> HookLine {
    let name = payload["hookName"].as_str().unwrap_or_default();
    let why = payload["error"]["message"].as_str().unwrap_or_default();
    HookLine { mark: Mark::Failed, word: "hook failed", said: format!("{name}  {why}").trim_end().to_owned() }
}
