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

fn check(text: &str, expected: &[(Option<&str>, &str)]) {
    let (found, error) = frames(&[text.as_bytes()], 1000);
    let found: Vec<(Option<&str>, &str)> =
        found.iter().map(|frame| (frame.event.as_deref(), frame.data.as_str())).collect();
    assert_eq!((found.as_slice(), error), (expected, None), "{text:?}");
}

#[test]
fn frames_are_read_as_the_standard_says() {
    check("data: a\n\n", &[(None, "a")]);
    check("data:a\r\n\r\n", &[(None, "a")]);
    check("data: a\r\r", &[(None, "a")]);
    check("\u{feff}data: a\n\n", &[(None, "a")]);
    check("event: x\ndata: a\ndata: b\n\n", &[(Some("x"), "a\nb")]);
    check("data\n\n", &[(None, "")]);
    check("data:  a\n\n", &[(None, " a")]);
    check(": comment\n\nevent: x\n\ndata: a\n\n", &[(None, "a")]);
    check("id: 1\nretry: 2\nother: 3\ndata: a\n\n", &[(None, "a")]);
    check("data: a\n", &[]);
    check("data: a", &[]);
}

#[test]
fn a_frame_over_the_limit_is_an_error_whether_it_has_line_ends_or_not() {
    let too_long = Some(SseError::TooLong { limit: 20 });
    assert_eq!(frames(&[&[b'a'; 21]], 20).1, too_long);
    assert_eq!(frames(&[b"data: 1234567\ndata: 1234567\n\n"], 20).1, too_long);
    assert_eq!(frames(&[b"data: 1234567\n\ndata: 1234567\n\n"], 20).1, None);
}

#[test]
fn bytes_that_are_not_utf8_are_an_error() {
    assert_eq!(frames(&[b"data: \xff\n\n"], 100).1, Some(SseError::InvalidUtf8));
}

/// Bytes that are rich in what the parser looks at.
fn soup() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        Just("\n".as_bytes().to_vec()),
        Just("\r".as_bytes().to_vec()),
        Just("\r\n".as_bytes().to_vec()),
        Just("data:".as_bytes().to_vec()),
        Just("event: x".as_bytes().to_vec()),
        Just(":".as_bytes().to_vec()),
        Just(" ".as_bytes().to_vec()),
        Just("你😀".as_bytes().to_vec()),
        Just(vec![0xef, 0xbb, 0xbf]),
        proptest::collection::vec(any::<u8>(), 0..4),
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
    fn what_is_written_is_read(data in "[a-z你😀 {}:]{0,20}(\n[a-z:]{0,5}){0,3}") {
        let lines: String = data.split('\n').map(|line| format!("data: {line}\n")).collect();
        let (found, _) = frames(&[format!("{lines}\n").as_bytes()], 1000);
        prop_assert_eq!(found, vec![SseFrame { event: None, data }]);
    }

    #[test]
    fn characters_cut_by_utf16_units_come_whole(text in "[a你😀𝄞]{0,12}", at in 0_usize..24) {
        let units: Vec<u16> = text.encode_utf16().collect();
        let (first, second) = units.split_at(at.min(units.len()));
        let escaped = |units: &[u16]| -> String { units.iter().map(|unit| format!("\\u{unit:04x}")).collect() };
        let mut joiner = surrogate::Joiner::default();
        let mut joined = String::new();
        for half in [first, second] {
            let json = Json::parse(&format!("{{\"d\":\"{}\"}}", escaped(half))).unwrap();
            let (text, lost) = joiner.join(json.text("d"), json.has_lone_surrogates);
            prop_assert_eq!(lost, 0);
            joined.push_str(&text);
        }
        prop_assert!(!joiner.end());
        prop_assert_eq!(joined, text);
    }
}
