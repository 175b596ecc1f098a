use proptest::prelude::*;

use super::*;

fn frames(pieces: &[&[u8]], limit: usize) -> (Vec<SseFrame>, Option<SseError>) {
    let mut parser = SseParser::new(limit);
    let mut frames = Vec::new();
    for piece in pieces {
        if let Err(error) = parser.push(piece, &mut frames) {
            return (frames, Some(error));
        }
    }
    (frames, None)
}

fn check(text: &str, expected: &[(Option<&str>, &str, Option<&str>)]) {
    let (found, error) = frames(&[text.as_bytes()], 1000);
    let found: Vec<_> = found
        .iter()
        .map(|frame| (frame.event.as_deref(), frame.data.as_str(), frame.id.as_deref()))
        .collect();
    assert_eq!((found.as_slice(), error), (expected, None), "{text:?}");
}

#[test]
fn frames_follow_the_standard() {
    check("data: a\n\n", &[(None, "a", None)]);
    check("data:a\r\n\r\n", &[(None, "a", None)]);
    check("data: a\r\r", &[(None, "a", None)]);
    check("event: x\ndata: a\ndata: b\n\n", &[(Some("x"), "a\nb", None)]);
    check("data\n\n", &[(None, "", None)]);
    check("data:  a\n\n", &[(None, " a", None)]);
    check(": comment\n\nevent: x\n\ndata: a\n\n", &[(None, "a", None)]);
    check("id: 1\nretry: 2\nother: 3\ndata: a\n\n", &[(None, "a", Some("1"))]);
}

#[test]
fn every_line_end_closes_a_line() {
    for end in ["\n", "\r", "\r\n"] {
        let text = ["id: 1", "data: a", "data:b", "", "event: riverrun", "data: c", "", ""].join(end);
        check(&text, &[(None, "a\nb", Some("1")), (Some("riverrun"), "c", Some("1"))]);
    }
}

#[test]
fn comments_and_unknown_fields_are_skipped() {
    check("\u{feff}: hello\nfoo: bar\ndata\ndata:  two\n\n: ping\n\n", &[(None, "\n two", None)]);
}

#[test]
fn a_byte_order_mark_counts_only_at_the_start() {
    check("\u{feff}data: a\n\n", &[(None, "a", None)]);
    check("data: a\n\ndata: \u{feff}b\n\n", &[(None, "a", None), (None, "\u{feff}b", None)]);
}

#[test]
fn an_id_holds_until_another_comes_and_one_with_nul_is_ignored() {
    let expected = [(None, "a", Some("1")), (None, "b", Some("1")), (None, "c", Some(""))];
    check("id: 1\ndata: a\n\nid: 2\0\ndata: b\n\nid\ndata: c\n\n", &expected);
}

#[test]
fn a_retry_without_data_waits_for_the_next_frame() {
    let (found, _) = frames(&[b"retry: 250\n\nretry: x\ndata: a\n\ndata: b\n\n"], 100);
    assert_eq!([found[0].retry, found[1].retry], [Some(250), None]);
}

#[test]
fn an_id_and_a_retry_without_data_can_be_asked_for() {
    let mut parser = SseParser::new(100);
    parser.push(b"id: 4\nretry: 30\n\n", &mut Vec::new()).expect("valid");
    assert_eq!((parser.last_id(), parser.pending_retry()), (Some("4"), Some(30)));
}

#[test]
fn an_unfinished_frame_is_never_dispatched() {
    check("data: a\n", &[]);
    check("data: a", &[]);
    check("data: a\n\ndata: half", &[(None, "a", None)]);
}

#[test]
fn a_frame_over_the_limit_is_an_error_with_or_without_line_ends() {
    let too_long = Some(SseError::TooLong { limit: 20 });
    assert_eq!(frames(&[&[b'a'; 21]], 20).1, too_long);
    assert_eq!(frames(&[b"data: 1234567\ndata: 1234567\n\n"], 20).1, too_long);
    assert_eq!(frames(&[b"data: 1234567\n\ndata: 1234567\n\n"], 20).1, None);
}

#[test]
fn bytes_that_are_not_utf8_are_an_error_that_stays() {
    let mut parser = SseParser::new(100);
    let mut found = Vec::new();
    assert_eq!(parser.push(b"data: a\n\ndata: \xff\n\n", &mut found), Err(SseError::InvalidUtf8));
    assert_eq!(parser.push(b"data: b\n\n", &mut found), Err(SseError::InvalidUtf8));
    assert_eq!(found.len(), 1, "what came before the error is read");
}

/// Bytes that are rich in what the parser looks at.
fn soup() -> impl Strategy<Value = Vec<u8>> {
    let texts = ["\n", "\r", "\r\n", "\n\n", "data:", "data: x", "id: 4.x", "event: x", "retry: 12", ":"];
    let text = proptest::sample::select([&texts[..], &[" ", "你😀", "\u{feff}", "\0"]].concat());
    let word = prop_oneof![
        4 => text.prop_map(|text| text.as_bytes().to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 0..4),
    ];
    proptest::collection::vec(word, 0..40).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn any_split_gives_the_same_frames(bytes in soup(), cuts in proptest::collection::vec(0_usize..200, 0..6)) {
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        let bytewise: Vec<&[u8]> = bytes.chunks(1).collect();
        let whole = frames(&[&bytes], 60);
        prop_assert_eq!(&frames(&pieces, 60), &whole);
        prop_assert_eq!(&frames(&bytewise, 60), &whole);
    }

    #[test]
    fn what_is_written_is_read(data in "[^\r\u{0}]{0,60}", id in "[a-z0-9.]{1,12}") {
        let lines: String = data.split('\n').map(|line| format!("data: {line}\n")).collect();
        let (found, error) = frames(&[format!("id: {id}\n{lines}\n").as_bytes()], 2000);
        prop_assert_eq!((found, error), (vec![SseFrame { data, id: Some(id), ..SseFrame::default() }], None));
    }
}
