//! What the services refuse, so that a test can ask without one.

use serde_json::Value;

/// Where a request is wrong, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {reason}")]
pub struct Refusal {
    pub place: String,
    pub reason: String,
}

pub(crate) fn refuse<T>(place: &str, reason: &str) -> Result<T, Refusal> {
    Err(Refusal { place: place.to_owned(), reason: reason.to_owned() })
}

/// Members that must be strings.
pub(crate) fn strings<'a, const N: usize>(
    place: &str,
    value: &'a Value,
    names: [&str; N],
) -> Result<[&'a str; N], Refusal> {
    let mut found = [""; N];
    for (slot, name) in found.iter_mut().zip(names) {
        match value[name].as_str() {
            Some(text) => *slot = text,
            None => return refuse(place, &format!("`{name}` must be a string")),
        }
    }
    Ok(found)
}
