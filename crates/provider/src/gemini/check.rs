//! What Gemini refuses.

use serde_json::Value;

use crate::check::{RequestFlaw, refuse};

/// Checks the body of a request as the service does.
pub fn check(body: &Value) -> Result<(), RequestFlaw> {
    let Some(contents) = body["contents"].as_array().filter(|list| !list.is_empty()) else {
        return refuse("contents", "must be an array with at least one content");
    };
    let mut waiting: Vec<&str> = Vec::new();
    for (at, content) in contents.iter().enumerate() {
        let location = format!("contents[{at}]");
        let role = if at % 2 == 0 { "user" } else { "model" };
        if content["role"] != role {
            return refuse(&location, &format!("roles must take turns: this one must be `{role}`"));
        }
        let Some(parts) = content["parts"].as_array().filter(|parts| !parts.is_empty()) else {
            return refuse(&location, "parts must not be empty");
        };
        parts.iter().try_for_each(|part| whole(&location, part))?;
        if role == "user" {
            let answers = names(parts, "functionResponse");
            if answers != waiting {
                return refuse(
                    &location,
                    "the function responses must be those of the function calls in the content before, in their order",
                );
            }
            waiting.clear();
        } else {
            waiting = names(parts, "functionCall");
        }
    }
    match waiting.first() {
        Some(name) => refuse("contents", &format!("the function call `{name}` has no function response")),
        None if contents.len() % 2 == 0 => {
            refuse("contents", "the conversation must end with a user turn or a function response")
        }
        None => Ok(()),
    }
}

fn names<'a>(parts: &'a [Value], kind: &str) -> Vec<&'a str> {
    parts.iter().filter_map(|part| part[kind]["name"].as_str()).collect()
}

fn whole(location: &str, part: &Value) -> Result<(), RequestFlaw> {
    const KINDS: &[&str] = &["text", "functionCall", "functionResponse", "inlineData", "fileData"];
    if KINDS.iter().filter(|kind| !part[**kind].is_null()).count() != 1 {
        return refuse(location, "a part must hold exactly one kind of data");
    }
    if part["text"].as_str().is_some_and(str::is_empty) {
        return refuse(location, "a text part must not be empty");
    }
    for (kind, member) in [("functionCall", "args"), ("functionResponse", "response")] {
        if part[kind].is_object() && (!part[kind][member].is_object() || !part[kind]["name"].is_string()) {
            return refuse(location, &format!("a {kind} needs its name and {member} as an object"));
        }
    }
    Ok(())
}
