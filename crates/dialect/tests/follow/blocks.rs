//! `blocks`, in both directions.

use std::collections::BTreeMap;

use riverrun_dialect::blocks::client::{ClientDecisionKind, ClientMessage, StopMode, decode};
use riverrun_dialect::blocks::{Display, DisplayMode, EventId, history};
use riverrun_dialect::{Dialect, ReaderOptions};
use serde_json::{Value, json};

use crate::cuts::{Client, fold};
use crate::log::{Delivered, Log, logs, scenario};
use crate::vectors;

/// The client's fold: blocks by message and index, results inside the calls that they answer.
#[derive(Default)]
struct Blocks {
    messages: BTreeMap<String, BTreeMap<u64, Value>>,
    open: BTreeMap<u64, bool>,
    is_streaming: bool,
    end: Value,
    last_id: String,
}

impl Blocks {
    fn delta(block: &mut Value, delta: &Value) -> Result<(), String> {
        match delta["type"].as_str().ok_or("a delta has a type")? {
            "text_delta" | "thinking_delta" => {
                let name = if delta["type"] == "text_delta" { "text" } else { "thinking" };
                let before = block[name].as_str().ok_or(format!("the block has no `{name}`"))?;
                block[name] = json!(format!("{before}{}", delta[name].as_str().ok_or("no text")?));
                match delta["extras"]["block_subtype"].as_str() {
                    Some("user_stopped") => block["type"] = json!("terminal_user_stopped"),
                    Some("error") => block["type"] = json!("terminal_error"),
                    Some("replaced") => block["text"] = delta["extras"]["text"].clone(),
                    Some("retracted") => block["type"] = json!("retracted"),
                    Some(other) => return Err(format!("unknown subtype `{other}`")),
                    None => {}
                }
            }
            "file_processing_delta" => {
                block["status"] = delta["status"].clone();
                if let Some(files) = delta.get("files") {
                    block["files"] = files.clone();
                }
                if let Some(at) = delta["file"]["index"].as_u64() {
                    let mut file = delta["file"].clone();
                    file.as_object_mut().ok_or("a file is an object")?.remove("index");
                    block["files"][usize::try_from(at).map_err(|error| error.to_string())?] = file;
                }
            }
            "approval_request_delta" => {
                if delta["action_requests"] != block["actions"] {
                    return Err("both forms must say the same".to_owned());
                }
            }
            "approval_result_delta" => block["decisions"] = delta["decisions"].clone(),
            other => return Err(format!("unknown delta `{other}`")),
        }
        Ok(())
    }
}

impl Client for Blocks {
    fn take(&mut self, frame: &Delivered) -> Result<(), String> {
        let event: Value = serde_json::from_str(&frame.text).map_err(|error| error.to_string())?;
        let of = event["message_id"].as_str().ok_or("no message_id")?.to_owned();
        let id = event["event_id"].as_str().ok_or("no event_id")?;
        if id < self.last_id.as_str() {
            return Err(format!("`{id}` after `{}`", self.last_id));
        }
        self.last_id = id.to_owned();
        let kind = event["type"].as_str().unwrap_or_default();
        if (kind == "message_start") == self.is_streaming {
            return Err(format!("`{kind}` cannot come here"));
        }
        let blocks = self.messages.entry(of).or_default();
        let index = event["index"].as_u64();
        match (kind, index) {
            ("message_start", _) => self.is_streaming = true,
            ("content_block_start", Some(index)) => {
                if blocks.keys().next_back().map_or(0, |last| last + 1) != index {
                    return Err(format!("index {index} does not follow"));
                }
                blocks.insert(index, event["content_block"].clone());
                self.open.insert(index, true);
            }
            ("content_block_delta", Some(index)) => {
                Self::delta(blocks.get_mut(&index).ok_or("no such block")?, &event["delta"])?;
            }
            ("content_block_stop", Some(index)) => {
                self.open.remove(&index).ok_or("the block is not open")?;
                blocks.get_mut(&index).ok_or("no such block")?["is_final"] = event["is_final"].clone();
            }
            ("message_delta", _) => self.end = event["delta"].clone(),
            ("message_stop", _) => {
                self.is_streaming = false;
                if !self.open.is_empty() {
                    return Err("a block is open".to_owned());
                }
                event["duration_ms"].as_u64().ok_or("no duration")?;
            }
            (other, _) => return Err(format!("unknown event `{other}`")),
        }
        Ok(())
    }

    /// Blocks of agents that run side by side have the numbers in which a reader met them.
    fn object(&self) -> Value {
        let mut blocks: Vec<String> =
            self.messages.values().flat_map(BTreeMap::values).map(Value::to_string).collect();
        blocks.retain(|block| !block.contains("\"retracted\""));
        blocks.sort();
        json!({"blocks": blocks, "end": self.end, "isStreaming": self.is_streaming})
    }
}

/// True if blocks of several agents were open at once: then numbers depend on where a reader began.
fn is_interleaved(name: &str) -> bool {
    name.contains("parallel") || name.contains("subagents") || name == "retraction"
}

#[test]
fn every_cut_ends_with_the_same_blocks() {
    for (name, log) in logs() {
        for turn in log.turns() {
            let whole = log.tail(Dialect::Blocks, 0, Some(turn));
            let seen = fold::<Blocks>(&whole, &name).object();
            for after in (0..=log.len()).step_by(1 + log.len() / 60) {
                let place = format!("{name}, cut after event {after}");
                let tail = log.tail(Dialect::Blocks, after, Some(turn));
                let rest: Vec<_> =
                    whole.iter().filter(|frame| frame.sequence > after as u64).cloned().collect();
                if !is_interleaved(&name) {
                    assert_eq!(tail, rest, "{place}: the same bytes whoever projects them");
                }
                let opening = log.opening(Dialect::Blocks, after, Some(turn));
                let again = fold::<Blocks>(opening.iter().chain(&tail), &place).object();
                assert_eq!(again, seen, "{place}");
            }
        }
    }
}

#[test]
fn the_vectors_of_blocks() {
    vectors::check(Dialect::Blocks);
}

fn frames(log: &Log) -> Vec<Value> {
    parsed(log.tail(Dialect::Blocks, 0, log.turns().first().copied()))
}

fn parsed(frames: Vec<Delivered>) -> Vec<Value> {
    frames.iter().map(|frame| serde_json::from_str(&frame.text).expect("a frame is JSON")).collect()
}

#[test]
fn only_the_last_answer_is_final() {
    let stops = |name: &str| {
        let all = frames(&scenario(name));
        let finals = all.iter().filter(|frame| frame["is_final"] == true).count();
        (finals, all.iter().filter(|frame| frame["type"] == "content_block_stop").count())
    };
    assert_eq!(stops("tool"), (1, 4));
    assert_eq!(stops("error").0, 0);
}

#[test]
fn a_chat_view_shows_no_thinking() {
    let mut display = Display::new(Some(DisplayMode::Chat));
    let log = scenario("tool");
    let turn = log.turns().first().copied();
    let all = parsed(log.tail_with(
        Dialect::Blocks,
        0,
        ReaderOptions { turn, all_views: true, ..ReaderOptions::default() },
    ));
    let shown: Vec<Value> = all
        .iter()
        .filter_map(|frame| display.pass(&frame.to_string()))
        .map(|text| serde_json::from_str(&text).expect("a frame is JSON"))
        .collect();
    assert_eq!(shown[0]["display_mode"], "chat");
    assert!(shown.iter().all(|frame| frame["content_block"]["type"] != "thinking"));
    let starts = shown.iter().filter(|frame| frame["type"] == "content_block_start");
    let indices: Vec<u64> = starts.filter_map(|frame| frame["index"].as_u64()).collect();
    assert_eq!(indices, [0, 1, 2], "the first block that is shown is number 0");
    assert_eq!(all.len() - shown.len(), 3, "start, delta and stop of the thinking");
}

/// The stop reason of a turn that a model ended so, or that failed with this code.
fn stop_reason(end: Result<&str, &str>) -> Value {
    let mut events = vec![
        json!({"type": "turn.submitted", "turnId": "t", "threadId": "main", "taskId": "k", "payload": {"input": "hi"}}),
        json!({"type": "turn.started", "turnId": "t", "threadId": "main", "taskId": "k", "payload": {}}),
    ];
    match end {
        Ok(stop) => events.extend([
            json!({"type": "model.completed", "turnId": "t", "taskId": "k", "payload": {"stopReason": stop}}),
            json!({"type": "turn.completed", "turnId": "t", "threadId": "main", "payload": {}}),
        ]),
        Err(code) => events.push(
            json!({"type": "turn.failed", "turnId": "t", "threadId": "main", "payload": {"error": {"code": code, "message": "no"}}}),
        ),
    }
    let lines: Vec<String> = events
        .into_iter()
        .map(|mut event| {
            event["timestamp"] = json!("2026-03-02T09:00:00.000Z");
            event.to_string()
        })
        .collect();
    let all = frames(&Log::of(lines.iter().map(String::as_str)));
    all[all.len() - 2]["delta"]["stop_reason"].clone()
}

#[test]
fn the_stop_reason_names_the_cause() {
    assert_eq!(stop_reason(Ok("end_turn")), "end_turn");
    assert_eq!(stop_reason(Ok("refusal")), "refusal");
    assert_eq!(stop_reason(Err("max_turns_exceeded")), "max_turns");
    assert_eq!(stop_reason(Err("guardrail_tripped")), "guardrail");
    assert_eq!(stop_reason(Err("provider_error")), "error");
}

#[test]
fn event_ids_sort_and_come_back() {
    let all = frames(&scenario("approval"));
    let ids: Vec<&str> = all.iter().map(|frame| frame["event_id"].as_str().expect("an id")).collect();
    assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "{ids:?}");
    for id in ids {
        assert_eq!(EventId::parse(id).map(EventId::write).as_deref(), Some(id));
    }
    assert_eq!(EventId::parse("01HXYZ"), None);
}

#[test]
fn a_history_hands_over_to_a_subscription() {
    let log = scenario("approval_pending");
    let history = history(log.state(log.len()), ReaderOptions::default());
    let history: Value = serde_json::from_str(&history).expect("it is JSON");
    assert_eq!(history["status"], "waiting_approval");
    let asked = frames(&log).into_iter().find(|frame| frame["content_block"]["type"] == "approval_request");
    assert_eq!(history["pending_approval"], asked.expect("it was asked")["content_block"]);
    let last = EventId::parse(history["last_event_id"].as_str().expect("an id")).expect("a cursor");
    assert_eq!(last.sequence.get(), log.len() as u64);
    assert_eq!(history["messages"][0]["role"], "user");
}

#[test]
fn a_client_message_is_accepted_or_refused_with_the_reason() {
    let read = |text: &str| decode(text.as_bytes());
    let stop = read(r#"{"type":"stop","session_id":"s","mode":"after_turn"}"#).expect("it is good");
    assert_eq!(
        stop,
        ClientMessage::Stop { session_id: "s".into(), message_id: None, mode: StopMode::AfterTurn }
    );
    let chat =
        read(r#"{"type":"chat","message":"hi","content_urls":["u",{"url":"v"}],"display_mode":"chat"}"#);
    let Ok(ClientMessage::Chat(chat)) = chat else { panic!("{chat:?}") };
    assert_eq!((chat.content_urls.len(), chat.display_mode), (2, Some(DisplayMode::Chat)));
    let approval = r#"{"type":"approval","session_id":"s","approval_key":"s_9","decisions":[{"type":"edit","edited_action":{"name":"n","args":{"a":1}}},{"type":"reject","message":"no"}]}"#;
    let Ok(ClientMessage::Approval { decisions, .. }) = read(approval) else { panic!("it is good") };
    assert_eq!(
        decisions.iter().map(|it| it.kind).collect::<Vec<_>>(),
        [ClientDecisionKind::Edit, ClientDecisionKind::Reject]
    );
    let auth = read(r#"{"type":"auth","token":"hush"}"#).expect("it is good");
    assert!(!format!("{auth:?}").contains("hush"));
    let wrong = [
        (r#"{"type":"dance"}"#, "type"),
        (r#"{"type":"subscribe","session_id":"s","last_event_id":"01HX"}"#, "last_event_id"),
        (r#"{"type":"chat"}"#, "message"),
        (r#"{"type":"approval","session_id":"s","approval_key":"k","decisions":[]}"#, "decisions"),
        (
            r#"{"type":"approval","session_id":"s","approval_key":"k","decisions":[{"type":"edit"}]}"#,
            "decisions[0].edited_action",
        ),
        (r#"{"type":"stop","session_id":"s","mode":"soon"}"#, "mode"),
    ];
    for (text, param) in wrong {
        assert_eq!(read(text).expect_err(text).param.as_deref(), Some(param), "{text}");
    }
    assert!(read("{").is_err() && read("[]").is_err());
}
