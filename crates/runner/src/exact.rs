//! Arguments that a reader could take for others: numbers that would be changed on their way, and members named twice.
//!
//! What a person sees, what is signed for and what a tool gets must be one and the same.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Err names the first place that cannot be taken, and why. Whatever is no JSON is left to who reads it.
pub(crate) fn check(text: &str) -> Result<(), String> {
    match serde_json::from_str::<&RawValue>(text) {
        Ok(value) => walk(value.get(), ""),
        Err(_) => Ok(()),
    }
}

fn walk(text: &str, path: &str) -> Result<(), String> {
    match text.as_bytes().first() {
        Some(b'{') => {
            let Ok(members) = serde_json::Deserializer::from_str(text).deserialize_map(Members) else {
                return Ok(());
            };
            let mut names = BTreeSet::new();
            for (name, value) in &members {
                let path = format!("{path}/{name}");
                if !names.insert(name) {
                    return Err(format!("`{path}` is there twice; say it once"));
                }
                walk(value.get(), &path)?;
            }
            Ok(())
        }
        Some(b'[') => {
            let values: Vec<&RawValue> = serde_json::from_str(text).unwrap_or_default();
            let mut places = values.iter().enumerate();
            places.try_for_each(|(location, value)| walk(value.get(), &format!("{path}/{location}")))
        }
        Some(b'-' | b'0'..=b'9') if !is_exact(text) => {
            let location = if path.is_empty() { "the value" } else { path };
            Err(format!(
                "`{location}`: the number {text} cannot be kept exactly; give it as a text, or shorter"
            ))
        }
        _ => Ok(()),
    }
}

/// True if the number has the same value after it was read and written.
fn is_exact(text: &str) -> bool {
    if text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok() {
        return true;
    }
    // Minus zero is a number of its own, and no whole one.
    let is_whole = !text.contains(['.', 'e', 'E']);
    let Ok(number) = text.parse::<f64>() else { return false };
    (!is_whole || number == 0.0) && digits(text) == digits(&format!("{number:e}"))
}

/// The digits of a number that count, and where its point stands behind the first of them.
fn digits(text: &str) -> (String, i64) {
    let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let all = format!("{}{fraction}", whole.trim_start_matches('-'));
    let leading = all.len() - all.trim_start_matches('0').len();
    let significant = all.trim_matches('0').to_owned();
    if significant.is_empty() {
        return (significant, 0);
    }
    let whole = i64::try_from(whole.trim_start_matches('-').len()).unwrap_or(i64::MAX);
    let point = whole - i64::try_from(leading).unwrap_or(i64::MAX);
    (significant, point.saturating_add(exponent.parse().unwrap_or(i64::MAX)))
}

/// Reads an object with all of its members.
struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_would_be_changed_is_refused_with_its_place() {
        for number in [
            "18446744073709551616",
            "-9223372036854775809",
            "123456789012345678901234567890",
            "0.1234567890123456789",
            "1e-400",
            "100000000000000000000000",
        ] {
            let problem = check(&format!(r#"{{"a":[{{"n":{number}}}]}}"#)).expect_err(number);
            assert!(problem.contains("`/a/0/n`") && problem.contains(number), "{problem}");
        }
    }

    #[test]
    fn a_number_that_stays_what_it_is_is_taken() {
        let numbers = "18446744073709551615 -9223372036854775808 0 -0 0.0 0.1 0.10 1.0 1e2 1E+2 1.5e300 -2.5e-7 100.25 5e-324 0.000001 10.0";
        for number in numbers.split(' ') {
            assert_eq!(check(&format!(r#"{{"n":{number}}}"#)), Ok(()), "{number}");
        }
    }

    #[test]
    fn a_member_named_twice_is_refused_however_it_is_written() {
        for text in [r#"{"a":{"b":1,"b":1}}"#, r#"{"a":{"b":1,"\u0062":2}}"#] {
            assert_eq!(check(text), Err("`/a/b` is there twice; say it once".to_owned()));
        }
        assert_eq!(check(r#"{"a":{"b":"\"b\":1"},"b":[1,{"a":2},"18446744073709551616"]}"#), Ok(()));
        assert_eq!(check("no JSON"), Ok(()));
    }
}
