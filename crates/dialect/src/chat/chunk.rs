//! The JSON of chunks and completions.

use riverrun_event::Usage;

use super::{Delta, completion_id};
use crate::members::{Members, write_list};
use crate::turn::View;

/// What every chunk of one completion has.
pub(super) struct Chunk {
    id: String,
    created: u64,
    model: String,
}

impl Chunk {
    pub(super) fn of(view: &View<'_>) -> Self {
        Self { id: completion_id(&view.turn.turn_id), created: view.created(), model: view.model() }
    }

    pub(super) fn role(&self, out: &mut String) {
        self.choice(out, None, |delta| {
            delta.text("role", "assistant");
            delta.text("content", "");
        });
    }

    pub(super) fn delta(&self, out: &mut String, news: &Delta<'_>) {
        self.choice(out, None, |delta| match news {
            Delta::Reasoning(text) => delta.text("reasoning_content", text),
            Delta::Content(text) => delta.text("content", text),
            Delta::Call(index, item) => call(delta, *index, |call| {
                call.text("id", &item.call_id);
                call.text("type", "function");
                call.with("function", |out| write_function(out, Some(&item.name), ""));
            }),
            Delta::Arguments(index, text) => call(delta, *index, |call| {
                call.with("function", |out| write_function(out, None, text));
            }),
        });
    }

    pub(super) fn finish(&self, out: &mut String, reason: &str) {
        self.choice(out, Some(reason), |_| {});
    }

    pub(super) fn usage(&self, out: &mut String, usage: &Usage) {
        let mut members = Members::open(out);
        self.head(&mut members, "chat.completion.chunk");
        members.raw("choices", "[]");
        members.with("usage", |out| write_usage(out, usage));
        members.close();
    }

    fn head(&self, members: &mut Members<'_>, object: &str) {
        members.text("id", &self.id);
        members.text("object", object);
        members.number("created", self.created);
        members.text("model", &self.model);
    }

    fn choice(&self, out: &mut String, finish: Option<&str>, write: impl FnOnce(&mut Members<'_>)) {
        let mut members = Members::open(out);
        self.head(&mut members, "chat.completion.chunk");
        members.with("choices", |out| {
            out.push('[');
            let mut choice = Members::open(out);
            choice.number("index", 0);
            choice.with("delta", |out| {
                let mut delta = Members::open(out);
                write(&mut delta);
                delta.close();
            });
            write_finish(&mut choice, finish);
            choice.close();
            out.push(']');
        });
        members.close();
    }
}

fn write_finish(choice: &mut Members<'_>, finish: Option<&str>) {
    match finish {
        Some(reason) => choice.text("finish_reason", reason),
        None => choice.raw("finish_reason", "null"),
    }
}

fn call(delta: &mut Members<'_>, index: usize, write: impl FnOnce(&mut Members<'_>)) {
    delta.with("tool_calls", |out| {
        out.push('[');
        let mut call = Members::open(out);
        call.number("index", index as u64);
        write(&mut call);
        call.close();
        out.push(']');
    });
}

fn write_function(out: &mut String, name: Option<&str>, arguments: &str) {
    let mut function = Members::open(out);
    function.maybe_text("name", name);
    function.text("arguments", arguments);
    function.close();
}

fn write_usage(out: &mut String, usage: &Usage) {
    let (input, output) = (usage.input_tokens.unwrap_or(0), usage.output_tokens.unwrap_or(0));
    let mut members = Members::open(out);
    members.number("prompt_tokens", input);
    members.number("completion_tokens", output);
    members.number("total_tokens", usage.total_tokens.unwrap_or(input + output));
    if let Some(cached) = usage.cached_input_tokens {
        members.raw("prompt_tokens_details", &format!("{{\"cached_tokens\":{cached}}}"));
    }
    if let Some(reasoning) = usage.reasoning_tokens {
        members.raw("completion_tokens_details", &format!("{{\"reasoning_tokens\":{reasoning}}}"));
    }
    members.close();
}

/// The completion as one object. Calls are (id, name, arguments).
pub(super) fn write_object(
    out: &mut String,
    view: &View<'_>,
    content: &str,
    reasoning: &str,
    calls: &[(String, String, String)],
    finish: Option<&str>,
) {
    let mut members = Members::open(out);
    Chunk::of(view).head(&mut members, "chat.completion");
    members.with("choices", |out| {
        out.push('[');
        let mut choice = Members::open(out);
        choice.number("index", 0);
        choice.with("message", |out| write_message(out, content, reasoning, calls));
        write_finish(&mut choice, finish);
        choice.raw("logprobs", "null");
        choice.close();
        out.push(']');
    });
    members.with("usage", |out| write_usage(out, &view.turn.usage));
    members.close();
}

fn write_message(out: &mut String, content: &str, reasoning: &str, calls: &[(String, String, String)]) {
    let mut message = Members::open(out);
    message.text("role", "assistant");
    if content.is_empty() && !calls.is_empty() {
        message.raw("content", "null");
    } else {
        message.text("content", content);
    }
    message.raw("refusal", "null");
    message.maybe_text("reasoning_content", Some(reasoning).filter(|text| !text.is_empty()));
    if !calls.is_empty() {
        message.with("tool_calls", |out| {
            write_list(out, calls, |out, (id, name, arguments)| {
                let mut call = Members::open(out);
                call.text("id", id);
                call.text("type", "function");
                call.with("function", |out| write_function(out, Some(name), arguments));
                call.close();
            });
        });
    }
    message.close();
}
