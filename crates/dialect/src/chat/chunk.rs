//! The JSON of chunks and completions.

use std::collections::BTreeMap;

use riverrun_event::{RawJson, Usage};

use super::{Called, Delta, WholeMessage, completion_id};
use crate::members::{Members, write_list};
use crate::turn::View;

/// What every chunk of one completion has.
pub(super) struct Chunk {
    id: String,
    created: u64,
    model: String,
    service_model: Option<String>,
}

impl Chunk {
    pub(super) fn of(view: &View<'_>) -> Self {
        Self {
            id: completion_id(&view.turn.turn_id),
            created: view.created(),
            model: view.model(),
            service_model: view.service_model().map(str::to_owned),
        }
    }

    pub(super) fn role(&self, out: &mut String) {
        self.choice(out, None, &[], &BTreeMap::new(), |delta| {
            delta.text("role", "assistant");
            delta.text("content", "");
        });
    }

    pub(super) fn delta(&self, out: &mut String, news: &Delta<'_>) {
        let odds = match news {
            Delta::Content(_, odds) => *odds,
            _ => &[],
        };
        self.choice(out, None, odds, &BTreeMap::new(), |delta| match news {
            Delta::Reasoning(text) => delta.text("reasoning_content", text),
            Delta::Content(text, _) => delta.text("content", text),
            Delta::Refusal(text) => delta.text("refusal", text),
            Delta::Call(index, item) => call(delta, *index, |call| {
                call.text("id", &item.call_id);
                call.text("type", "function");
                call.with("function", |out| write_function(out, Some(&item.name), ""));
            }),
            Delta::Arguments(index, text) => call(delta, *index, |call| {
                call.with("function", |out| write_function(out, None, text));
            }),
            Delta::Other(index, words) | Delta::OtherWhole(index, words) => {
                call(delta, *index, |call| call.all(words));
            }
            Delta::Beside(words) | Delta::BesideWhole(words) => delta.all(words),
        });
    }

    /// `service` has the service's own members of its answer.
    pub(super) fn finish(&self, out: &mut String, reason: &str, service: &BTreeMap<String, RawJson>) {
        self.choice(out, Some(reason), &[], service, |_| {});
    }

    /// `raw_usage` is the service's own usage object.
    pub(super) fn usage(
        &self,
        out: &mut String,
        usage: &Usage,
        raw_usage: Option<&str>,
        service: &BTreeMap<String, RawJson>,
    ) {
        let mut members = Members::open(out);
        self.head(&mut members, "chat.completion.chunk");
        members.raw("choices", "[]");
        members.with("usage", |out| write_usage(out, usage, raw_usage));
        self.tail(&mut members, service);
        members.close();
    }

    /// The service's own members of its answer.
    fn tail(&self, members: &mut Members<'_>, service: &BTreeMap<String, RawJson>) {
        let of_answer = service.iter().filter(|(name, _)| name.as_str() != CHOICE);
        of_answer.for_each(|(name, value)| members.raw_with_name(name, value.get()));
        if !service.is_empty() {
            members.maybe_text("riverrun_model", self.service_model.as_deref());
        }
    }

    fn head(&self, members: &mut Members<'_>, object: &str) {
        members.text("id", &self.id);
        members.text("object", object);
        members.number("created", self.created);
        members.text("model", &self.model);
    }

    fn choice(
        &self,
        out: &mut String,
        finish: Option<&str>,
        odds: &[RawJson],
        service: &BTreeMap<String, RawJson>,
        write: impl FnOnce(&mut Members<'_>),
    ) {
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
            if !odds.is_empty() {
                choice.with("logprobs", |out| write_logprobs(out, odds));
            }
            write_finish(&mut choice, finish);
            service.get(CHOICE).into_iter().for_each(|own| choice.all(own));
            choice.close();
            out.push(']');
        });
        self.tail(&mut members, service);
        members.close();
    }
}

/// The member under which the provider keeps what the service says of its one choice.
const CHOICE: &str = "choices";

fn write_logprobs(out: &mut String, odds: &[RawJson]) {
    let mut members = Members::open(out);
    members.with("content", |out| write_list(out, odds, |out, one| out.push_str(one.get())));
    members.raw("refusal", "null");
    members.close();
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

fn write_usage(out: &mut String, usage: &Usage, raw_usage: Option<&str>) {
    if let Some(raw_usage) = raw_usage {
        return out.push_str(raw_usage);
    }
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

/// The completion as one object.
pub(super) fn write_object(out: &mut String, view: &View<'_>, message: &WholeMessage, finish: Option<&str>) {
    let mut members = Members::open(out);
    let chunk = Chunk::of(view);
    chunk.head(&mut members, "chat.completion");
    let mut service = view.service_members("chat");
    members.with("choices", |out| {
        out.push('[');
        let mut choice = Members::open(out);
        choice.number("index", 0);
        choice.with("message", |out| write_message(out, message));
        write_finish(&mut choice, finish);
        match message.odds.as_slice() {
            [] => choice.raw("logprobs", "null"),
            odds => choice.with("logprobs", |out| write_logprobs(out, odds)),
        }
        service.get(CHOICE).into_iter().for_each(|own| choice.all(own));
        choice.close();
        out.push(']');
    });
    let usage = service.remove("usage");
    members.with("usage", |out| write_usage(out, &view.turn.usage, usage.as_ref().map(RawJson::get)));
    chunk.tail(&mut members, &service);
    members.close();
}

fn write_message(out: &mut String, message: &WholeMessage) {
    let WholeMessage { content, refusal, reasoning, calls, beside, .. } = message;
    let mut message = Members::open(out);
    message.text("role", "assistant");
    if content.is_empty() && !(calls.is_empty() && refusal.is_empty()) {
        message.raw("content", "null");
    } else {
        message.text("content", content);
    }
    match refusal.as_str() {
        "" => message.raw("refusal", "null"),
        refusal => message.text("refusal", refusal),
    }
    message.maybe_text("reasoning_content", Some(reasoning.as_str()).filter(|text| !text.is_empty()));
    if !calls.is_empty() {
        message.with("tool_calls", |out| {
            write_list(out, calls, |out, call| match call {
                Called::Function { id, name, arguments } => {
                    let mut call = Members::open(out);
                    call.text("id", id);
                    call.text("type", "function");
                    call.with("function", |out| write_function(out, Some(name), arguments));
                    call.close();
                }
                Called::Other(whole) => out.push_str(whole.get()),
            });
        });
    }
    beside.iter().for_each(|own| message.all(own));
    message.close();
}
