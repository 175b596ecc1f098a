//! The secrets that this process knows, and how they stay out of everything that it writes.
//!
//! One set per process: whoever reads a secret learns it here, and whoever writes something that others read redacts
//! it here first. This crate does not decide what is written where, and it never stores or prints a value.

mod environment;
mod forms;
mod known;
mod redactor;
mod shape;

pub use environment::{forbid_dumps, hide_environment, variable, variables};
pub use known::{known, learn, learn_named, learn_referred, learn_url, names_a_secret};
pub use redactor::{HIDDEN, Redacting, Redactor};

use std::borrow::Cow;

/// The text without any secret that is known now.
pub fn redact(text: &str) -> Cow<'_, str> {
    known().text(text)
}
