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
    let part = |value: Value| serde_json::from_value(numbered(value)).ok();
    written.unwrap_or_default().into_iter().map(part).collect()
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
