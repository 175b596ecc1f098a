//! What a process did, in one line.

use serde_json::Value;

/// The label and what stands behind it; None for what the call that runs it tells as well.
pub fn told(kind: &str, event: &Value) -> Option<(String, String)> {
    let payload = &event["payload"];
    let text = |name: &str| payload[name].as_str().unwrap_or_default();
    let line = |label: &str, said: String| Some((label.to_owned(), said));
    match kind {
        "process.started" => {
            let process = event["processId"].as_str().unwrap_or_default();
            line("process", format!("{process}  {}", text("commandSummary")))
        }
        "process.output" => {
            let said = payload["text"].as_str().unwrap_or(text("preview"));
            line(text("stream"), said.trim_end().to_owned())
        }
        "process.input" if payload["secret"] == true => line("stdin", format!("{} bytes", payload["size"])),
        "process.input" => line("stdin", text("text").trim_end().to_owned()),
        "process.terminated" => {
            line("terminated", format!("{}  {}", text("terminatedBy"), text("reason")).trim_end().to_owned())
        }
        "process.failed" => {
            line("failed", payload["error"]["message"].as_str().unwrap_or_default().to_owned())
        }
        _ => None,
    }
}
