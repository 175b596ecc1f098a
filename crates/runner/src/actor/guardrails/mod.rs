//! Guardrails of inputs and of tool calls.

pub(super) mod calls;
pub(super) mod input;
