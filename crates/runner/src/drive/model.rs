//! One model call.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::{FutureExt, StreamExt};
use riverrun_log::seeded::{self, Bug};
use riverrun_provider::{Category, ModelError, ModelEvent, ModelRequest, Provider, StopReason};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::piece::{is_long, pieces};
use super::redact::ModelRedactor;
use super::{Line, Report};

pub(crate) struct ModelCall {
    pub provider: Arc<dyn Provider>,
    pub request: ModelRequest,
}

/// Calls the model and reports everything it says. The last report is `Completed` or `Failed`, whatever happens.
pub(crate) async fn call_model(
    call: ModelCall,
    line: Line,
    places: Arc<Semaphore>,
    cancel: CancellationToken,
) {
    let Ok(_place) = places.acquire_owned().await else { return };
    let spoken = AssertUnwindSafe(speak(call, &line, cancel)).catch_unwind().await;
    let failure = match spoken {
        Ok(None) => return,
        Ok(Some(failure)) => failure,
        Err(_) => {
            let error = failed(Category::Protocol, "the provider's code failed; see the server's log");
            ModelError { fault: Some("internal"), ..error }
        }
    };
    line.tell(Report::Model(ModelEvent::Failed(failure))).await;
}

/// None if the call's end was reported or nobody listens; else why there was none.
async fn speak(call: ModelCall, line: &Line, cancel: CancellationToken) -> Option<ModelError> {
    let mut stream = call.provider.call(call.request, cancel);
    let (mut redactor, mut events) = (ModelRedactor::default(), Vec::new());
    while let Some(event) = stream.next().await {
        redactor.push(event, &mut events);
        for event in events.drain(..) {
            if is_long(&event) {
                for piece in pieces(event) {
                    if !line.tell(Report::Model(piece)).await {
                        return None;
                    }
                }
                continue;
            }
            let is_last = matches!(event, ModelEvent::Completed { .. } | ModelEvent::Failed(_));
            if !line.tell(Report::Model(event)).await || is_last {
                return None;
            }
        }
    }
    if seeded::is_on(Bug::CutIsComplete) {
        let (stop, usage, members) = (StopReason::End, Default::default(), None);
        line.tell(Report::Model(ModelEvent::Completed { stop, usage, members })).await;
        return None;
    }
    Some(failed(Category::Truncated, "the model's answer ended without its terminal event"))
}

fn failed(category: Category, message: &str) -> ModelError {
    ModelError::new(category, message)
}
