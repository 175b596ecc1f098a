//! What the services refuse, so that a test can ask without one.

use serde_json::Value;

/// The location and the reason of an invalid request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{location}: {reason}")]
pub struct RequestFlaw {
    pub location: String,
    pub reason: String,
}

pub(crate) fn refuse<T>(location: &str, reason: &str) -> Result<T, RequestFlaw> {
    Err(RequestFlaw { location: location.to_owned(), reason: reason.to_owned() })
}

/// Members that must be strings.
pub(crate) fn strings<'a, const N: usize>(
    location: &str,
    value: &'a Value,
    names: [&str; N],
) -> Result<[&'a str; N], RequestFlaw> {
    let mut found = [""; N];
    for (slot, name) in found.iter_mut().zip(names) {
        match value[name].as_str() {
            Some(text) => *slot = text,
            None => return refuse(location, &format!("`{name}` must be a string")),
        }
    }
    Ok(found)
}
