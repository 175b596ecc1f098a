//! The payloads that nearly every event of a log has, read without serde.

use crate::catalogue::{EventType, ModelDelta, Payload, ReasoningDelta, ToolArgs};
use crate::json::walk;

/// A delta's payload, if its members stand there plainly. None says nothing: the other reader decides.
pub(crate) fn delta(kind: &EventType, text: &str) -> Option<Payload> {
    if !matches!(kind, EventType::ModelDelta | EventType::ReasoningDelta | EventType::ToolArgs) {
        return None;
    }
    let mut members = Members { is_plain: true, ..Members::default() };
    walk(text, |key, value| members.take(key, value))?;
    if !members.is_plain {
        return None;
    }
    let Members { item_id, output_index, part_index, call_id, .. } = members;
    let (delta, item_id) = (string(members.delta?)?, string_or_none(item_id)?);
    let (output_index, part_index) = (number_or_none(output_index)?, number_or_none(part_index)?);
    match (kind, members.place_name) {
        (EventType::ModelDelta, None | Some("blockIndex")) if call_id.is_none() => {
            Some(Payload::ModelDelta(ModelDelta {
                delta,
                item_id,
                output_index,
                block_index: part_index,
                logprobs: None,
                annotations: None,
                sent: None,
            }))
        }
        (EventType::ReasoningDelta, None | Some("summaryIndex")) if call_id.is_none() => {
            Some(Payload::ReasoningDelta(ReasoningDelta {
                delta,
                item_id,
                output_index,
                summary_index: part_index,
                sent: None,
            }))
        }
        (EventType::ToolArgs, None) => Some(Payload::ToolArgs(ToolArgs {
            delta,
            item_id,
            output_index,
            call_id: string_or_none(call_id)?,
            sent: None,
        })),
        _ => None,
    }
}

#[derive(Default)]
struct Members<'a> {
    delta: Option<&'a str>,
    item_id: Option<&'a str>,
    output_index: Option<&'a str>,
    /// The block or the summary part.
    part_index: Option<&'a str>,
    place_name: Option<&'a str>,
    call_id: Option<&'a str>,
    /// False once a member came that needs the other reader: another spelling, or a name it may know.
    is_plain: bool,
}

impl<'a> Members<'a> {
    fn take(&mut self, key: &'a str, value: &'a str) {
        let slot = match key {
            "delta" => &mut self.delta,
            "itemId" => &mut self.item_id,
            "outputIndex" => &mut self.output_index,
            "blockIndex" | "summaryIndex" => {
                self.is_plain &= self.place_name.replace(key).is_none();
                &mut self.part_index
            }
            "callId" => &mut self.call_id,
            _ => {
                self.is_plain = false;
                return;
            }
        };
        self.is_plain &= slot.replace(value).is_none();
    }
}

fn string(text: &str) -> Option<String> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    match inner.as_bytes().contains(&b'\\') {
        false => Some(inner.to_owned()),
        true => serde_json::from_str(text).ok(),
    }
}

fn string_or_none(text: Option<&str>) -> Option<Option<String>> {
    text.map_or(Some(None), |text| string(text).map(Some))
}

/// Numbers of up to nine digits fit, and are written in one way.
fn number_or_none(text: Option<&str>) -> Option<Option<u32>> {
    let Some(text) = text else { return Some(None) };
    let plain = text.len() <= 9 && text.bytes().all(|digit| digit.is_ascii_digit());
    if plain { text.parse().ok().map(Some) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever is read here reads the same in the other way.
    #[test]
    fn both_readers_agree() {
        let payloads = [
            r#"{"delta":"x"}"#,
            r#"{"delta":"a\n\u00e9\"","itemId":"m\\1","outputIndex":7,"blockIndex":0}"#,
            r#"{"summaryIndex":2,"delta":"x","itemId":"r"}"#,
            r#"{"delta":"","callId":"c","outputIndex":999999999}"#,
            r#"{"delta":"x","item_id":"m"}"#,
            r#"{"delta":"x","itemId":null}"#,
            r#"{"delta":"x","outputIndex":-1}"#,
            r#"{"delta":"x","outputIndex":4294967296}"#,
            r#"{"delta":"x","outputIndex":1.0}"#,
            r#"{"delta":1}"#,
            r#"{"itemId":"m"}"#,
            r#"{"delta":"x","x.more":{"a":[1]}}"#,
            "{}",
        ];
        let mut read = 0;
        for kind in
            [EventType::ModelDelta, EventType::ReasoningDelta, EventType::ToolArgs, EventType::TurnStarted]
        {
            for text in payloads {
                if let Some(payload) = delta(&kind, text) {
                    assert_eq!(Payload::parse_text(&kind, text), Ok(payload), "{text}");
                    read += 1;
                }
            }
        }
        assert_eq!(read, 6);
    }
}
