//! The responses of a content stream.

use riverrun_event::Usage;
use serde_json::{Map, Value, json};

use crate::failure::failure;
use crate::stream::{Answer, Json, Protocol, protocol_error};
use crate::{Category, ItemKind, ModelError, StopReason};

pub(crate) struct Responses {
    provider: String,
    seed: String,
    /// The message or reasoning that parts are added to, and its signature.
    open: Option<(u32, ItemKind)>,
    signature: Option<Value>,
    calls: usize,
    usage: Usage,
    finish: Option<StopReason>,
}

impl Responses {
    pub fn new(provider: &str, seed: &str) -> Self {
        Self {
            provider: provider.to_owned(),
            seed: seed.to_owned(),
            open: None,
            signature: None,
            calls: 0,
            usage: Usage::default(),
            finish: None,
        }
    }

    fn part(&mut self, part: &Value, answer: &mut Answer) {
        if part["functionCall"].is_object() {
            self.call(part, answer);
        } else if let Some(text) = part["text"].as_str() {
            self.text(text, part["thought"] == true, answer);
            if !part["thoughtSignature"].is_null() {
                self.signature = Some(part["thoughtSignature"].clone());
            }
        } else if let Some(members) = part.as_object().filter(|members| !members.is_empty()) {
            let name = members.keys().find(|name| *name != "thoughtSignature").map_or("part", String::as_str);
            answer.vendor(name, part);
        }
    }

    fn text(&mut self, text: &str, is_thought: bool, answer: &mut Answer) {
        let kind = if is_thought { ItemKind::Reasoning } else { ItemKind::Message };
        let index = match &self.open {
            Some((index, open)) if *open == kind => *index,
            // An empty text at the end carries only the signature of what stands before.
            Some((index, _)) if text.is_empty() => *index,
            None if text.is_empty() => return,
            Some(_) | None => {
                self.close(answer);
                let index = answer.open(kind.clone());
                self.open = Some((index, kind));
                index
            }
        };
        match (text.is_empty(), is_thought) {
            (true, _) => {}
            (false, true) => answer.reasoning(index, Some(0), text),
            (false, false) => answer.text(index, text),
        }
    }

    fn close(&mut self, answer: &mut Answer) {
        let Some((index, kind)) = self.open.take() else { return };
        let signature = self.signature.take();
        let opaque = signature.map(|signature| match kind {
            ItemKind::Reasoning => json!({"thoughtSignature": signature}),
            ItemKind::Message | ItemKind::ToolCall { .. } | ItemKind::Hosted { .. } => {
                json!({ self.provider.clone(): {"thoughtSignature": signature} })
            }
        });
        answer.done(index, opaque);
    }

    fn call(&mut self, part: &Value, answer: &mut Answer) {
        let call = &part["functionCall"];
        let Some(name) = call["name"].as_str().filter(|name| !name.is_empty()) else {
            return answer.fail(protocol_error("a function call came without its name"));
        };
        if call["willContinue"] == true || call["partialArgs"].is_array() {
            return answer.fail(protocol_error("arguments came in parts, which was not asked for"));
        }
        self.close(answer);
        let own_id = call["id"].as_str();
        let call_id = own_id.map_or_else(|| format!("call_{}_{}", self.seed, self.calls), str::to_owned);
        self.calls += 1;
        let mut own = Map::new();
        for (name, value) in [("id", &call["id"]), ("thoughtSignature", &part["thoughtSignature"])] {
            if !value.is_null() {
                own.insert(name.to_owned(), value.clone());
            }
        }
        let index = answer.open(ItemKind::ToolCall { call_id, name: name.to_owned() });
        let arguments = if call["args"].is_null() { "{}".to_owned() } else { call["args"].to_string() };
        answer.arguments(index, &arguments);
        answer.done(index, (!own.is_empty()).then(|| json!({ self.provider.clone(): own })));
    }

    fn candidate(&mut self, candidate: &Value, answer: &mut Answer) {
        for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
            self.part(part, answer);
        }
        for name in ["citationMetadata", "groundingMetadata", "urlContextMetadata"] {
            if candidate[name].is_object() {
                answer.vendor(name, &candidate[name]);
            }
        }
        if let Some(reason) = candidate["finishReason"].as_str() {
            self.finish(reason, answer);
        }
    }

    fn finish(&mut self, reason: &str, answer: &mut Answer) {
        let stop = match reason {
            "STOP" => StopReason::End,
            "MAX_TOKENS" => StopReason::MaxTokens,
            "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "IMAGE_SAFETY" => {
                StopReason::ContentFilter
            }
            "MALFORMED_FUNCTION_CALL" | "MALFORMED_RESPONSE" | "UNEXPECTED_TOOL_CALL" => {
                let message = format!("the model's answer could not be read by its service: {reason}");
                let error = ModelError::new(Category::Server, message);
                return answer.fail(ModelError { code: Some(reason.to_owned()), ..error });
            }
            other => StopReason::Other(other.to_owned()),
        };
        self.close(answer);
        self.finish = Some(stop);
    }

    fn usage(&mut self, usage: &Value, answer: &mut Answer) {
        let paths = [
            "promptTokenCount",
            "toolUsePromptTokenCount",
            "cachedContentTokenCount",
            "candidatesTokenCount",
            "thoughtsTokenCount",
            "totalTokenCount",
        ];
        let [prompt, by_tools, cached_input_tokens, said, reasoning_tokens, total_tokens] =
            answer.counts(usage, paths);
        // Thoughts are counted apart there, and as output here.
        let output_tokens =
            said.or(reasoning_tokens).map(|_| said.unwrap_or(0) + reasoning_tokens.unwrap_or(0));
        let input_tokens = prompt.map(|prompt| prompt + by_tools.unwrap_or(0));
        self.usage = Usage {
            input_tokens,
            cached_input_tokens,
            cache_write_input_tokens: None,
            output_tokens,
            reasoning_tokens,
            total_tokens,
        };
    }
}

impl Protocol for Responses {
    fn frame(&mut self, frame: &Json, answer: &mut Answer) {
        let value = &frame.value;
        if value["error"].is_object() {
            return answer.fail(failure(None, value));
        }
        answer.started(frame.text("responseId"), frame.text("modelVersion"));
        if value["usageMetadata"].is_object() {
            self.usage(&value["usageMetadata"], answer);
        }
        if let Some(reason) = value["promptFeedback"]["blockReason"].as_str() {
            let message = format!("the service blocked the prompt: {reason}");
            let error = ModelError::new(Category::ContentFilter, message);
            return answer.fail(ModelError { code: Some(reason.to_owned()), ..error });
        }
        let candidates = value["candidates"].as_array().into_iter().flatten();
        for candidate in candidates.filter(|candidate| candidate["index"].as_u64().unwrap_or(0) == 0) {
            self.candidate(candidate, answer);
        }
    }

    fn end(&mut self, answer: &mut Answer) {
        if let Some(stop) = self.finish.take() {
            answer.complete(stop, self.usage.clone());
        }
    }
}
