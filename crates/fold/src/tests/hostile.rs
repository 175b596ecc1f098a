//! Logs that no honest producer writes: every type, few ids, extreme numbers, in any order.

use riverrun_event::{Event, EventType, sample};
use serde_json::{Value, json};

use super::{Dice, event};

const NUMBERS: [u32; 7] = [0, 0, 1, 2, 17, 4000, u32::MAX];
const IDS: [&str; 3] = ["a", "b", "c"];

/// The event that a seed stands for, at this place.
pub fn hostile(seed: u64, sequence: u64) -> Event {
    let mut dice = Dice::new(seed);
    let kind = if dice.once_in(3) { dice.pick(EventType::ALL).clone() } else { dice.pick(FREQUENT).clone() };
    let mut envelope = json!({"type": kind.as_str(), "payload": payload(&kind, &mut dice)});
    scope(&mut envelope, &mut dice);
    event(sequence, envelope)
}

const FREQUENT: &[EventType] = &[
    EventType::ItemStarted,
    EventType::ItemStarted,
    EventType::ItemUpdated,
    EventType::ItemCompleted,
    EventType::ItemRetracted,
    EventType::ModelDelta,
    EventType::ModelDelta,
    EventType::ReasoningDelta,
    EventType::ToolArgs,
    EventType::TurnStarted,
    EventType::TurnCompleted,
    EventType::TurnFailed,
    EventType::TaskCreated,
    EventType::TaskCompleted,
    EventType::TaskAttemptStarted,
    EventType::ActionRequired,
    EventType::ActionResolved,
    EventType::ToolStarted,
    EventType::ToolResult,
    EventType::SnapshotRepaired,
];

fn scope(envelope: &mut Value, dice: &mut Dice) {
    let members = [
        "turnId",
        "turnId",
        "taskId",
        "taskId",
        "runId",
        "toolCallId",
        "actionId",
        "parentTaskId",
        "threadId",
    ];
    for member in members {
        if !dice.once_in(3) {
            // Many turns, so that old ones are sealed.
            let id = if member == "turnId" {
                format!("t{}", dice.roll(14))
            } else {
                (*dice.pick(&IDS)).to_owned()
            };
            envelope[member] = json!(id);
        }
    }
    if dice.once_in(8) {
        envelope["depth"] = json!(dice.pick(&NUMBERS));
    }
    for member in ["processId", "subagentId"] {
        if dice.once_in(20) {
            envelope[member] = json!(dice.pick(&IDS));
        }
    }
}

fn payload(kind: &EventType, dice: &mut Dice) -> Value {
    if dice.once_in(25) {
        return dice.pick(&[json!(7), json!("x"), json!([]), json!({"delta": 7}), json!({})]).clone();
    }
    let (id, index) = (*dice.pick(&IDS), *dice.pick(&NUMBERS));
    match kind {
        EventType::ItemStarted => json!({"item": item(dice), "outputIndex": index}),
        EventType::ItemCompleted => json!({"item": patch(dice), "outputIndex": index}),
        EventType::ItemUpdated => {
            let change = *dice.pick(&["added", "replaced", "done"]);
            json!({"itemId": id, "outputIndex": index, "blockIndex": dice.pick(&NUMBERS), "block": block(dice), "change": change})
        }
        EventType::ItemRetracted => json!({"itemId": id, "outputIndex": index, "reason": "r"}),
        EventType::ModelDelta if dice.once_in(3) => json!({"delta": text(dice)}),
        EventType::ModelDelta => json!({"delta": text(dice), "itemId": id, "blockIndex": index}),
        EventType::ReasoningDelta if dice.once_in(2) => json!({"delta": text(dice)}),
        EventType::ReasoningDelta => json!({"delta": text(dice), "itemId": id, "summaryIndex": index}),
        EventType::ReasoningSummary => json!({"text": text(dice), "summaryIndex": index}),
        EventType::ToolArgs => json!({"delta": text(dice), "callId": id}),
        EventType::CostRecorded => json!({"amount": dice.pick(&[1.7e308, -1.7e308, 0.1, 1e-300])}),
        EventType::ModelCompleted => json!({"usage": {"inputTokens": u64::MAX, "outputTokens": index}}),
        EventType::SnapshotRepaired => snapshot(dice),
        other => sample(other).to().expect("a sample is JSON"),
    }
}

fn snapshot(dice: &mut Dice) -> Value {
    let (id, status) = (*dice.pick(&IDS), *dice.pick(&["running", "completed", "failed", "nonsense"]));
    json!({"snapshot": {
        "threads": [{"threadId": id, "status": status, "pendingRequests": [{"actionId": dice.pick(&IDS), "taskId": id}, 7],
            "toolCalls": [{"toolCallId": dice.pick(&IDS), "status": status}]}],
        "tasks": [{"taskId": id, "status": status}],
    }})
}

fn item(dice: &mut Dice) -> Value {
    let (id, call) = (*dice.pick(&IDS), *dice.pick(&IDS));
    match dice.roll(8) {
        0 => json!({"type": "reasoning", "id": id, "summary": [block(dice)]}),
        1 => json!({"type": "tool_call", "id": id, "callId": call, "name": "t", "arguments": text(dice)}),
        2 => {
            json!({"type": "tool_result", "id": id, "callId": call, "blockList": [block(dice)], "content": [block(dice)]})
        }
        3 => json!({"type": "handoff", "id": id, "to": "x"}),
        4 => json!({"type": "strange", "id": id}),
        5 => json!({"type": "strange"}),
        _ => json!({"type": "message", "id": id, "blockList": [block(dice), block(dice)]}),
    }
}

fn patch(dice: &mut Dice) -> Value {
    let mut patch = item(dice);
    for member in ["blockList", "content", "callId", "summary", "arguments", "name", "to"] {
        match dice.roll(3) {
            0 => drop(patch.as_object_mut().expect("an item is an object").remove(member)),
            1 if patch.get(member).is_some() => patch[member] = Value::Null,
            _ => {}
        }
    }
    patch
}

fn block(dice: &mut Dice) -> Value {
    match dice.roll(6) {
        0 => json!({"type": "image", "imageUrl": {"url": "u"}, "refId": dice.roll(3)}),
        1 => json!({"type": "strange", "refId": 1}),
        2 => json!({"type": "html", "text": text(dice)}),
        3 => json!({"type": "text", "text": text(dice), "annotations": []}),
        _ => json!({"type": "text", "text": text(dice), "refId": dice.roll(3)}),
    }
}

fn text(dice: &mut Dice) -> String {
    const PIECES: [&str; 12] = ["[^1]", "[^", "2]", "`", "```", "\n\n", "é", "😀", "x ", "[^99]", "", "1"];
    (0..dice.roll(4)).map(|_| *dice.pick(&PIECES)).collect()
}
