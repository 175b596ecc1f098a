//! What became of a file of the input, in one line.

use serde_json::Value;

/// The file, its type, and how much of it there is.
pub fn completed(payload: &Value) -> String {
    let size = payload["size"].as_u64().map(|size| format!("{size} bytes"));
    let pages = payload["pages"].as_u64().map(|pages| format!("{pages} pages"));
    let media_type = payload["mediaType"].as_str().map(str::to_owned);
    let cut = (payload["truncated"] == true).then(|| "text cut".to_owned());
    let facts: Vec<String> = [media_type, size, pages, cut].into_iter().flatten().collect();
    format!("{}  {}", name(payload), facts.join(", "))
}

pub fn failed(payload: &Value) -> String {
    format!("{}  {}", name(payload), payload["error"]["message"].as_str().unwrap_or_default())
}

fn name(payload: &Value) -> &str {
    [&payload["name"], &payload["url"]].into_iter().find_map(Value::as_str).unwrap_or("unnamed")
}
