//! Values that the model name brings along: `long?deltas=1000&pace_ms=5`.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

pub type Values = BTreeMap<String, Value>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    Number(u64),
    Word(String),
}

/// A number of a scenario, or the parameter that gives it: `5` or `"$pace_ms"`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Amount {
    Fixed(u64),
    Parameter(String),
}

impl Default for Amount {
    fn default() -> Self {
        Amount::Fixed(0)
    }
}

impl Amount {
    pub fn of(&self, values: &Values) -> u64 {
        match self {
            Amount::Fixed(number) => *number,
            Amount::Parameter(name) => match values.get(name) {
                Some(Value::Number(number)) => *number,
                Some(Value::Word(_)) | None => 0,
            },
        }
    }
}

/// A word of a scenario; `$name` stands for a parameter.
pub fn word(text: &str, values: &Values) -> String {
    match text.strip_prefix('$').and_then(|name| values.get(name)) {
        Some(Value::Word(word)) => word.clone(),
        Some(Value::Number(number)) => number.to_string(),
        None => text.to_owned(),
    }
}

/// The defaults, overridden by what the model name says. Only declared parameters can be given.
pub fn resolve(scenario: &str, defaults: &Values, query: &str) -> Result<Values, String> {
    let mut values = defaults.clone();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, text) = pair.split_once('=').unwrap_or((pair, ""));
        let Some(value) = values.get_mut(name) else {
            let known: Vec<&str> = defaults.keys().map(String::as_str).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(format!("scenario `{scenario}` has no parameter `{name}`; it has: {known}"));
        };
        match value {
            Value::Word(word) => *word = text.to_owned(),
            Value::Number(number) => {
                *number = text.parse().ok().filter(|n| *n <= MOST).ok_or_else(|| {
                    format!("parameter `{name}` of scenario `{scenario}` is `{text}`; give a number from 0 to {MOST}")
                })?;
            }
        }
    }
    Ok(values)
}

/// No scenario counts or waits (in milliseconds) further than this.
pub const MOST: u64 = 10_000_000;

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AmountVisitor;
        impl Visitor<'_> for AmountVisitor {
            type Value = Amount;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a number from 0 to {MOST} or \"$parameter\"")
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Amount, E> {
                match u64::try_from(number) {
                    Ok(number) => self.visit_u64(number),
                    Err(_) => Err(E::invalid_value(serde::de::Unexpected::Signed(number), &self)),
                }
            }
            fn visit_u64<E: Error>(self, number: u64) -> Result<Amount, E> {
                if number > MOST {
                    return Err(E::invalid_value(serde::de::Unexpected::Unsigned(number), &self));
                }
                Ok(Amount::Fixed(number))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Amount, E> {
                match text.strip_prefix('$') {
                    Some(name) => Ok(Amount::Parameter(name.to_owned())),
                    None => Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
                }
            }
        }
        deserializer.deserialize_any(AmountVisitor)
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ValueVisitor;
        impl Visitor<'_> for ValueVisitor {
            type Value = Value;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number from 0 or a string")
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
                let number = u64::try_from(number)
                    .map_err(|_| E::invalid_value(serde::de::Unexpected::Signed(number), &self))?;
                Ok(Value::Number(number))
            }
            fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
                Ok(Value::Number(number))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
                Ok(Value::Word(text.to_owned()))
            }
        }
        deserializer.deserialize_any(ValueVisitor)
    }
}
