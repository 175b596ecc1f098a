//! The result that `run.done` carries, in snake_case.

use riverrun_event::{ErrorInfo, RawJson, Usage};
use riverrun_fold::view::final_output;
use riverrun_fold::{State, TurnState};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct RunResult<'a> {
    run_id: &'a str,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    final_output: Option<RawJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<RunError<'a>>,
    usage: RunUsage,
}

#[derive(Serialize)]
struct RunError<'a> {
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    category: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retryable: Option<bool>,
}

#[derive(Serialize)]
struct RunUsage {
    #[serde(skip_serializing_if = "Option::is_none")]
    input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cached_input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_write_input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_tokens: Option<u64>,
}

impl<'a> RunResult<'a> {
    pub(super) fn of(state: &State, turn: &'a TurnState) -> Self {
        Self {
            run_id: turn.turn_id.as_str(),
            status: turn.status.as_str(),
            final_output: final_output(state, turn),
            error: turn.error.as_ref().map(RunError::of),
            usage: RunUsage::of(&turn.usage),
        }
    }
}

impl<'a> RunError<'a> {
    fn of(error: &'a ErrorInfo) -> Self {
        Self {
            message: &error.message,
            code: error.code.as_deref(),
            category: error.category.as_deref(),
            retryable: error.retryable,
        }
    }
}

impl RunUsage {
    fn of(usage: &Usage) -> Self {
        Self {
            input_tokens: usage.input_tokens,
            cached_input_tokens: usage.cached_input_tokens,
            cache_write_input_tokens: usage.cache_write_input_tokens,
            output_tokens: usage.output_tokens,
            reasoning_tokens: usage.reasoning_tokens,
            total_tokens: usage.total_tokens,
        }
    }
}
