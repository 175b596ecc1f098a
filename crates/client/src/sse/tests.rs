use proptest::prelude::*;

use super::*;

fn check(pieces: &[&[u8]]) -> Result<Vec<SseFrame>, SseError> {
    let mut parser = SseParser::default();
    let mut frames = Vec::new();
    for piece in pieces {
        parser.push(piece, &mut frames)?;
    }
    Ok(frames)
}

fn frame(event: Option<&str>, data: &str, id: Option<&str>) -> SseFrame {
    SseFrame {
        event: event.map(str::to_owned),
        data: data.to_owned(),
        id: id.map(str::to_owned),
        retry: None,
    }
}

#[test]
fn every_line_end_closes_a_line() {
    for end in ["\n", "\r", "\r\n"] {
        let text = ["id: 1", "data: a", "data:b", "", "event: riverrun", "data: c", "", ""].join(end);
        let expected = vec![frame(None, "a\nb", Some("1")), frame(Some("riverrun"), "c", Some("1"))];
        assert_eq!(check(&[text.as_bytes()]), Ok(expected), "{end:?}");
    }
}

#[test]
fn comments_unknown_fields_and_a_byte_order_mark_are_passed_over() {
    let text = "\u{feff}: hello\nfoo: bar\ndata\ndata:  two spaces\n\n: ping\n\n";
    assert_eq!(check(&[text.as_bytes()]), Ok(vec![frame(None, "\n two spaces", None)]));
}

#[test]
fn a_byte_order_mark_inside_the_stream_is_content() {
    let text = "data: a\n\ndata: \u{feff}b\n\n";
    assert_eq!(check(&[text.as_bytes()]), Ok(vec![frame(None, "a", None), frame(None, "\u{feff}b", None)]));
}

#[test]
fn an_id_holds_until_another_comes_and_one_with_nul_is_ignored() {
    let text = "id: 1\ndata: a\n\nid: 2\0\ndata: b\n\nid\ndata: c\n\n";
    let expected = vec![frame(None, "a", Some("1")), frame(None, "b", Some("1")), frame(None, "c", Some(""))];
    assert_eq!(check(&[text.as_bytes()]), Ok(expected));
}

#[test]
fn a_retry_without_data_waits_for_the_next_frame() {
    let frames = check(&[b"retry: 250\n\nretry: x\ndata: a\n\n"]).expect("valid");
    assert_eq!(frames, vec![SseFrame { retry: Some(250), ..frame(None, "a", None) }]);
}

#[test]
fn an_unfinished_frame_is_never_dispatched() {
    let mut parser = SseParser::default();
    let mut frames = Vec::new();
    parser.push(b"data: a\n\ndata: half", &mut frames).expect("valid");
    assert_eq!(frames, vec![frame(None, "a", None)]);
    assert!(parser.is_inside_frame());
}

#[test]
fn limits_hold_while_reading() {
    let limits = SseLimits { line_bytes: 12, frame_bytes: 8 };
    let push = |text: &str| SseParser::new(limits).push(text.as_bytes(), &mut Vec::new());
    assert_eq!(push("data: 1234567\n"), Err(SseError::LineTooLong { limit: 12 }));
    assert_eq!(push("data: 1234\ndata: 5678\n"), Err(SseError::FrameTooLong { limit: 8 }));
    assert_eq!(push("data: 123456\n\n"), Ok(()));
}

#[test]
fn bytes_that_are_not_utf8_are_an_error_not_a_replacement() {
    assert_eq!(check(&[b"data: \xff\n\n"]), Err(SseError::InvalidUtf8 { at: 6 }));
}

/// Streams made of the pieces that matter, so that cuts fall inside them often.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just("data: "),
        Just("data:"),
        Just("id: 4.x"),
        Just("event: riverrun"),
        Just("retry: 12"),
        Just(": comment"),
        Just("{\"a\":\"é漢😀\"}"),
        Just("\u{feff}"),
        Just("\n"),
        Just("\r"),
        Just("\r\n"),
        Just("\n\n"),
        Just("\0"),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat().into_bytes())
}

proptest! {
    #[test]
    fn any_split_gives_the_same_frames(bytes in stream(), cuts in proptest::collection::vec(0usize..400, 0..12)) {
        let whole = check(&[&bytes]);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.sort_unstable();
        let mut pieces = Vec::new();
        let mut from = 0;
        for cut in cuts.into_iter().chain([bytes.len()]) {
            pieces.push(&bytes[from..cut]);
            from = cut;
        }
        prop_assert_eq!(&check(&pieces), &whole);
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        prop_assert_eq!(&check(&single), &whole);
    }

    #[test]
    fn what_is_written_is_read_back(data in "[^\r\u{0}]{0,60}", id in "[a-z0-9.]{1,12}") {
        let lines: String = data.split('\n').map(|line| format!("data: {line}\n")).collect();
        let text = format!("id: {id}\n{lines}\n");
        prop_assert_eq!(check(&[text.as_bytes()]), Ok(vec![frame(None, &data, Some(&id))]));
    }
}
