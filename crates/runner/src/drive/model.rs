//! One model call.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::{FutureExt, StreamExt};
use riverrun_log::seeded::{self, Bug};
use riverrun_provider::{Category, ModelError, ModelEvent, ModelRequest, Provider, StopReason};
use tokio_util::sync::CancellationToken;

use super::piece::{is_long, pieces};
use super::redact::ModelRedactor;
use super::{Report, Reporter};
use crate::call_pool::Permit;

/// Texts, tool calls and other items of one answer. An answer with more is broken off: each of its items is several
/// events.
const MOST_ITEMS: usize = 16_384;

pub(crate) struct ModelCall {
    pub provider: Arc<dyn Provider>,
    pub request: ModelRequest,
}

/// Calls the model and reports everything it says. The last report is `Completed` or `Failed`, whatever happens.
pub(crate) async fn call_model(
    call: ModelCall,
    reporter: Reporter,
    permit: impl Future<Output = Option<Permit>>,
    cancel: CancellationToken,
) {
    let Some(_permit) = permit.await else { return };
    let spoken = AssertUnwindSafe(speak(call, &reporter, cancel)).catch_unwind().await;
    let failure = match spoken {
        Ok(None) => return,
        Ok(Some(failure)) => failure,
        Err(_) => {
            let error = failed(Category::Protocol, "the provider's code failed; see the server's log");
            ModelError { fault: Some("internal"), ..error }
        }
    };
    reporter.report(Report::Model(ModelEvent::Failed(failure))).await;
}

/// None if the call's end was reported or nobody listens; else why there was none.
async fn speak(call: ModelCall, reporter: &Reporter, cancel: CancellationToken) -> Option<ModelError> {
    let mut stream = call.provider.call(call.request, cancel);
    let (mut redactor, mut events, mut items) = (ModelRedactor::default(), Vec::new(), 0);
    while let Some(event) = stream.next().await {
        items += usize::from(matches!(event, ModelEvent::ItemStarted { .. }));
        if items > MOST_ITEMS {
            let message = format!("the model's answer has more than {MOST_ITEMS} items");
            let error = failed(Category::Protocol, &message);
            return Some(ModelError { fault: Some("answer_too_large"), ..error });
        }
        redactor.push(event, &mut events);
        for event in events.drain(..) {
            if is_long(&event) {
                for piece in pieces(event) {
                    if !reporter.report(Report::Model(piece)).await {
                        return None;
                    }
                }
                continue;
            }
            let is_last = matches!(event, ModelEvent::Completed { .. } | ModelEvent::Failed(_));
            if !reporter.report(Report::Model(event)).await || is_last {
                return None;
            }
        }
    }
    if seeded::is_on(Bug::CutIsComplete) {
        let (stop, usage, members) = (StopReason::End, Default::default(), None);
        reporter.report(Report::Model(ModelEvent::Completed { stop, usage, members })).await;
        return None;
    }
    Some(failed(Category::Truncated, "the model's answer ended without its terminal event"))
}

fn failed(category: Category, message: &str) -> ModelError {
    ModelError::new(category, message)
}
