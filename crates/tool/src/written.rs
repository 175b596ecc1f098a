//! What a program or a service may give back instead of text: parts for the model beside blocks for the user.

use riverrun_event::Block;
use serde::Deserialize;
use serde_json::Value;

use crate::ToolOutput;

/// In our words or in AgentLin's.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Written {
    #[serde(alias = "message_content")]
    content: Option<Vec<Value>>,
    #[serde(alias = "block_list")]
    block_list: Option<Vec<Value>>,
    structured: Option<Value>,
    #[serde(default, alias = "is_error")]
    is_error: bool,
}

/// None if the text is anything else.
pub(crate) fn written(text: &str) -> Option<ToolOutput> {
    let written: Written = serde_json::from_str(text).ok()?;
    if written.content.is_none() && written.block_list.is_none() {
        return None;
    }
    let Written { content, block_list, structured, is_error } = written;
    let (content, block_list) = (parts(content)?, parts(block_list)?);
    Some(ToolOutput { content, block_list, structured, is_error })
}

/// None if one of them is no part.
fn parts(written: Option<Vec<Value>>) -> Option<Vec<Block>> {
    let part = |value: Value| serde_json::from_value(numbered(with_address(value))).ok();
    written.unwrap_or_default().into_iter().map(part).collect()
}

/// Members of an image that say where it is.
const ADDRESSES: [&str; 4] = ["imageUrl", "image_url", "fileRef", "file_ref"];

/// An image in base 64, as files and audio may be, becomes one with a data URL.
pub(crate) fn with_address(mut part: Value) -> Value {
    let Some(members) = part.as_object_mut() else { return part };
    let text = |name: &str| members.get(name).and_then(Value::as_str);
    let is_image = text("type") == Some("image") && ADDRESSES.iter().all(|name| !members.contains_key(*name));
    if let Some(data) = text("data").filter(|_| is_image) {
        let media_type = text("mediaType").or_else(|| text("media_type")).unwrap_or("image/png");
        let url = format!("data:{media_type};base64,{data}");
        members.remove("data");
        members.insert("imageUrl".to_owned(), url.into());
    }
    part
}

/// AgentLin's number of a group is the part's `id`.
fn numbered(mut part: Value) -> Value {
    if let Some(members) = part.as_object_mut()
        && !(members.contains_key("refId") || members.contains_key("ref_id"))
        && members.get("id").is_some_and(Value::is_u64)
        && let Some(number) = members.remove("id")
    {
        members.insert("refId".to_owned(), number);
    }
    part
}
