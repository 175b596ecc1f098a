//! A recording, read whole and checked before the first event is sent.

use riverrun_event::Timestamp;
use serde_json::Value;

pub struct Recording {
    /// The payload of a leading `session.created`: what to make the session with.
    pub opening: Value,
    pub lines: Vec<Line>,
}

pub struct Line {
    /// Milliseconds since 1970, if the line says when it happened.
    pub time: Option<i64>,
    /// The event, without what its new log will give it.
    pub raw_event: Value,
}

/// What belongs to the log that an event was in, and not to the event. A new log gives its own.
const OF_THE_LOG: [&str; 5] = ["sequence", "eventId", "sessionId", "schemaVersion", "timestamp"];

impl Recording {
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        let text =
            std::str::from_utf8(bytes).map_err(|e| format!("not UTF-8 at byte {}", e.valid_up_to()))?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut recording = Recording { opening: Value::Null, lines: Vec::new() };
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let event: Value = serde_json::from_str(line).map_err(|e| format!("line {}: {e}", number + 1))?;
            let kind = event["type"]
                .as_str()
                .ok_or_else(|| format!("line {}: an event needs a `type`", number + 1))?;
            match kind {
                // What `tail --json` and an export write beside the events.
                "result" | "export.header" | "export.footer" => {}
                kind if kind.starts_with("stream.") => {}
                "session.created" if recording.lines.is_empty() => recording.open(event),
                _ => recording.lines.push(bare(event)),
            }
        }
        if recording.lines.is_empty() {
            return Err("there is no event in it".into());
        }
        Ok(recording)
    }

    /// The session is made by a call of its own, so in its log the recorded creation is an update.
    fn open(&mut self, mut event: Value) {
        self.opening = event["payload"].clone();
        event["type"] = "session.updated".into();
        self.lines.push(bare(event));
    }
}

fn bare(mut event: Value) -> Line {
    let time =
        event["timestamp"].as_str().and_then(|text| Timestamp::parse(text).ok()).map(Timestamp::millis);
    if let Some(members) = event.as_object_mut() {
        members.retain(|name, _| !OF_THE_LOG.contains(&name.as_str()));
    }
    Line { time, raw_event: event }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_is_sent_without_what_its_new_log_will_give_it() {
        let text = concat!(
            "{\"type\":\"session.created\",\"payload\":{\"title\":\"t\"}}\n\n",
            "{\"type\":\"turn.started\",\"timestamp\":\"1970-01-01T00:00:01.500Z\",\"sequence\":7,\"eventId\":\"e\",\"turnId\":\"x\",\"payload\":{}}\n",
            "{\"type\":\"stream.end\"}\n{\"type\":\"result\"}\n"
        );
        let recording = Recording::read(text.as_bytes()).expect("valid");
        assert_eq!(recording.opening, json!({"title": "t"}));
        let lines: Vec<_> = recording.lines.into_iter().map(|line| (line.time, line.raw_event)).collect();
        assert_eq!(
            lines,
            [
                (None, json!({"type": "session.updated", "payload": {"title": "t"}})),
                (Some(1500), json!({"type": "turn.started", "turnId": "x", "payload": {}})),
            ]
        );
    }

    #[test]
    fn a_bad_line_is_named_before_anything_is_sent() {
        let error = |text: &str| Recording::read(text.as_bytes()).err().unwrap_or_default();
        assert!(error("{\"type\":\"a\"}\n{").starts_with("line 2: "));
        assert_eq!(error("{}"), "line 1: an event needs a `type`");
        assert_eq!(error("\n"), "there is no event in it");
    }

    #[test]
    fn every_line_of_the_examples_is_an_event_of_its_type() {
        for name in ["weather", "research-subagents", "approval"] {
            let path = format!("{}/../../examples/recordings/{name}.ndjson", env!("CARGO_MANIFEST_DIR"));
            let recording =
                Recording::read(&std::fs::read(&path).expect("it is in the repository")).expect("valid");
            assert!(recording.lines.len() > 100, "{name}");
            for (number, line) in recording.lines.iter().enumerate() {
                let decoded = riverrun_event::decode(&line.raw_event.to_string());
                assert!(decoded.is_ok(), "{name} line {}: {:?}", number + 1, decoded.err());
            }
        }
    }
}
