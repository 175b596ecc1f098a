//! The golden vectors: a turn in, the body and the object out. `RIVERRUN_BLESS=1` writes them anew.

use std::path::Path;

use riverrun_dialect::{Dialect, WholeAnswer};

use crate::log::{DIALECTS, parse_sse, root, turns};

fn check_file(path: &Path, actual: &str) {
    if std::env::var_os("RIVERRUN_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("a folder");
        std::fs::write(path, actual).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
    let expected =
        std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(actual, expected, "{}: RIVERRUN_BLESS=1 writes it anew", path.display());
}

#[test]
fn every_turn_gives_its_body_and_its_object() {
    for (name, log) in turns() {
        for dialect in DIALECTS {
            let folder = root().join("spec/vectors/dialect").join(dialect.name());
            check_file(&folder.join(format!("{name}.sse")), &log.body(dialect));
            let answer = match log.answer(dialect, log.len()) {
                WholeAnswer::Whole(object) => object,
                WholeAnswer::Failed(failure) => dialect.error_body(&failure, None).expect("it has a shape"),
                WholeAnswer::None | WholeAnswer::Open(_) => panic!("{name}: the turn is over"),
            };
            check_file(&folder.join(format!("{name}.json")), &format!("{answer}\n"));
        }
    }
}

/// The framing matrix: which fields and which names an official client takes.
#[test]
fn bodies_keep_to_their_framing() {
    for (name, log) in turns() {
        for dialect in DIALECTS {
            let frames = parse_sse(&log.body(dialect));
            for frame in &frames {
                let has_name = !frame.name.is_empty();
                match dialect {
                    Dialect::Chat | Dialect::Gemini => assert!(!has_name, "{name}: {frame:?}"),
                    _ => assert_eq!(frame.json()["type"], frame.name.as_str(), "{name}"),
                }
                assert!(!frame.data.contains('\n'), "{name}: one line each");
                if dialect == Dialect::Chat && frame.data == "[DONE]" {
                    break;
                }
            }
        }
    }
}

/// A turn that did not end well must not look like one that did.
#[test]
fn failed_and_cancelled_turns_end_with_an_error() {
    for name in ["failed", "cancelled"] {
        let log = crate::log::turn(name);
        let last = |dialect| parse_sse(&log.body(dialect)).pop().expect("it has frames");
        assert!(last(Dialect::Chat).json()["error"]["message"].is_string(), "{name}");
        assert!(last(Dialect::Gemini).json()["error"]["status"].is_string(), "{name}");
        assert_eq!(last(Dialect::Anthropic).name, "error", "{name}");
        let response = last(Dialect::Responses);
        let status = response.json()["response"]["status"].clone();
        match name {
            "failed" => assert_eq!((response.name.as_str(), status), ("response.failed", "failed".into())),
            _ => assert_eq!((response.name.as_str(), status), ("response.incomplete", "cancelled".into())),
        }
    }
}

/// On our own routes every frame brings its cursor, except where the official client fails on an `id:` line; and then
/// no heartbeat is a blank line of its own.
#[test]
fn frames_bring_a_cursor_that_the_clients_take() {
    use riverrun_dialect::{Framing, Heartbeat, ResumeMethod};
    for dialect in Dialect::ALL {
        let (rules, name) = (dialect.rules(), dialect.name());
        let own = rules.own_framing();
        assert_eq!(dialect.resume(own), ResumeMethod::Cursor, "{name}");
        assert_eq!(own == Framing::ForeignSse, *dialect == Dialect::Gemini, "{name}");
        if own == Framing::ForeignSseWithIds {
            let comment = Heartbeat::Bytes(": ka\n");
            let ping = Heartbeat::Bytes("event: ping\ndata: {\"type\":\"ping\"}\n\n");
            let expected = if *dialect == Dialect::Anthropic { ping } else { comment };
            assert_eq!(rules.heartbeat.on(own), expected, "{name}");
        }
    }
    assert_eq!(Dialect::Chat.resume(Framing::ForeignSse), ResumeMethod::Start);
    assert_eq!(Dialect::Chat.resume(Framing::Ndjson), ResumeMethod::Start);
    assert_eq!(Dialect::Native.resume(Framing::Ndjson), ResumeMethod::Cursor);
}

/// The rest of the framing matrix: nothing but frames and the allowed heartbeat ever stands in a foreign body.
#[test]
fn foreign_streams_have_no_words_of_ours() {
    let control = riverrun_dialect::ControlMessage::Draining { retry_millis: 5 };
    for dialect in DIALECTS {
        let rules = dialect.rules();
        let mut out = String::new();
        riverrun_dialect::write_control(rules.framing, &control, &mut out);
        assert_eq!((out.as_str(), rules.controls), ("", false), "{}", dialect.name());
        let heartbeat = match rules.heartbeat {
            riverrun_dialect::Heartbeat::Bytes(bytes) => Some(bytes),
            riverrun_dialect::Heartbeat::Never => None,
            riverrun_dialect::Heartbeat::Control => panic!("{} knows no controls", dialect.name()),
        };
        let expected = match dialect {
            Dialect::Gemini => None,
            Dialect::Anthropic => Some("event: ping\ndata: {\"type\":\"ping\"}\n\n"),
            _ => Some(": ka\n\n"),
        };
        assert_eq!(heartbeat, expected, "{}", dialect.name());
        assert_eq!(
            rules.joins_deltas,
            dialect != Dialect::Responses,
            "joined deltas would change the numbers"
        );
    }
}
