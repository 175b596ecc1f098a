use std::time::{Duration, Instant};

use serde_json::json;

use super::*;

fn problem(schema: Value) -> SchemaError {
    check_schema(&schema).expect_err("the schema is refused")
}

fn unusable(schema: Value, part: &str) {
    match problem(schema) {
        SchemaError::Unusable(text) => assert!(text.contains(part), "{text}"),
        SchemaError::TooLarge(text) => panic!("not too large: {text}"),
    }
}

fn too_large(schema: Value, part: &str) {
    match problem(schema) {
        SchemaError::TooLarge(text) => assert!(text.contains(part), "{text}"),
        SchemaError::Unusable(text) => panic!("not unusable: {text}"),
    }
}

/// Definitions of which each leads to the one before four times, through the part that is made of them.
fn fan(levels: usize, part: impl Fn(Value) -> Value) -> Value {
    let mut defs = serde_json::Map::from_iter([("a0".to_owned(), json!({"type": "integer"}))]);
    for level in 1..=levels {
        let before = json!({"$ref": format!("#/$defs/a{}", level - 1)});
        defs.insert(format!("a{level}"), part(json!([before, before, before, before])));
    }
    json!({"type": "object", "$defs": defs, "properties": {"a": {"$ref": format!("#/$defs/a{levels}")}}})
}

fn soon<T>(work: impl FnOnce() -> T) -> T {
    let begun = Instant::now();
    let done = work();
    assert!(begun.elapsed() < Duration::from_secs(5), "it took {:?}", begun.elapsed());
    done
}

#[test]
fn references_that_fan_out_are_refused() {
    for word in ["allOf", "anyOf", "oneOf", "prefixItems", "x-unknown"] {
        too_large(fan(31, |parts| json!({word: parts})), "10000 parts");
        too_large(fan(7, |parts| json!({word: parts})), "10000 parts");
        assert_eq!(check_schema(&fan(4, |parts| json!({word: parts}))), Ok(()), "{word}");
    }
    too_large(
        fan(31, |parts| json!({"properties": {"a": parts[0], "b": parts[1], "c": parts[2]}})),
        "10000 parts",
    );
    too_large(
        fan(31, |parts| json!({"if": parts[0], "then": parts[1], "else": {"not": parts[2]}})),
        "10000 parts",
    );
}

#[test]
fn what_is_unevaluated_is_asked_twice_and_counts_so() {
    let nest = |depth| {
        (0..depth).fold(
            json!({"type": "object"}),
            |inner, _| json!({"anyOf": [inner], "unevaluatedProperties": false}),
        )
    };
    too_large(nest(40), "10000 parts");
    let value = json!({"a": 1});
    assert!(soon(|| check_value(&nest(8), &value)).is_err());
}

#[test]
fn a_schema_may_not_be_long_or_deep() {
    too_large(json!({"description": "x".repeat(300_000)}), "bytes");
    let deep = (0..60).fold(json!({}), |inner, _| json!({"items": inner}));
    assert_eq!(check_schema(&deep), Ok(()));
    let mut chain = json!({"$defs": {}, "$ref": "#/$defs/a0"});
    for level in 0..300 {
        chain["$defs"][format!("a{level}")] = json!({"$ref": format!("#/$defs/a{}", level + 1)});
    }
    chain["$defs"]["a300"] = json!({});
    too_large(chain, "256 deep");
    too_large(json!({"enum": (0..20_000).collect::<Vec<_>>()}), "10000 parts");
    let patterns: serde_json::Map<_, _> =
        (0..300).map(|n| (format!("p{n}"), json!({"pattern": "a"}))).collect();
    too_large(json!({"properties": patterns}), "10000 parts");
}

#[test]
fn remote_references_and_those_that_never_move_on_are_refused() {
    unusable(json!({"$ref": "https://a.test/s.json"}), "inside the schema");
    unusable(json!({"$ref": "file:///etc/passwd"}), "inside the schema");
    unusable(json!({"$ref": "#"}), "comes back");
    unusable(json!({"properties": {"a": {"not": {"$ref": "#/properties/a"}}}}), "comes back");
    unusable(
        json!({"$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"$ref": "#/$defs/a"}}}),
        "comes back",
    );
    // The second is known from a place where it does move on.
    let both = json!({"$defs": {"a": {"items": {"$ref": "#/$defs/b"}, "allOf": [{"$ref": "#/$defs/b"}]},
        "b": {"anyOf": [{"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"});
    unusable(both, "comes back");
    unusable(json!({"$ref": "#/nowhere"}), "nothing");
    unusable(json!({"$defs": {"a": {"$id": "https://a.test/a", "$ref": "#/$defs/b"}}}), "$id");
    unusable(json!([]), "object");
    unusable(json!(5), "object");
    unusable(json!({"type": "objet"}), "`/type`");
}

#[test]
fn plain_references_and_properties_named_like_them_are_taken() {
    let schema = json!({"$id": "https://a.test/whole", "$defs": {"n": {"type": "integer"}}, "properties": {
        "$ref": {"type": "string"}, "a": {"$ref": "#/$defs/n"}, "b": {"$ref": "#/$defs/n"}, "id": {"type": "string"},
    }});
    assert_eq!(check_schema(&schema), Ok(()));
}

fn nested(depth: usize) -> Value {
    (0..depth).fold(json!(1), |inner, _| json!({"a": [inner]}))
}

#[test]
fn a_schema_that_comes_back_once_for_each_level_takes_any_depth() {
    let tree = json!({"type": "object", "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}});
    let list = json!({"$defs": {"n": {"items": {"$ref": "#/$defs/n"}}}, "$ref": "#/$defs/n"});
    let any = json!({"$defs": {"json": {"anyOf": [{"type": ["integer", "string"]},
        {"type": "array", "items": {"$ref": "#/$defs/json"}},
        {"type": "object", "additionalProperties": {"$ref": "#/$defs/json"}}]}}, "$ref": "#/$defs/json"});
    for schema in [&tree, &list, &any] {
        assert_eq!(soon(|| check_value(schema, &nested(30))), Ok(()), "{schema}");
    }
    assert!(check_value(&tree, &json!({"left": {"right": 1}})).is_err());
}

#[test]
fn a_schema_that_comes_back_more_often_takes_little_depth() {
    let many = json!({"properties": {"a": {"items": {"anyOf":
        [{"$ref": "#"}, {"$ref": "#"}, {"$ref": "#"}, {"type": "string"}]}}}});
    assert_eq!(check_value(&many, &nested(3)), Ok(()));
    let refused = soon(|| check_value(&many, &nested(60))).unwrap_err();
    assert_eq!(
        refused,
        "it is nested 120 deep, which is too deep for a schema that comes back to itself in 3 ways; nest it less"
    );
}

#[test]
fn no_pattern_takes_long() {
    let long = json!("a".repeat(100_000) + "!");
    for pattern in ["^(a+)+$", "^(a|a)*$", "^(?=a)(a+)+$", "^(a*)*\\1$", "^(?:a?){50}a{50}$"] {
        let fits = soon(|| check_value(&json!({"pattern": pattern}), &long));
        assert!(fits.is_err(), "{pattern}");
    }
    let large = soon(|| check_schema(&json!({"pattern": "((a{100}){100}){100}"})));
    assert!(matches!(large, Err(SchemaError::Unusable(_))), "{large:?}");
}
