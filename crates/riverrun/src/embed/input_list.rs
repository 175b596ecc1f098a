//! A run on a list of items of the Responses API.

use riverrun_dialect::request::InputItem;
use riverrun_dialect::responses::request::decode;
use riverrun_runner::{Settings, Submit};
use serde_json::{Value, json};

/// A turn whose input is the list, or what is wrong with it.
pub(super) fn submit_of(agent: &str, list: &[Value]) -> Result<Submit, String> {
    let body = json!({"model": agent, "input": list}).to_string();
    let mut call = decode(body.as_bytes()).map_err(|failure| failure.message)?;
    if let Some(failure) = call.unknown.pop() {
        return Err(failure.message);
    }
    let is_foreign = |item: &InputItem| matches!(item, InputItem::Decision { .. } | InputItem::Other { .. });
    if let Some(index) = call.input.iter().position(is_foreign) {
        let kind = list[index]["type"].as_str().unwrap_or("unknown");
        return Err(format!("input[{index}]: an item of the type `{kind}` belongs to the run that made it"));
    }
    let (history, input) = call.conversation();
    if history.is_empty() && input.is_none() {
        return Err("the list has no items that a model reads".to_owned());
    }
    let instructions = call.all_instructions();
    Ok(Submit {
        agent: Some(agent.to_owned()),
        input,
        history,
        settings: instructions.map(|text| Settings { instructions: Some(text), ..Settings::default() }),
        ..Submit::default()
    })
}
