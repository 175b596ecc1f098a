//! Parts of a conversation, as model APIs can show them.

use riverrun_event::{Block, FileBlock, Part, RawJson};
use serde::Serialize;
use serde_json::{Map, Value};

/// What a part is to a model.
pub(crate) enum Shown {
    Text(String),
    /// An address or a data URL.
    Image {
        url: String,
        detail: Option<String>,
    },
    File {
        url: String,
        name: Option<String>,
    },
}

/// None for what no model can be shown.
pub(crate) fn show(part: &Part) -> Option<Shown> {
    match part {
        Block::Text(block) | Block::Html(block) => text(&block.text),
        Block::Table(block) | Block::Json(block) => match (&block.text, &block.data) {
            (Some(shown), _) => text(shown),
            (None, Some(data)) => text(data.get()),
            (None, None) => None,
        },
        Block::Image(block) => {
            let image = block.image_url.as_ref()?;
            Some(Shown::Image { url: image.url.clone(), detail: image.detail.clone() })
        }
        Block::File(block) => file(block),
        Block::Audio(block) => text(block.transcript.as_deref()?),
        Block::Item(_) | Block::Other(_) => None,
    }
}

/// Empty text says nothing, and services refuse it.
fn text(text: &str) -> Option<Shown> {
    (!text.is_empty()).then(|| Shown::Text(text.to_owned()))
}

/// A file that brings its own address or content; one in the blob store is resolved by whoever built the request.
fn file(block: &FileBlock) -> Option<Shown> {
    let media_type = block.media_type.as_deref().unwrap_or("application/octet-stream");
    let content = block.data.as_ref().map(|data| format!("data:{media_type};base64,{data}"));
    let url = content.or_else(|| block.url.clone())?;
    Some(Shown::File { url, name: block.name.clone() })
}

/// All text of the parts, a line feed between two.
pub(crate) fn text_of(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(|part| match show(part)? {
        Shown::Text(text) => Some(text),
        Shown::Image { .. } | Shown::File { .. } => None,
    });
    texts.collect::<Vec<String>>().join("\n")
}

/// True for a text by which the model refused to answer.
pub(crate) fn is_refusal(part: &Part) -> bool {
    matches!(part, Block::Text(block) if block.is_refusal())
}

/// Pictures and files among the parts, for services whose tool results are text alone.
pub(crate) fn without_text(parts: &[Part]) -> impl Iterator<Item = &Part> {
    parts.iter().filter(|part| matches!(show(part), Some(Shown::Image { .. } | Shown::File { .. })))
}

/// Media type and base64 content of a data URL.
pub(crate) fn data_url(url: &str) -> Option<(&str, &str)> {
    let (media_type, content) = url.strip_prefix("data:")?.split_once(',')?;
    Some((media_type.strip_suffix(";base64")?, content))
}

/// The members of an opaque value that this provider made. Others' are never sent.
pub(crate) fn own_opaque(opaque: &Option<RawJson>, provider: &str) -> Option<Map<String, Value>> {
    let mut makers: Map<String, Value> = opaque.as_ref()?.to().ok()?;
    match makers.remove(provider)? {
        Value::Object(members) => Some(members),
        _ => None,
    }
}

/// Sets a member if there is a value.
pub(crate) fn put<T: Serialize>(body: &mut Map<String, Value>, name: &str, value: Option<T>) {
    if let Some(value) = value.and_then(|value| serde_json::to_value(value).ok()) {
        body.insert(name.to_owned(), value);
    }
}

/// Arguments as the object that some services want; what is no object is wrapped, so that nothing is lost.
pub(crate) fn arguments_object(arguments: &str) -> Value {
    match serde_json::from_str(arguments) {
        Ok(Value::Object(members)) => Value::Object(members),
        _ if arguments.trim().is_empty() => Value::Object(Map::new()),
        _ => serde_json::json!({ "invalid_arguments": arguments }),
    }
}
