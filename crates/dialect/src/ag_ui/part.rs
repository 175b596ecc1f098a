//! Blocks that are not text, in the protocol's words.

use riverrun_event::{Block, Item};
use serde_json::{Value, json};

use crate::follow::{result_text, shown_blocks};

/// What a result says: its text, or its text and the pictures and sounds as parts.
pub(super) fn result_content(item: &Item) -> Value {
    let text = result_text(item);
    let shown: Vec<Value> = shown_blocks(item).iter().filter_map(part).collect();
    if shown.is_empty() {
        return Value::String(text);
    }
    let text_part = (!text.is_empty()).then(|| json!({"type": "text", "text": text}));
    text_part.into_iter().chain(shown).collect()
}

fn part(block: &Block) -> Option<Value> {
    let (kind, url, media_type) = match block {
        Block::Image(image) => {
            ("image", image.image_url.as_ref().map(|image| image.url.as_str()), &image.media_type)
        }
        Block::Audio(audio) => ("audio", audio.url.as_deref(), &audio.media_type),
        // A file is mostly a source, and clients expect a text wherever one is enough.
        Block::File(_)
        | Block::Text(_)
        | Block::Table(_)
        | Block::Json(_)
        | Block::Html(_)
        | Block::Item(_)
        | Block::Other(_) => return None,
    };
    Some(json!({"type": kind, "source": source(url?, media_type.as_deref())}))
}

/// The bytes themselves where the address holds them.
fn source(url: &str, media_type: Option<&str>) -> Value {
    let inside = url.strip_prefix("data:").and_then(|after_scheme| after_scheme.split_once(";base64,"));
    match (inside, media_type) {
        (Some((found, value)), declared) => {
            json!({"type": "data", "value": value, "mimeType": declared.unwrap_or(found)})
        }
        (None, Some(declared)) => json!({"type": "url", "value": url, "mimeType": declared}),
        (None, None) => json!({"type": "url", "value": url}),
    }
}
