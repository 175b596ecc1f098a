//! What a person reads that no model wrote: the app's own texts, which the log holds, else the built-in ones.
//!
//! A text follows from the log and the reader's languages alone, so every projector writes the same bytes.

use std::collections::BTreeMap;

use riverrun_event::{ErrorInfo, RawJson};
use riverrun_fold::Status;
use serde_json::Value;

use crate::Languages;

/// The texts that an agent may replace, with what there is without it.
pub const TEXTS: &[(&str, &str, &str)] = &[
    (
        "stopped",
        "The user stopped the conversation. Send a new message to continue.",
        "Người dùng đã dừng cuộc trò chuyện. Gửi tin nhắn mới để tiếp tục",
    ),
    ("error", "Something went wrong. Please try again.", "Đã xảy ra lỗi. Vui lòng thử lại."),
    (
        "timeout",
        "This took too long and was stopped. Please try again.",
        "Quá thời gian xử lý. Vui lòng thử lại.",
    ),
    ("approval", "Approval is needed to continue.", "Cần phê duyệt để tiếp tục."),
    ("call_approval", "Allow “{label}”?", "Cho phép “{label}”?"),
    ("client_call", "“{label}” waits for its result.", "“{label}” đang chờ kết quả."),
    ("approval_timeout", "Nobody decided in time.", "Không có ai quyết định kịp thời."),
    ("file_processed", "Processed 1 file", "Đã xử lý 1 tệp"),
    ("files_processed", "Processed {count} files", "Đã xử lý {count} tệp"),
    ("file_failed", "The file could not be processed", "Không thể xử lý tệp"),
    ("files_failed", "Processed {count} files, {failed} failed", "Đã xử lý {count} tệp, {failed} tệp lỗi"),
];

/// Stands before the name of a tool whose label it is.
const TOOL: &str = "tool.";
/// The language of texts that are for every reader.
const DEFAULT: &str = "default";
/// Code points of a value that a template takes.
const LONGEST_VALUE: usize = 80;
/// Code points of a label.
const LONGEST_LABEL: usize = 300;

/// The texts of one turn for one reader.
pub(super) struct Texts {
    languages: Languages,
    own: BTreeMap<String, BTreeMap<String, String>>,
}

impl Texts {
    pub(super) fn new(languages: Languages, own: Option<&RawJson>) -> Self {
        Self { languages, own: own.and_then(|raw| raw.to().ok()).unwrap_or_default() }
    }

    /// The text with this name.
    pub(super) fn text(&self, name: &str) -> String {
        self.found(name, |language| built_in(language, name))
            .or_else(|| built_in("en", name).map(str::to_owned))
            .unwrap_or_default()
    }

    /// The text with values in it.
    pub(super) fn filled(&self, name: &str, values: &Value) -> String {
        fill(&self.text(name), values)
    }

    /// What a call is shown as: the tool's label with the call's arguments, else its name in words.
    pub(super) fn label(&self, tool: &str, arguments: &str) -> String {
        let Some(template) = self.found(&format!("{TOOL}{tool}"), |_| None) else {
            return tool.replace(['_', '-'], " ");
        };
        fill(&template, &serde_json::from_str(arguments).unwrap_or_default())
    }

    /// A language's own text goes before the built-in one in it; the default texts stand for English too.
    fn found<'a>(&'a self, name: &str, built_in: impl Fn(&str) -> Option<&'a str>) -> Option<String> {
        let own = |language: &str| self.own.get(language)?.get(name).map(String::as_str);
        for language in self.languages.iter() {
            let text = own(language.as_str()).or_else(|| own(language.base()));
            let text = text.or_else(|| own(DEFAULT).filter(|_| language.base() == "en"));
            if let Some(text) = text.or_else(|| built_in(language.base())) {
                return Some(text.to_owned());
            }
        }
        own(DEFAULT).map(str::to_owned)
    }
}

fn built_in(language: &str, name: &str) -> Option<&'static str> {
    let (_, english, vietnamese) = TEXTS.iter().find(|(known, ..)| *known == name)?;
    match language {
        "en" => Some(english),
        "vi" => Some(vietnamese),
        _ => None,
    }
}

/// Puts values for `{name}` and `{name.member}`; nothing for those that are not there.
fn fill(template: &str, values: &Value) -> String {
    let (mut out, mut remaining) = (String::new(), template);
    while let Some((before, behind)) = remaining.split_once('{') {
        out.push_str(before);
        let Some((path, after)) = behind.split_once('}') else {
            out.push('{');
            remaining = behind;
            continue;
        };
        out.push_str(&shown(path.split('.').try_fold(values, |value, name| value.get(name))));
        remaining = after;
    }
    out.push_str(remaining);
    out.chars().take(LONGEST_LABEL).collect()
}

fn shown(value: Option<&Value>) -> String {
    let text = match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let mut visible = text.chars().filter(|c| !c.is_control());
    let cut: String = visible.by_ref().take(LONGEST_VALUE).collect();
    if visible.next().is_some() { format!("{cut}…") } else { cut }
}

/// Why a turn ended badly, in the protocol's words.
pub(super) fn error_code(status: Status, error: Option<&ErrorInfo>) -> &'static str {
    let member = |member: fn(&ErrorInfo) -> Option<&String>| error.and_then(member).map(String::as_str);
    let (code, category) = (member(|error| error.code.as_ref()), member(|error| error.category.as_ref()));
    match (status, code) {
        (Status::TimedOut, _) | (_, Some("max_time_exceeded")) => "TIMEOUT",
        (Status::Lost, _) | (_, Some("interrupted" | "too_many_attempts")) => "INTERRUPTED",
        (_, Some("action_timeout")) => "APPROVAL_TIMEOUT",
        (_, Some("max_turns_exceeded")) => "MAX_TURNS",
        (_, Some("max_cost_exceeded" | "max_tokens_exceeded" | "cost_unknown")) => "BUDGET_EXCEEDED",
        (_, Some("guardrail_tripped" | "hook_blocked" | "content_filter")) => "GUARDRAIL",
        (_, Some("unknown_tool" | "hook_failed")) => "TOOL_ERROR",
        (_, Some("unknown_agent")) => "AGENT_NOT_FOUND",
        (
            _,
            Some("model_failed" | "context_too_long" | "answer_cut" | "output_mismatch" | "answer_too_large"),
        ) => "LLM_ERROR",
        (_, Some("server_error" | "provider_error" | "overloaded" | "rate_limit")) => "LLM_ERROR",
        _ if category == Some("tool") => "TOOL_ERROR",
        _ if category.is_some_and(is_of_model) => "LLM_ERROR",
        _ => "AGENT_ERROR",
    }
}

/// The kinds of failure of a model's service.
fn is_of_model(category: &str) -> bool {
    matches!(
        category,
        "provider"
            | "connection"
            | "truncated"
            | "timeout"
            | "rate_limit"
            | "overloaded"
            | "server_error"
            | "authentication"
            | "quota"
            | "invalid_request"
            | "model_not_found"
            | "context_too_long"
            | "protocol"
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn texts(languages: &str) -> Texts {
        let own = json!({
            "default": {"tool.find": "Searching {query}", "stopped": "Halt."},
            "vi": {"tool.find": "Tìm {query}"}, "fr": {"error": "Erreur."},
        });
        Texts::new(Languages::accepted(languages), RawJson::of(&own).ok().as_ref())
    }

    #[test]
    fn the_apps_text_in_the_readers_language_comes_first() {
        let check = |languages: &str, name: &str, wanted: &str| {
            assert_eq!(texts(languages).text(name), wanted, "{languages}: {name}");
        };
        check("", "stopped", "Halt.");
        check("en", "stopped", "Halt.");
        check("vi-VN", "stopped", built_in("vi", "stopped").expect("it is built in"));
        check("fr", "error", "Erreur.");
        check("fr, vi;q=0.5", "timeout", built_in("vi", "timeout").expect("it is built in"));
        check("fr", "timeout", built_in("en", "timeout").expect("it is built in"));
    }

    #[test]
    fn a_label_takes_the_arguments_of_its_call() {
        let check = |languages: &str, tool: &str, arguments: &str, wanted: &str| {
            assert_eq!(texts(languages).label(tool, arguments), wanted, "{tool} {arguments}");
        };
        check("", "find", r#"{"query":"VNM"}"#, "Searching VNM");
        check("vi", "find", r#"{"query":5}"#, "Tìm 5");
        check("", "find", "not JSON", "Searching ");
        check("", "find", "{\"query\":\"a\\nb\"}", "Searching ab");
        check("", "read_file", "{}", "read file");
        assert_eq!(fill("{a.b} {{x} {", &json!({"a": {"b": true}})), "true  {");
        assert_eq!(fill("{a}", &json!({"a": "x".repeat(90)})), format!("{}…", "x".repeat(80)));
    }
}
