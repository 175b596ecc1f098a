//! The JSON of responses and their parts.

use riverrun_event::{ToolCallItem, Usage, json};

use crate::members::Members;
use crate::turn::View;

/// What every response of one stream has.
pub(super) struct Chunk<'a> {
    model: String,
    id: String,
    usage: &'a Usage,
}

impl<'a> Chunk<'a> {
    pub(super) fn of(view: &View<'a>) -> Self {
        Self { model: view.model(), id: view.turn.turn_id.to_string(), usage: &view.turn.usage }
    }

    /// One part, and the place behind it.
    pub(super) fn part(&self, out: &mut String, part: &str, token: Option<&str>) {
        self.write(out, part, None, token);
    }

    /// The last response has a reason and no token.
    pub(super) fn finish(&self, out: &mut String, part: &str, reason: &str) {
        self.write(out, part, Some(reason), None);
    }

    pub(super) fn whole(&self, parts: &str, reason: Option<&str>) -> String {
        let mut out = String::new();
        self.write(&mut out, parts, reason, None);
        out
    }

    fn write(&self, out: &mut String, parts: &str, reason: Option<&str>, token: Option<&str>) {
        let mut members = Members::open(out);
        members.with("candidates", |out| {
            out.push('[');
            let mut candidate = Members::open(out);
            candidate.raw("content", &format!("{{\"role\":\"model\",\"parts\":[{parts}]}}"));
            candidate.maybe_text("finishReason", reason);
            candidate.number("index", 0);
            candidate.maybe_text("continuationToken", token);
            candidate.close();
            out.push(']');
        });
        if reason.is_some() {
            members.with("usageMetadata", |out| write_usage(out, self.usage));
        }
        members.text("modelVersion", &self.model);
        members.text("responseId", &self.id);
        members.close();
    }
}

/// Thoughts are counted apart from the answer here.
fn write_usage(out: &mut String, usage: &Usage) {
    let (input, output) = (usage.input_tokens.unwrap_or(0), usage.output_tokens.unwrap_or(0));
    let thoughts = usage.reasoning_tokens.unwrap_or(0);
    let mut members = Members::open(out);
    members.number("promptTokenCount", input);
    members.number("candidatesTokenCount", output.saturating_sub(thoughts));
    members.number("thoughtsTokenCount", thoughts);
    members.maybe_number("cachedContentTokenCount", usage.cached_input_tokens.filter(|count| *count > 0));
    members.number("totalTokenCount", usage.total_tokens.unwrap_or(input + output));
    members.close();
}

pub(super) fn write_text(text: &str, is_thought: bool) -> String {
    let mut out = String::new();
    let mut members = Members::open(&mut out);
    members.text("text", text);
    if is_thought {
        members.flag("thought", true);
    }
    members.close();
    out
}

pub(super) fn write_signature(signature: &str) -> String {
    let mut out = String::new();
    let mut members = Members::open(&mut out);
    members.text("text", "");
    members.flag("thought", true);
    members.text("thoughtSignature", signature);
    members.close();
    out
}

/// Arguments that are no object (a call that was cut) are none at all.
pub(super) fn write_call(call: &ToolCallItem) -> String {
    let is_object = call.arguments.trim_start().starts_with('{');
    let arguments = json::compact(call.arguments.as_bytes(), &json::JsonLimits::default()).ok();
    let mut out = String::new();
    let mut members = Members::open(&mut out);
    members.with("functionCall", |out| {
        let mut function = Members::open(out);
        function.text("id", &call.call_id);
        function.text("name", &call.name);
        function.raw("args", arguments.as_deref().filter(|_| is_object).unwrap_or("{}"));
        function.close();
    });
    members.close();
    out
}

/// Adds a part, joined with the last one where both are text of the same kind.
pub(super) fn append(parts: &mut Vec<String>, part: &str) {
    let plain = |part: &str| {
        let value: serde_json::Value = serde_json::from_str(part).ok()?;
        let is_plain = value.get("thoughtSignature").is_none();
        let text = value.get("text")?.as_str()?.to_owned();
        is_plain.then(|| (text, value.get("thought").is_some()))
    };
    match (parts.last().and_then(|last| plain(last)), plain(part)) {
        (Some((before, was_thought)), Some((news, is_thought))) if was_thought == is_thought => {
            parts.pop();
            parts.push(write_text(&format!("{before}{news}"), is_thought));
        }
        _ => parts.push(part.to_owned()),
    }
}
