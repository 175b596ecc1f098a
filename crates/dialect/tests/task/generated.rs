//! Sessions that nobody wrote by hand: any order of events, sensible or not.

use proptest::prelude::*;
use riverrun_dialect::OffsetUnit;
use serde_json::{Value, json};

use crate::log::Log;
use crate::resume::{
    check_coalesced, check_duplicates, check_every_cut, check_every_opening, check_every_prefix,
};

/// A turn's root task, its child and its grandchild. A child's task id is its parent's call id.
const TASKS: [(&str, Option<&str>); 3] =
    [("root", None), ("call_1", Some("root")), ("call_2", Some("call_1"))];

fn text() -> impl Strategy<Value = String> {
    let pieces =
        ["[^", "1]", "[^1]", "[^2]", "[^7]", "`", "a", "é", "e\u{301}", "天", "🌧", "\n\n", "\"\\", " "];
    proptest::collection::vec(proptest::sample::select(pieces.to_vec()), 0..6)
        .prop_map(|pieces| pieces.concat())
}

fn annotated_text() -> impl Strategy<Value = Value> {
    (text(), 0..3_u8).prop_map(|(text, annotated)| {
        let length = text.chars().count();
        let reference = json!({"type": "reference_to_block", "referenceId": 1, "startIndex": length / 2, "endIndex": length});
        match annotated {
            0 => json!({"type": "text", "text": text, "refId": 1}),
            1 => json!({"type": "text", "text": text, "annotations": [reference, {"type": "url_citation", "url": "u"}]}),
            _ => json!({"type": "text", "text": text}),
        }
    })
}

fn block() -> impl Strategy<Value = Value> {
    prop_oneof![
        3 => annotated_text(),
        1 => text().prop_map(|url| json!({"type": "image_url", "imageUrl": {"url": url}, "refId": 2})),
        1 => text().prop_map(|text| json!({"type": "html", "text": text})),
        1 => Just(json!({"type": "file", "name": "a", "fileRef": "blob_1"})),
        1 => Just(json!({"type": "x-map", "camelCase": [1.50]})),
    ]
}

fn blocks() -> impl Strategy<Value = Value> {
    proptest::collection::vec(block(), 0..3).prop_map(Value::Array)
}

fn item_id() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec!["a", "b", "c", "d"])
}

/// An item's type and the members that it may have; each is absent, null or there.
fn item(may_be_null: bool) -> impl Strategy<Value = Value> {
    let member = move |value: BoxedStrategy<Value>| {
        let null = if may_be_null { 1 } else { 0 };
        prop_oneof![2 => Just(None), null => Just(Some(Value::Null)), 3 => value.prop_map(Some)]
    };
    let status =
        proptest::sample::select(vec![json!("in_progress"), json!("completed"), json!("incomplete")]).boxed();
    let call = proptest::sample::select(vec!["call_1", "call_2", "call_3"]);
    let kinds = proptest::sample::select(vec![
        "message",
        "reasoning",
        "tool_call",
        "tool_result",
        "handoff",
        "x.item",
    ]);
    let names = text().prop_map(Value::from).boxed();
    let (blocks, content) = (member(blocks().boxed()), member(blocks().boxed()));
    (item_id(), kinds, call, blocks, content, member(status), member(names)).prop_map(
        |(id, kind, call, blocks, content, status, name)| {
            let arguments = name.clone().filter(|name| !name.is_null()).unwrap_or_else(|| "".into());
            let members = match kind {
                "message" => vec![("blockList", blocks), ("content", content), ("role", name)],
                "reasoning" => vec![("summary", texts(blocks)), ("content", content)],
                "tool_call" => vec![("name", Some("t".into())), ("arguments", Some(arguments))],
                "tool_result" => vec![("blockList", blocks), ("content", content)],
                "handoff" => vec![("to", Some("x".into())), ("from", name)],
                _ => vec![("members", blocks), ("more", name)],
            };
            let mut item = json!({"type": kind, "id": id, "callId": call});
            for (member, value) in members.into_iter().chain([("status", status)]) {
                if let Some(value) = value {
                    item[member] = value;
                }
            }
            item
        },
    )
}

/// A summary has texts alone.
fn texts(blocks: Option<Value>) -> Option<Value> {
    blocks.map(|blocks| match blocks {
        Value::Array(blocks) => blocks.into_iter().filter(|block| block["type"] == "text").collect(),
        other => other,
    })
}

fn payload() -> impl Strategy<Value = (&'static str, Value)> {
    prop_oneof![
        4 => bracket("item.started", false),
        3 => bracket("item.completed", true),
        4 => update(),
        10 => delta(),
        1 => item_id().prop_map(|id| ("item.retracted", json!({"itemId": id, "outputIndex": 0, "reason": "r"}))),
        3 => lifecycle(),
    ]
}

fn bracket(kind: &'static str, may_be_null: bool) -> impl Strategy<Value = (&'static str, Value)> {
    let payload = |(item, index)| json!({"item": item, "outputIndex": index});
    (item(may_be_null), 0..4_u32).prop_map(payload).prop_map(move |payload| (kind, payload))
}

fn update() -> impl Strategy<Value = (&'static str, Value)> {
    let change = proptest::sample::select(vec!["added", "replaced", "done"]);
    (item_id(), 0..3_u32, block(), change, proptest::option::of(0..3_u32)).prop_map(
        |(id, part, block, change, partial)| {
            let place =
                json!({"itemId": id, "outputIndex": 0, "blockIndex": part, "block": block, "change": change});
            ("item.updated", with("partialIndex", partial, place))
        },
    )
}

/// Text for an item that is named, or for the newest one.
fn delta() -> impl Strategy<Value = (&'static str, Value)> {
    let item = || proptest::option::of(item_id());
    let part = || proptest::option::of(0..3_u32);
    prop_oneof![
        4 => (item(), part(), text()).prop_map(|(item, part, text)| {
            ("model.delta", with("itemId", item, with("blockIndex", part, json!({"delta": text}))))
        }),
        3 => (item(), part(), text()).prop_map(|(item, part, text)| {
            ("reasoning.delta", with("itemId", item, with("summaryIndex", part, json!({"delta": text}))))
        }),
        1 => (item(), 0..3_u32, text()).prop_map(|(item, part, text)| {
            ("reasoning.summary", with("itemId", item, json!({"text": text, "summaryIndex": part})))
        }),
        3 => (item(), text()).prop_map(|(item, text)| ("tool.args", with("itemId", item, json!({"delta": text})))),
    ]
}

fn with(member: &str, value: Option<impl Into<Value>>, mut payload: Value) -> Value {
    if let Some(value) = value {
        payload[member] = value.into();
    }
    payload
}

fn lifecycle() -> impl Strategy<Value = (&'static str, Value)> {
    let error = json!({"error": {"message": "m", "code": "c"}});
    proptest::sample::select(vec![
        ("task.created", json!({"title": "t"})),
        ("task.updated", json!({"status": "paused"})),
        ("task.queued", json!({})),
        ("task.started", json!({})),
        ("task.waiting", json!({"status": "waiting_input"})),
        ("task.retrying", json!({})),
        ("task.failed", error.clone()),
        ("task.failed", json!({"error": {"message": "another"}})),
        ("task.lost", json!({})),
        ("task.completed", json!({})),
        ("task.attempt.started", json!({})),
        ("task.attempt.failed", error.clone()),
        ("action.required", json!({"actionType": "approval"})),
        ("action.required", json!({"actionType": "approval"})),
        ("action.resolved", json!({"decision": "approve"})),
        ("turn.submitted", json!({"input": "hi"})),
        ("turn.started", json!({})),
        ("turn.completed", json!({})),
        ("turn.failed", error),
        ("turn.cancelled", json!({})),
        ("tool.started", json!({"toolName": "t"})),
        ("model.completed", json!({"usage": {"inputTokens": 1}})),
        ("agent.changed", json!({"agent": "b"})),
        ("x.vendor.thing", json!({"anything": 1})),
    ])
}

/// An event of this turn, on one of its tasks.
fn event(turn: usize) -> impl Strategy<Value = String> {
    (payload(), 0..TASKS.len(), 0..3_u8, any::<bool>()).prop_map(
        move |((kind, payload), task, action, links)| {
            let (name, parent) = TASKS[task];
            let mut event = json!({"type": kind, "turnId": format!("turn_{turn}"), "payload": payload});
            // Task ids are unique in a session; only the first turn's are also its call ids.
            let named = |name: &str| if turn == 0 { name.to_owned() } else { format!("{name}_{turn}") };
            event["taskId"] = named(name).into();
            if let Some(parent) = parent.filter(|_| links) {
                event["parentTaskId"] = named(parent).into();
                event["parentToolCallId"] = name.into();
                event["depth"] = task.into();
            }
            event["toolCallId"] = "call_1".into();
            event["actionId"] = format!("act_{turn}_{action}").into();
            event.to_string()
        },
    )
}

/// `PROPTEST_CASES` asks for more; nothing is written into the source tree.
fn config(cases: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig { cases: asked.unwrap_or(cases), failure_persistence: None, ..ProptestConfig::default() }
}

fn check(lines: &[String]) {
    let log = Log::of(lines.iter().map(String::as_str));
    for unit in OffsetUnit::ALL {
        check_every_prefix("generated", &log, unit);
        check_duplicates("generated", &log, unit);
    }
    check_coalesced("generated", &log, OffsetUnit::Utf16);
    check_every_cut("generated", &log, OffsetUnit::Utf16);
    check_every_opening("generated", &log, OffsetUnit::Utf8);
}

proptest! {
    #![proptest_config(config(96))]

    #[test]
    fn a_client_rebuilds_any_session_from_its_frames(lines in proptest::collection::vec(event(0), 1..30)) {
        check(&lines);
    }
}

proptest! {
    #![proptest_config(config(12))]

    #[test]
    fn old_turns_may_leave_the_state(turns in (0..12_usize).map(|turn| proptest::collection::vec(event(turn), 0..5)).collect::<Vec<_>>()) {
        let end = |turn: usize| json!({"type": "turn.completed", "turnId": format!("turn_{turn}")}).to_string();
        let lines: Vec<String> = turns.into_iter().enumerate().flat_map(|(turn, events)| events.into_iter().chain([end(turn)])).collect();
        check(&lines);
    }
}
