//! Anthropic's Messages beyond a single call: message threads, and the count of tokens.

pub(super) mod count_tokens;
pub(super) mod message_threads;
