//! Goes over the members of an object in text that the strict reader has passed, without checking it again.

/// Hands out each member's key and the text of its value, in order.
///
/// None where the text is not what the strict reader leaves, or a key holds an escape: some members may have been
/// handed out by then, and the caller reads the text in another way.
pub(crate) fn walk<'a>(text: &'a str, mut each: impl FnMut(&'a str, &'a str)) -> Option<()> {
    let bytes = text.as_bytes();
    if bytes.first() != Some(&b'{') {
        return None;
    }
    if bytes == b"{}" {
        return Some(());
    }
    let mut at = 0;
    loop {
        // Behind the `{` or `,` at `at` stands a key.
        let key = at + 2;
        if bytes.get(at + 1) != Some(&b'"') {
            return None;
        }
        let key_end = key + memchr::memchr2(b'"', b'\\', bytes.get(key..)?)?;
        if bytes.get(key_end..key_end + 2) != Some(b"\":") {
            return None;
        }
        let value = key_end + 2;
        let end = value_end(bytes, value)?;
        each(text.get(key..key_end)?, text.get(value..end)?);
        match bytes.get(end)? {
            b',' => at = end,
            b'}' if end + 1 == bytes.len() => return Some(()),
            _ => return None,
        }
    }
}

/// Where the value that begins at `at` ends.
fn value_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    match bytes.get(at)? {
        b'"' => string_end(bytes, at),
        b'{' | b'[' => {
            let mut depth = 0_usize;
            loop {
                match bytes.get(at)? {
                    b'"' => {
                        at = string_end(bytes, at)?;
                        continue;
                    }
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => depth -= 1,
                    _ => {}
                }
                at += 1;
                if depth == 0 {
                    return Some(at);
                }
            }
        }
        b'-' | b'0'..=b'9' | b't' | b'f' | b'n' => {
            let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r');
            bytes[at..].iter().position(ends).map(|length| at + length)
        }
        _ => None,
    }
}

/// Where the string whose quote stands at `at` ends, behind its closing quote.
fn string_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut at = at + 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        match bytes[at] {
            b'"' => return Some(at + 1),
            _ => at += 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<Vec<(&str, &str)>> {
        let mut members = Vec::new();
        walk(text, |key, value| members.push((key, value)))?;
        Some(members)
    }

    #[test]
    fn every_member_comes_with_its_whole_value() {
        let text = r#"{"a":"x\"},{","b":{"c":["]}",{}],"d":-1.5e3},"e":[],"f":null,"é":"\\","g":0}"#;
        let expected = [
            ("a", r#""x\"},{""#),
            ("b", r#"{"c":["]}",{}],"d":-1.5e3}"#),
            ("e", "[]"),
            ("f", "null"),
            ("é", r#""\\""#),
            ("g", "0"),
        ];
        assert_eq!(found(text), Some(expected.to_vec()));
        assert_eq!(found("{}"), Some(Vec::new()));
    }

    #[test]
    fn what_the_strict_reader_does_not_leave_is_not_walked() {
        for text in [
            "",
            "[]",
            "{ }",
            r#"{"a": 1}"#,
            r#"{"a" :1}"#,
            r#"{"a":1 }"#,
            r#"{"a":1},"#,
            r#"{"a":1"#,
            r#"{"a":"#,
        ] {
            assert_eq!(found(text), None, "{text}");
        }
        for text in [r#"{"\u0061":1}"#, r#"{"a":"b}"#, r#"{"a":{"b":1}"#, r#"{"a":1,}"#, r#"{,"a":1}"#] {
            assert_eq!(found(text), None, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in r#"[{}\[\]",:\\a1 ]{0,40}"#) {
            let _ = found(&text);
        }
    }
}
