use super::*;

fn check(text: &str) -> Result<String, (ErrorCode, usize, usize)> {
    compact(text.as_bytes(), &JsonLimits::default()).map_err(|e| (e.code(), e.line, e.column))
}

#[test]
fn white_space_goes_and_everything_else_stays() {
    assert_eq!(
        check(
            "\u{feff} { \"a b\" : [ 1.50e+3 , -0, \"\\u00e9 \\n\" ] ,\n\"big\":123456789012345678901234567890 } "
        ),
        Ok(r#"{"a b":[1.50e+3,-0,"\u00e9 \n"],"big":123456789012345678901234567890}"#.to_owned())
    );
}

#[test]
fn every_bad_text_has_its_code_and_place() {
    let deep = "[".repeat(100_000);
    let digits = "9".repeat(1_000_000);
    let wide = format!("[{}1]", "1,".repeat(100_001));
    for (text, code) in [
        ("", ErrorCode::BodyEmpty),
        ("  \n", ErrorCode::BodyEmpty),
        ("{\"a\":", ErrorCode::JsonSyntax),
        ("{\"a\":1,}", ErrorCode::JsonSyntax),
        ("[1 2]", ErrorCode::JsonSyntax),
        ("nul", ErrorCode::JsonSyntax),
        ("01", ErrorCode::JsonSyntax),
        ("1.", ErrorCode::JsonSyntax),
        ("NaN", ErrorCode::JsonSyntax),
        ("{} {}", ErrorCode::JsonSyntax),
        ("\"a\nb\"", ErrorCode::JsonSyntax),
        ("\"\\x\"", ErrorCode::JsonSyntax),
        ("\"\\u12g4\"", ErrorCode::JsonSyntax),
        (deep.as_str(), ErrorCode::JsonTooDeep),
        (wide.as_str(), ErrorCode::JsonTooLarge),
        ("1e999999", ErrorCode::NumberOutOfRange),
        (digits.as_str(), ErrorCode::NumberOutOfRange),
        ("{\"a\":1,\"a\":2}", ErrorCode::JsonDuplicateKey),
        ("{\"a\":1,\"\\u0061\":2}", ErrorCode::JsonDuplicateKey),
        ("\"\\ud800\"", ErrorCode::JsonInvalidUnicode),
        ("\"\\udc00\\ud800\"", ErrorCode::JsonInvalidUnicode),
        ("\"\\ud800\\u0041\"", ErrorCode::JsonInvalidUnicode),
    ] {
        assert_eq!(check(text).map_err(|e| e.0), Err(code), "{}", &text[..text.len().min(40)]);
    }
    assert_eq!(check("{\n  \"a\": x}"), Err((ErrorCode::JsonSyntax, 2, 8)));
    assert_eq!(check("\"\\ud83d\\ude00\""), Ok("\"\\ud83d\\ude00\"".to_owned()));
    let not_utf8 = compact(b"\"\xff\xfe\"", &JsonLimits::default()).unwrap_err();
    assert_eq!((not_utf8.code(), not_utf8.offset), (ErrorCode::InvalidUtf8, 1));
}

#[test]
fn a_repeated_key_is_named_and_nothing_behind_it() {
    let told = |text: &str| compact(text.as_bytes(), &JsonLimits::default()).unwrap_err().to_string();
    let text = r#"{"decision":"a","decision":"reject","digest":"sha256:9bb"}"#;
    assert_eq!(told(text), "the key \"decision\" is repeated at line 1, column 17");
    let long = "k".repeat(100);
    let shown = "k".repeat(39);
    let text = format!("{{\"{long}\":1,\n\"{long}\":2}}");
    assert_eq!(told(&text), format!("the key \"{shown}…\" is repeated at line 2, column 1"));
}

#[test]
fn many_keys_are_still_compared() {
    let keys: Vec<String> = (0..40).map(|n| format!("\"k{n}\":0")).collect();
    assert!(check(&format!("{{{}}}", keys.join(","))).is_ok());
    assert!(check(&format!("{{{},\"k3\":0}}", keys.join(","))).is_err());
    assert!(check(&format!("{{{},\"k39\":0}}", keys.join(","))).is_err());
}

proptest::proptest! {
    /// What the scanner accepts, serde accepts, with the same value; and the other way round, but for our limits.
    #[test]
    fn agrees_with_an_independent_parser(text in "[\\[\\]{},:\"a\\\\u0-9. \\-etrufalsn]{0,24}") {
        let ours = check(&text);
        let theirs = serde_json::from_str::<serde_json::Value>(&text);
        if let Ok(compacted) = &ours {
            proptest::prop_assert_eq!(serde_json::from_str::<serde_json::Value>(compacted).ok(), theirs.ok());
        } else if let Ok(value) = theirs {
            let code = ours.unwrap_err().0;
            proptest::prop_assert!(matches!(code, ErrorCode::JsonDuplicateKey | ErrorCode::NumberOutOfRange), "{value} {code}");
        }
    }

    #[test]
    fn strings_round_trip(text in proptest::prelude::any::<String>()) {
        let mut out = String::new();
        write_string(&mut out, &text);
        proptest::prop_assert_eq!(serde_json::from_str::<String>(&out).ok(), Some(text));
    }
}
