//! How often the same request came.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::ModelRequest;

/// More requests than this are not told apart: the counts start anew.
const MOST_REQUESTS: usize = 10_000;

#[derive(Default)]
pub struct Attempts(Mutex<HashMap<u64, u64>>);

impl Attempts {
    /// 1 for the first attempt. `extra.attempt` wins; then the idempotency key names the request, else its history does.
    pub fn next(&self, request: &ModelRequest) -> u64 {
        if let Some(attempt) = request.extra.get("attempt").and_then(|value| value.as_u64()) {
            return attempt;
        }
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.len() >= MOST_REQUESTS {
            counts.clear();
        }
        let count = counts.entry(name_of(request)).or_default();
        *count += 1;
        *count
    }
}

/// The same request has the same name: its idempotency key, or else what it says.
pub fn name_of(request: &ModelRequest) -> u64 {
    let text = match &request.idempotency_key {
        Some(key) => format!("{}\n{key}", request.model),
        None => format!("{}\n{:?}\n{:?}", request.model, request.instructions, request.history),
    };
    // FNV-1a, because call ids are made of it and must not change with the standard library.
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
