//! The blocks' contents.

use riverrun_event::{Block, Item, cut_size, cut_text};
use riverrun_fold::{ItemAt, State};
use serde_json::{Value, json};

use super::texts::Texts;
use crate::follow::{
    EncodeContext, is_child, is_failed, item, parent_call, result_texts, shown_blocks, turn,
};

/// Code points of a result that are sent.
const SHOWN: usize = 500;

/// The texts of the projected turn, for this reader.
pub(super) fn texts(context: &EncodeContext<'_>) -> Texts {
    let own = turn(context.state, context.turn).and_then(|turn| turn.texts.as_ref());
    Texts::new(context.options.languages, own)
}

/// Adds whose block it is: null for the agent that the user talks to.
pub(super) fn owned(context: &EncodeContext<'_>, task: usize, mut block: Value) -> Value {
    let of = &context.state.tasks[task];
    let is_child = is_child(context.state, task);
    block["subagent"] = json!(is_child.then(|| of.agent.as_deref().unwrap_or(of.task_id.as_str())));
    block["parent_tool_use_id"] = json!(is_child.then(|| parent_call(of)));
    block
}

/// Arguments that are not a JSON object are sent as they were written.
pub(super) fn tool_use(context: &EncodeContext<'_>, at: ItemAt) -> Value {
    let Item::ToolCall(call) = item(context.state, at) else { return Value::Null };
    let label = texts(context).label(&call.name, &call.arguments);
    let mut block = json!({
        "type": "tool_use", "id": call.call_id, "tool_use_id": call.call_id, "name": call.name,
        "tool_content_message": label, "input": {},
    });
    match serde_json::from_str::<Value>(&call.arguments) {
        Ok(input) if input.is_object() => block["input"] = input,
        Ok(_) | Err(_) if !call.arguments.is_empty() => block["input_raw"] = json!(call.arguments),
        Ok(_) | Err(_) => {}
    }
    owned(context, at.task, block)
}

pub(super) fn tool_result(context: &EncodeContext<'_>, at: ItemAt) -> Value {
    let shown = item(context.state, at);
    let Item::ToolResult(result) = shown else { return Value::Null };
    let output = &context.state.tasks[at.task].output;
    let name = output.iter().find_map(|item| match item {
        Item::ToolCall(call) if call.call_id == result.call_id => Some(call.name.as_str()),
        _ => None,
    });
    let status = if is_failed(context.state, shown) { "error" } else { "success" };
    let artifacts = artifacts(shown);
    let text = ResultText::of(context.state, shown);
    let mut block = json!({
        "type": "tool_result", "tool_use_id": result.call_id, "name": name.unwrap_or_default(),
        "status": status, "content": text.start(SHOWN), "artifact": artifacts.first(),
    });
    if !artifacts.is_empty() {
        block["artifacts"] = json!(artifacts);
    }
    text.put_reference(SHOWN, &mut block);
    owned(context, at.task, block)
}

/// What a result has besides text, in the protocol's spelling.
pub(super) fn artifacts(item: &Item) -> Vec<Value> {
    let others = shown_blocks(item).iter().filter(|block| !matches!(block, Block::Text(_)));
    others.map(artifact).collect()
}

/// A block with the protocol's names of members. What is opaque in it stays as it is.
pub(super) fn artifact(block: &Block) -> Value {
    match block {
        Block::Other(opaque) => opaque.with_ref_id_as("ref_id").to().unwrap_or_default(),
        known => snake_case(serde_json::to_value(known).unwrap_or_default()),
    }
}

fn snake_case(value: Value) -> Value {
    let Value::Object(members) = value else { return value };
    let member = |(name, value): (String, Value)| {
        let value = match name.as_str() {
            "imageUrl" | "item" => snake_case(value),
            "annotations" | "blockList" | "content" | "summary" => match value {
                Value::Array(list) => list.into_iter().map(snake_case).collect(),
                other => other,
            },
            _ => value,
        };
        let mut snake = String::with_capacity(name.len() + 2);
        for c in name.chars() {
            if c.is_ascii_uppercase() {
                snake.push('_');
            }
            snake.push(c.to_ascii_lowercase());
        }
        (snake, value)
    };
    Value::Object(members.into_iter().map(member).collect())
}

/// The text of a result: what the state has of it, how large the whole is, and where that is.
pub(super) struct ResultText {
    text: String,
    /// Bytes of the whole text.
    size: u64,
    /// True if the log's events hold a part of it alone.
    is_cut: bool,
    /// Where the whole text is: a route that everybody has who may read the session, a web page too.
    whole: Option<String>,
}

impl ResultText {
    pub(super) fn of(state: &State, item: &Item) -> Self {
        let Item::ToolResult(result) = item else { return Self::empty() };
        let (mut text, mut size, mut is_cut) = (String::new(), 0, false);
        for (at, part) in result_texts(item).into_iter().enumerate() {
            if at > 0 {
                text.push('\n');
                size += 1;
            }
            let cut = cut_text(part).zip(cut_size(part));
            is_cut |= cut.is_some();
            let ((start, _), bytes) = cut.unwrap_or(((part, ""), part.len() as u64));
            text.push_str(start);
            size += bytes;
        }
        let session = state.session_id.as_ref().map_or("", |id| id.as_str());
        let whole = format!("/v2/sessions/{session}/results/{}", result.call_id);
        Self { text, size, is_cut, whole: Some(whole) }
    }

    fn empty() -> Self {
        Self { text: String::new(), size: 0, is_cut: false, whole: None }
    }

    pub(super) fn start(&self, most: usize) -> &str {
        self.text.char_indices().nth(most).map_or(self.text.as_str(), |(end, _)| &self.text[..end])
    }

    /// Says of a text that is not shown whole how large it is and where to fetch it.
    pub(super) fn put_reference(&self, most: usize, block: &mut Value) {
        if !self.is_cut && self.start(most).len() == self.text.len() {
            return;
        }
        block["truncated"] = json!(true);
        block["size"] = json!(self.size);
        block["content_ref"] = json!(self.whole);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_artifact_of_an_unknown_type_has_its_number_in_snake_case() {
        let opaque = json!({"type": "plotly-json", "data": {"layoutX": 1}, "refId": 2});
        let block: Block = serde_json::from_value(opaque).expect("a block");
        assert_eq!(artifact(&block), json!({"type": "plotly-json", "data": {"layoutX": 1}, "ref_id": 2}));
    }
}
