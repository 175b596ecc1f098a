//! From what an MCP server answers to what its tool gives back.

use riverrun_event::{AudioBlock, Block, FileBlock};
use serde_json::Value;

use crate::ToolOutput;
use crate::http::body::image;

/// The model and the user see the same, except for what a model cannot read: it is told what came instead. Text
/// beyond the limit is cut.
pub(super) fn output(result: &Value, limit: usize) -> Option<ToolOutput> {
    let structured = result.get("structuredContent").filter(|value| !value.is_null()).cloned();
    let entries = result.get("content").and_then(Value::as_array);
    if entries.is_none() && structured.is_none() {
        return None;
    }
    let mut output = ToolOutput {
        is_error: result.get("isError").and_then(Value::as_bool).unwrap_or(false),
        ..ToolOutput::default()
    };
    let mut room = limit;
    for entry in entries.into_iter().flatten() {
        let (part, block) = convert(entry);
        let (part, block) = (cut(part, &mut room), block);
        output.block_list.push(block.unwrap_or_else(|| part.clone()));
        output.content.push(part);
    }
    if output.content.is_empty()
        && let Some(structured) = &structured
    {
        let part = cut(Block::plain(structured.to_string()), &mut room);
        output.content.push(part.clone());
        output.block_list.push(part);
    }
    output.structured = structured;
    Some(output)
}

/// The part for the model, and the block for the user where it is another.
pub(super) fn convert(entry: &Value) -> (Block, Option<Block>) {
    let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
    match text("type") {
        "text" => (Block::plain(text("text")), None),
        "image" => (image(text("mimeType"), text("data")), None),
        "audio" => {
            let audio = AudioBlock {
                data: Some(text("data").to_owned()),
                media_type: Some(text("mimeType").to_owned()),
                ..AudioBlock::default()
            };
            (Block::plain(format!("[audio: {}]", text("mimeType"))), Some(Block::Audio(audio)))
        }
        "resource" => resource(entry.get("resource").unwrap_or(&Value::Null)),
        "resource_link" => {
            let (uri, name) = (text("uri"), text("name"));
            let file = FileBlock {
                name: Some(name.to_owned()),
                url: Some(uri.to_owned()),
                media_type: entry.get("mimeType").and_then(Value::as_str).map(str::to_owned),
                size: entry.get("size").and_then(Value::as_u64),
                ..FileBlock::default()
            };
            let label = ["[resource: ", name, " ", uri, "] ", text("description")].concat();
            (Block::plain(label.trim_end()), Some(Block::File(file)))
        }
        // A type of a later protocol: its JSON is better than nothing.
        _ => (Block::plain(entry.to_string()), None),
    }
}

fn resource(resource: &Value) -> (Block, Option<Block>) {
    let text = |name: &str| resource.get(name).and_then(Value::as_str);
    let uri = text("uri").unwrap_or_default();
    let media_type = text("mimeType").unwrap_or_default();
    if let Some(contents) = text("text") {
        return (Block::plain(contents), None);
    }
    let blob = text("blob").unwrap_or_default();
    if media_type.starts_with("image/") {
        return (image(media_type, blob), None);
    }
    let file = FileBlock {
        name: Some(uri.to_owned()),
        media_type: Some(media_type.to_owned()),
        data: Some(blob.to_owned()),
        ..FileBlock::default()
    };
    (Block::plain(format!("[file: {uri} {media_type}]")), Some(Block::File(file)))
}

fn cut(mut part: Block, room: &mut usize) -> Block {
    let Some(text) = part.text_mut() else { return part };
    let total = text.len();
    if total > *room {
        let end = (0..=*room).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text.push_str(&format!("\n[cut: the first {end} of {total} bytes]"));
    }
    *room = room.saturating_sub(total);
    part
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(limit: usize, result: Value, content: Value, blocks: Value) {
        let output = output(&result, limit).unwrap();
        assert_eq!(serde_json::to_value(&output.content).unwrap(), content, "for the model");
        assert_eq!(serde_json::to_value(&output.block_list).unwrap(), blocks, "for the user");
    }

    #[test]
    fn every_kind_of_content_is_shown() {
        let image = json!({"type": "image", "imageUrl": {"url": "data:image/png;base64,iVBO"}, "mediaType": "image/png"});
        check(
            1000,
            json!({"content": [
                {"type": "text", "text": "hi"},
                {"type": "image", "mimeType": "image/png", "data": "iVBO"},
                {"type": "audio", "mimeType": "audio/wav", "data": "UklG"},
                {"type": "resource", "resource": {"uri": "file:///a", "mimeType": "text/plain", "text": "A"}},
            ]}),
            json!([{"type": "text", "text": "hi"}, image, {"type": "text", "text": "[audio: audio/wav]"}, {"type": "text", "text": "A"}]),
            json!([{"type": "text", "text": "hi"}, image, {"type": "audio", "data": "UklG", "mediaType": "audio/wav"}, {"type": "text", "text": "A"}]),
        );
        check(
            1000,
            json!({"content": [{"type": "resource_link", "uri": "u:1", "name": "n", "size": 3}]}),
            json!([{"type": "text", "text": "[resource: n u:1]"}]),
            json!([{"type": "file", "name": "n", "url": "u:1", "size": 3}]),
        );
        check(
            1000,
            json!({"content": [{"type": "resource", "resource": {"uri": "u:2", "mimeType": "a/b", "blob": "AA=="}}]}),
            json!([{"type": "text", "text": "[file: u:2 a/b]"}]),
            json!([{"type": "file", "name": "u:2", "mediaType": "a/b", "data": "AA=="}]),
        );
    }

    #[test]
    fn structured_content_alone_is_shown_as_text() {
        let both = json!([{"type": "text", "text": "{\"a\":1}"}]);
        check(20, json!({"structuredContent": {"a": 1}, "content": []}), both.clone(), both);
        assert_eq!(output(&json!({"tools": []}), 20), None);
        assert!(output(&json!({"content": [], "isError": true}), 20).unwrap().is_error);
    }

    #[test]
    fn unknown_kinds_pass_through_and_long_text_is_cut() {
        let expected = json!([{"type": "text", "text": "{\"type\":\"x\"}"}]);
        check(20, json!({"content": [{"type": "x"}]}), expected.clone(), expected);
        let cut = json!([{"type": "text", "text": "0123456789012345678\n[cut: the first 19 of 24 bytes]"}, {"type": "text", "text": "\n[cut: the first 0 of 1 bytes]"}]);
        check(
            20,
            json!({"content": [{"type": "text", "text": "0123456789012345678ế89"}, {"type": "text", "text": "x"}]}),
            cut.clone(),
            cut,
        );
    }
}
