//! The responses of a content stream.

use std::collections::BTreeMap;

use riverrun_event::{AudioBlock, Block, FileBlock, ImageBlock, ImageUrl, Usage};
use serde_json::{Map, Value, json};

use crate::failure::failure;
use crate::stream::{Answer, Json, Protocol, protocol_error};
use crate::{Category, ItemKind, ModelError, StopReason};

pub(crate) struct Responses {
    provider: String,
    seed: String,
    /// The message or reasoning that parts are added to, and the signatures of its blocks.
    open: Option<(u32, ItemKind)>,
    signatures: BTreeMap<usize, Value>,
    /// The open item's blocks so far. A text grows until a picture, a sound or a file follows it.
    blocks: usize,
    is_text: bool,
    calls: usize,
    usage: Usage,
    finish: Option<StopReason>,
}

/// The member of a part that proves where it comes from.
const SIGNATURE: &str = "thoughtSignature";
/// Where the signatures of a message's earlier blocks are kept, by their place.
pub(super) const SIGNATURES: &str = "thoughtSignatures";

impl Responses {
    pub fn new(provider: &str, seed: &str) -> Self {
        Self {
            provider: provider.to_owned(),
            seed: seed.to_owned(),
            open: None,
            signatures: BTreeMap::new(),
            blocks: 0,
            is_text: false,
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
            self.sign(part);
        } else if let Some(block) = content(&part["inlineData"]).filter(|_| part["thought"] != true) {
            let index = self.item(ItemKind::Message, answer);
            answer.block(index, block);
            (self.blocks, self.is_text) = (self.blocks + 1, false);
            self.sign(part);
        } else if let Some(members) = part.as_object().filter(|members| !members.is_empty()) {
            let name = members.keys().find(|name| *name != "thoughtSignature").map_or("part", String::as_str);
            answer.vendor(name, part);
        }
    }

    fn text(&mut self, text: &str, is_thought: bool, answer: &mut Answer) {
        // An empty text at the end carries only the signature of what stands before.
        if text.is_empty() {
            return;
        }
        let kind = if is_thought { ItemKind::Reasoning } else { ItemKind::Message };
        let index = self.item(kind, answer);
        self.blocks += usize::from(!std::mem::replace(&mut self.is_text, true));
        match is_thought {
            true => answer.reasoning(index, Some(0), text),
            false => answer.text(index, text),
        }
    }

    /// The open item, which is of this kind from now on.
    fn item(&mut self, kind: ItemKind, answer: &mut Answer) -> u32 {
        if let Some((index, _)) = self.open.as_ref().filter(|(_, open)| *open == kind) {
            return *index;
        }
        self.close(answer);
        let index = answer.open(kind.clone());
        self.open = Some((index, kind));
        index
    }

    /// A signature belongs to the block that it comes with, or behind.
    fn sign(&mut self, part: &Value) {
        if let Some(newest) = self.blocks.checked_sub(1).filter(|_| !part["thoughtSignature"].is_null()) {
            self.signatures.insert(newest, part["thoughtSignature"].clone());
        }
    }

    fn close(&mut self, answer: &mut Answer) {
        let Some((index, kind)) = self.open.take() else { return };
        let mut signatures = std::mem::take(&mut self.signatures);
        let last = signatures.remove(&std::mem::take(&mut self.blocks).saturating_sub(1));
        self.is_text = false;
        let mut own: Map<String, Value> = last.map(|last| (SIGNATURE.to_owned(), last)).into_iter().collect();
        if !signatures.is_empty() {
            let by_place =
                signatures.into_iter().map(|(position, signature)| (position.to_string(), signature));
            own.insert(SIGNATURES.to_owned(), Value::Object(by_place.collect()));
        }
        let opaque = (!own.is_empty()).then(|| match kind {
            ItemKind::Reasoning => Value::Object(own),
            ItemKind::Message | ItemKind::ToolCall { .. } | ItemKind::Hosted { .. } => {
                json!({ self.provider.clone(): own })
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
        let own_id = call["id"].as_str().filter(|id| !id.is_empty());
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
        // Some servers say so in every chunk: what comes behind it goes on with the open item.
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
        let [prompt, by_tools, cached_input_tokens, answer_tokens, reasoning_tokens, total_tokens] =
            answer.counts(usage, paths);
        // Thoughts are counted apart there, and as output here.
        let output_tokens = answer_tokens
            .or(reasoning_tokens)
            .map(|_| answer_tokens.unwrap_or(0) + reasoning_tokens.unwrap_or(0));
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

/// What the user sees of bytes in an answer. None if there are none.
fn content(inline: &Value) -> Option<Block> {
    let (media_type, data) = (inline["mimeType"].as_str()?, inline["data"].as_str()?.to_owned());
    let named = Some(media_type.to_owned());
    Some(match media_type.split('/').next().unwrap_or_default() {
        "image" => {
            let url = format!("data:{media_type};base64,{data}");
            let image_url = Some(ImageUrl { url, detail: None });
            Block::Image(ImageBlock { image_url, media_type: named, ..ImageBlock::default() })
        }
        "audio" => Block::Audio(AudioBlock { data: Some(data), media_type: named, ..AudioBlock::default() }),
        _ => {
            let name = inline["displayName"].as_str().map(ToOwned::to_owned);
            Block::File(FileBlock { data: Some(data), media_type: named, name, ..FileBlock::default() })
        }
    })
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
            self.close(answer);
            answer.complete(stop, self.usage.clone());
        }
    }
}
