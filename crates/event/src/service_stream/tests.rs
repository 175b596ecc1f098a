//! What a service sent is read back as it was, whatever was expected.

use super::*;

fn sent(event: &Value) -> SentText {
    let mut members = event.as_object().expect("an object").clone();
    let bytes = members.remove("delta").expect("a delta").as_str().expect("a text").len();
    SentText { bytes, members }
}

/// Records the events, deltas of text as `join` of them to one event of the log; gives back what is read, and the bytes
/// that the log has for them.
fn through(events: &[Value], join: usize) -> (Vec<Value>, usize) {
    let (mut writer, mut reader) = (ServiceStream::default(), ServiceStream::default());
    let (mut read, mut bytes) = (Vec::new(), 0);
    let mut waiting: Vec<Value> = Vec::new();
    let flush = |waiting: &mut Vec<Value>, writer: &mut ServiceStream, reader: &mut ServiceStream| {
        let text: String = waiting.iter().filter_map(|event| event["delta"].as_str()).collect();
        let carried = waiting.drain(..).map(|event| sent(&event)).collect();
        let member = writer.record_text(Growth::Text, &text, Some(carried));
        let size = member.as_ref().map_or(0, |member| serde_json::to_string(member).expect("JSON").len());
        (reader.read_text(Growth::Text, &text, member.as_deref()), size)
    };
    for event in events {
        if event["type"] == "response.output_text.delta" {
            waiting.push(event.clone());
            if waiting.len() < join {
                continue;
            }
        }
        if !waiting.is_empty() {
            let (found, size) = flush(&mut waiting, &mut writer, &mut reader);
            read.extend(found);
            bytes += size;
        }
        if event["type"] != "response.output_text.delta" {
            for payload in writer.record(event) {
                bytes += serde_json::to_string(&payload).expect("JSON").len();
                read.extend(reader.read(&payload));
            }
        }
    }
    (read, bytes)
}

fn call(id: &str, words: &[&str], obfuscated: bool) -> Vec<Value> {
    let instructions = "Be brief. ".repeat(50);
    let response = json!({"id": id, "object": "response", "status": "in_progress", "model": "m", "output": [],
        "instructions": instructions, "usage": null, "tools": [{"type": "function", "name": "f", "parameters": {}}]});
    let text = words.concat();
    let part = json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []});
    let item = json!({"id": "msg_1", "type": "message", "status": "completed", "role": "assistant", "content": [part]});
    let mut begun = (part.clone(), item.clone());
    begun.0["text"] = json!("");
    (begun.1["status"], begun.1["content"]) = (json!("in_progress"), json!([]));
    let mut ended = response.clone();
    (ended["status"], ended["output"]) = (json!("completed"), json!([item]));
    ended["usage"] = json!({"input_tokens": 7, "output_tokens": 3, "ratio": 0.1, "total_tokens": 10});
    let at = |event: Value| {
        let mut event = event;
        event["item_id"] = json!("msg_1");
        event["output_index"] = json!(0);
        event["content_index"] = json!(0);
        event
    };
    let mut events = vec![
        json!({"type": "response.created", "response": response}),
        json!({"type": "response.in_progress", "response": response}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": begun.1}),
        at(json!({"type": "response.content_part.added", "part": begun.0})),
    ];
    for (index, word) in words.iter().enumerate() {
        let mut delta = at(json!({"type": "response.output_text.delta", "delta": word, "logprobs": []}));
        if obfuscated {
            delta["obfuscation"] = json!(format!("x{index}y"));
        }
        events.push(delta);
    }
    events.push(at(json!({"type": "response.output_text.done", "text": text, "logprobs": []})));
    events.push(at(json!({"type": "response.content_part.done", "part": part})));
    events.push(json!({"type": "response.output_item.done", "output_index": 0, "item": item}));
    events.push(json!({"type": "response.completed", "response": ended}));
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = json!(number);
    }
    events
}

#[test]
fn events_are_read_as_they_were_sent() {
    for obfuscated in [false, true] {
        for join in [1, 2, 100] {
            let mut events = call("resp_1", &["Hel", "lo \u{1f980}", "", " there"], obfuscated);
            events.extend(call("resp_2", &["again"], obfuscated));
            assert_eq!(through(&events, join).0, events, "{obfuscated} {join}");
        }
    }
}

#[test]
fn what_is_expected_costs_nothing() {
    let words: Vec<&str> = std::iter::repeat_n("word ", 1000).collect();
    let (short, long) = (call("r", &words[..10], false), call("r", &words, false));
    let (few, many) = (through(&short, 1).1, through(&long, 1).1);
    assert!(many - few < 16, "a thousand words more are {} bytes more", many - few);
    // The next call repeats its instructions and tools.
    let twice = [long.clone(), call("r2", &words, false)].concat();
    assert!(through(&twice, 1).1 - many < 1200, "{}", through(&twice, 1).1 - many);
}

#[test]
fn any_event_is_read_back() {
    let large = "x".repeat(100_000);
    let events = [
        json!({"type": "response.created", "response": {"id": "r"}, "sequence_number": 5}),
        json!({"type": "response.of_next_year", "a/b": {"~": [1, {"c": null}]}, "n": 1.5}),
        json!({"type": "response.of_next_year", "a/b": {"~": [1, {"d": 2}]}}),
        json!({"type": "response.image_generation_call.partial_image", "output_index": 1, "partial_image_b64": large}),
        json!({"type": "response.output_item.done", "output_index": 3, "item": "no item"}),
        json!({"type": "response.failed", "response": {"id": "r", "error": {"code": "x"}}}),
        json!({"type": "error", "message": "m", "sequence_number": "none"}),
    ];
    assert_eq!(through(&events, 1).0, events);
}

#[test]
fn a_long_record_is_in_pieces_that_fit_an_event() {
    let event = json!({"type": "response.x.y", "data": "\"".repeat(100_000)});
    let payloads = ServiceStream::default().record(&event);
    assert!(payloads.len() > 3);
    assert!(payloads.iter().all(|payload| serde_json::to_string(payload).expect("JSON").len() < 100_000));
}

#[test]
fn text_in_pieces_is_one_event_of_the_service() {
    let (mut writer, mut reader) = (ServiceStream::default(), ServiceStream::default());
    let created = json!({"type": "response.created", "response": {}});
    for payload in writer.record(&created) {
        reader.read(&payload);
    }
    let event = json!({"type": "response.output_text.delta", "output_index": 0, "delta": "one two"});
    let first = writer.record_text(Growth::Text, "one ", Some(Vec::new()));
    let last = writer.record_text(Growth::Text, "two", Some(vec![sent(&event)]));
    assert_eq!(reader.read_text(Growth::Text, "one ", first.as_deref()), Vec::<Value>::new());
    assert_eq!(reader.read_text(Growth::Text, "two", last.as_deref()), std::slice::from_ref(&event));
    // Text that no event carried belongs to none.
    let aside = writer.record_text(Growth::Text, "aside", Some(Vec::new()));
    let next = writer.record_text(Growth::Text, "one two", Some(vec![sent(&event)]));
    assert_eq!(reader.read_text(Growth::Text, "aside", aside.as_deref()), Vec::<Value>::new());
    assert_eq!(reader.read_text(Growth::Text, "one two", next.as_deref()), [event]);
}

#[test]
fn who_comes_in_the_middle_reads_nothing_wrong() {
    let events = call("r", &["a"], false);
    let (mut writer, mut reader) = (ServiceStream::default(), ServiceStream::default());
    writer.record(&events[0]);
    assert!(writer.record(&events[1]).iter().all(|payload| reader.read(payload).is_none()));
    assert!(!reader.has_begun());
}
