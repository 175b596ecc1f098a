//! A reader that comes at any place, without a state, ends up with what a reader of everything has.

use proptest::prelude::*;
use riverrun_dialect::{Dialect, WholeAnswer, responses};
use serde_json::{Value, json};

use crate::log::{DIALECTS, Got, Log, opening, root, turns};
use crate::{anthropic_client, chat_client, gemini_client, responses_client};

/// What an official client holds after these frames.
fn accumulate(dialect: Dialect, frames: &[Got]) -> Value {
    match dialect {
        Dialect::Responses => {
            let mut client = responses_client::Client::default();
            frames.iter().for_each(|frame| client.take(frame));
            client.last.expect("the stream ended")
        }
        Dialect::Chat => {
            let mut client = chat_client::Client::default();
            frames.iter().for_each(|frame| client.take(frame));
            client.whole()
        }
        Dialect::Anthropic => {
            let mut client = anthropic_client::Client::default();
            frames.iter().for_each(|frame| client.take(frame));
            let (message, error) = client.whole();
            json!({"message": message, "error": error})
        }
        Dialect::Gemini => {
            let mut client = gemini_client::Client::default();
            frames.iter().for_each(|frame| client.take(frame));
            client.whole()
        }
        other => panic!("{} shows no turn", other.name()),
    }
}

/// Checks every cut, for a projector that followed from the start and for one that was made of the state there.
fn check_cuts(name: &str, dialect: Dialect, log: &Log) {
    let mut whole = log.begun(dialect);
    let frames = log.feed(whole.as_mut(), 0, log.len());
    let expected = accumulate(dialect, &frames);
    for cut in 1..=log.len() {
        let place = format!("{name}, {}, cut after {cut}", dialect.name());
        let mut followed = log.begun(dialect);
        log.feed(followed.as_mut(), 0, cut);
        let mut got = opening(followed.as_ref());
        got.extend(log.feed(followed.as_mut(), cut, log.len()));
        assert_eq!(accumulate(dialect, &got), expected, "{place}");
        let mut made = log.of_state(dialect, cut);
        let mut got = opening(made.as_ref());
        got.extend(log.feed(made.as_mut(), cut, log.len()));
        let mut seen = accumulate(dialect, &got);
        let mut wanted = expected.clone();
        if dialect == Dialect::Responses {
            // The state does not say which came first, an approval or the next item.
            sort_output(&mut seen);
            sort_output(&mut wanted);
        }
        assert_eq!(seen, wanted, "{place}, from the state");
    }
}

fn sort_output(response: &mut Value) {
    let output = response["output"].as_array_mut().expect("output is a list");
    output.sort_by_key(|item| item["id"].to_string());
}

#[test]
fn every_cut_of_every_turn_leads_to_the_same_end() {
    for (name, log) in turns() {
        for dialect in DIALECTS {
            // What was shown and taken back cannot be unsaid where text can only grow.
            if name.starts_with("retraction") && dialect != Dialect::Responses {
                continue;
            }
            check_cuts(&name, dialect, &log);
        }
    }
}

#[test]
fn the_whole_object_is_what_a_reader_of_the_stream_holds() {
    for (name, log) in turns() {
        for dialect in DIALECTS {
            let held = accumulate(dialect, &log.feed(log.begun(dialect).as_mut(), 0, log.len()));
            let WholeAnswer::Whole(object) = log.answer(dialect, log.len()) else { continue };
            let object: Value = serde_json::from_str(&object).expect("an object is JSON");
            match dialect {
                Dialect::Chat => check_completion(&name, &held, &object),
                Dialect::Anthropic | Dialect::Gemini if name.starts_with("retraction") => {}
                Dialect::Gemini => {
                    let mut client = gemini_client::Client::default();
                    client.take(&Got { name: String::new(), data: object.to_string() });
                    assert_eq!(client.whole(), held, "{name}");
                }
                Dialect::Anthropic => assert_eq!(held["message"], object, "{name}"),
                _ => assert_eq!(held, object, "{name}"),
            }
        }
    }
}

fn check_completion(name: &str, held: &Value, object: &Value) {
    let message = &object["choices"][0]["message"];
    if !name.starts_with("retraction") {
        assert_eq!(held["content"].as_str(), Some(message["content"].as_str().unwrap_or_default()), "{name}");
    }
    assert_eq!(held["reasoning"].as_str(), Some(message["reasoning_content"].as_str().unwrap_or_default()));
    assert_eq!(
        held["calls"].as_array().map_or(0, Vec::len),
        message["tool_calls"].as_array().map_or(0, Vec::len)
    );
    assert_eq!(held["refusal"].as_str(), Some(message["refusal"].as_str().unwrap_or_default()), "{name}");
    let odds = object["choices"][0]["logprobs"]["content"].as_array().map_or(0, Vec::len);
    assert_eq!(held["odds"].as_array().map_or(0, Vec::len), odds, "{name}");
    assert_eq!(held["fingerprint"], object["system_fingerprint"], "{name}");
    assert_eq!(held["finish"], object["choices"][0]["finish_reason"], "{name}");
}

/// `starting_after=K`: the frames of any reader are those of every reader, number by number.
#[test]
fn numbers_are_dense_from_zero_and_do_not_depend_on_the_reader() {
    for (name, log) in turns() {
        let frames = log.feed(log.begun(Dialect::Responses).as_mut(), 0, log.len());
        for (at, frame) in frames.iter().enumerate() {
            assert_eq!(responses::sequence_number(&frame.data), Some(at as u64), "{name}");
        }
        for cut in 1..=log.len() {
            let mut projector = log.begun(Dialect::Responses);
            let before = log.feed(projector.as_mut(), 0, cut).len();
            let opened = opening(projector.as_ref());
            let last = opened.last().and_then(|frame| responses::sequence_number(&frame.data));
            assert_eq!(last, Some(before as u64 - 1), "{name}: an opening ends where its reader stands");
            assert_eq!(log.feed(projector.as_mut(), cut, log.len()), frames[before..], "{name}");
        }
    }
}

/// What came before the turn, and what comes after it, is not seen in it.
#[test]
fn a_turn_is_the_same_at_any_position_in_the_log() {
    let text = |name: &str| {
        let path = root().join(format!("spec/vectors/dialect/turns/{name}.ndjson"));
        std::fs::read_to_string(path).expect("the vector is there")
    };
    let other = |number: u8| {
        text("sub_agent")
            .replace("turn_1", &format!("turn_{number}"))
            .replace("task_1", &format!("task_{number}"))
    };
    for name in ["text", "approval", "citations", "failed"] {
        let (before, turn, after) = (other(7), text(name), other(8));
        let log = Log::of(before.lines().chain(turn.lines()).chain(after.lines()));
        let first = before.lines().count();
        for dialect in DIALECTS {
            let alone = Log::of(turn.lines());
            let expected = alone.feed(alone.begun(dialect).as_mut(), 0, alone.len());
            for state in [log.state(0).clone(), log.state(first).clone(), log.before(first)] {
                let from = state.sequence.get() as usize;
                let mut projector = log.projector(dialect, state, first + 1);
                let mut got = log.feed(projector.as_mut(), from, log.len());
                if dialect == Dialect::Gemini {
                    // Tokens are places in the log, which are others here.
                    assert_eq!(got.len(), expected.len());
                    continue;
                }
                got.iter_mut().zip(&expected).for_each(|(got, expected)| assert_eq!(got, expected, "{name}"));
                assert_eq!(got.len(), expected.len(), "{name}");
            }
        }
    }
}

/// Google's Python client sends the latest token again after a drop: no gap, no duplicate.
#[test]
fn every_continuation_token_is_the_place_behind_its_chunk() {
    for (name, log) in turns() {
        let frames = log.feed(log.begun(Dialect::Gemini).as_mut(), 0, log.len());
        for (at, frame) in frames.iter().enumerate() {
            let Some(token) = gemini_client::token(frame) else { continue };
            let (_, cursor) =
                riverrun_dialect::gemini::read_token(&token).expect("a token is a turn and a cursor");
            let mut projector = log.begun(Dialect::Gemini);
            let seen = cursor.sequence.get() as usize;
            log.feed(projector.as_mut(), 0, seen);
            let rest = log.feed(projector.as_mut(), seen, log.len());
            assert_eq!(rest[cursor.part as usize..], frames[at + 1..], "{name}, {token}");
        }
    }
}

/// One step of a made-up turn: which thing, which item, and what it says.
fn steps() -> impl Strategy<Value = Vec<(u8, usize, String)>> {
    proptest::collection::vec((0u8..8, 0usize..6, "[a-z é☂\\[\\]^1]{0,6}"), 0..24)
}

fn made_up(steps: &[(u8, usize, String)], ending: u8) -> Log {
    let scope = |mut event: Value| {
        event["turnId"] = "turn_1".into();
        event["taskId"] = "task_1".into();
        event.to_string()
    };
    let request = json!({"dialect": "chat", "body": {"model": "agent/x", "tools": [{"type": "function", "name": "mine"}]}});
    let mut lines = vec![
        scope(json!({"type": "turn.submitted", "payload": {"input": "x", "request": request}})),
        scope(json!({"type": "turn.started", "payload": {}})),
    ];
    let mut kinds: Vec<(&str, bool)> = Vec::new();
    for (what, at, text) in steps {
        let kind = ["message", "reasoning", "tool_call"][*at % 3];
        let open: Vec<usize> = (0..kinds.len()).filter(|at| kinds[*at].1).collect();
        if *what < 2 || open.is_empty() {
            let index = kinds.len();
            let name = if text.len() % 2 == 0 { "mine" } else { "theirs" };
            let item = json!({"type": kind, "id": format!("i{index}"), "callId": format!("c{index}"), "name": name, "arguments": ""});
            kinds.push((kind, true));
            lines.push(scope(
                json!({"type": "item.started", "payload": {"item": item, "outputIndex": index}}),
            ));
            continue;
        }
        let index = open[at % open.len()];
        let id = format!("i{index}");
        if *what == 7 {
            kinds[index].1 = false;
            let item = json!({"type": kinds[index].0, "id": id, "status": "completed"});
            lines.push(scope(
                json!({"type": "item.completed", "payload": {"item": item, "outputIndex": index}}),
            ));
            if kinds[index].0 == "tool_call" {
                let next = kinds.len();
                kinds.push(("tool_result", false));
                let parts = json!([{"type": "text", "text": text}]);
                let item = json!({"type": "tool_result", "id": format!("i{next}"), "callId": format!("c{index}"), "blockList": parts, "status": "completed"});
                lines.push(scope(
                    json!({"type": "item.completed", "payload": {"item": item, "outputIndex": next}}),
                ));
            }
            continue;
        }
        let event = match kinds[index].0 {
            "message" => {
                json!({"type": "model.delta", "payload": {"delta": text, "itemId": id, "blockIndex": what % 2}})
            }
            "reasoning" => {
                json!({"type": "reasoning.delta", "payload": {"delta": text, "itemId": id, "summaryIndex": what % 2}})
            }
            _ => json!({"type": "tool.args", "payload": {"delta": text, "itemId": id}}),
        };
        lines.push(scope(event));
    }
    lines.push(scope(match ending {
        0 => json!({"type": "turn.completed", "payload": {}}),
        1 => json!({"type": "turn.failed", "payload": {"error": {"message": "no"}}}),
        _ => json!({"type": "turn.cancelled", "payload": {}}),
    }));
    Log::of(lines.iter().map(String::as_str))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_cut_of_any_turn_leads_to_the_same_end(steps in steps(), ending in 0u8..3) {
        let log = made_up(&steps, ending);
        for dialect in DIALECTS {
            check_cuts("made up", dialect, &log);
        }
    }
}
