//! How often the same request came.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::ModelRequest;
use crate::fnv::fnv;

/// More requests than this are not told apart: the counts start anew.
const MOST_REQUESTS: usize = 10_000;

#[derive(Default)]
pub struct Attempts(Mutex<HashMap<u64, u64>>);

impl Attempts {
    /// 1 for the first attempt. `extra.attempt` wins; else the same history in the same session is the same request.
    pub fn next(&self, request: &ModelRequest) -> u64 {
        if let Some(attempt) = request.extra.get("attempt").and_then(|value| value.as_u64()) {
            return attempt;
        }
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.len() >= MOST_REQUESTS {
            counts.clear();
        }
        let count = counts.entry(conversation_of(request)).or_default();
        *count += 1;
        *count
    }
}

/// An idempotency key is `SESSION/STEP`, and a repeated step has a name of its own.
fn conversation_of(request: &ModelRequest) -> u64 {
    let key = request.idempotency_key.as_deref().unwrap_or_default();
    let session = key.rsplit_once('/').map_or(key, |(session, _)| session);
    fnv(format!("{session}\n{}\n{:?}\n{:?}", request.model, request.instructions, request.history).as_bytes())
}

/// The same request has the same name: its idempotency key, or else what it says.
pub fn name_of(request: &ModelRequest) -> u64 {
    let text = match &request.idempotency_key {
        Some(key) => format!("{}\n{key}", request.model),
        None => format!("{}\n{:?}\n{:?}", request.model, request.instructions, request.history),
    };
    fnv(text.as_bytes())
}
