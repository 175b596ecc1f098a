//! One question to a hook.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;

use super::{Report, Reporter};
use crate::call_pool::Permit;
use crate::hook::{Hook, HookInput, HookOutput};

pub(crate) struct HookCall {
    pub hook: Arc<dyn Hook>,
    pub input: HookInput,
    pub timeout: Duration,
}

/// Why a hook gave no answer.
#[derive(Debug)]
pub(crate) struct HookFailure {
    pub code: &'static str,
    pub message: String,
}

/// Asks the hook once and reports its answer, whatever happens. Time counts from when it has its permit.
pub(crate) async fn ask_hook(
    call: HookCall,
    reporter: Reporter,
    permit: impl Future<Output = Option<Permit>>,
) {
    let Some(_permit) = permit.await else { return };
    let HookCall { hook, input, timeout } = call;
    let asked = AssertUnwindSafe(async { hook.ask(input).await }).catch_unwind();
    let answer: Result<HookOutput, HookFailure> = match tokio::time::timeout(timeout, asked).await {
        Ok(Ok(answer)) => answer.map_err(|message| HookFailure { code: "failed", message }),
        Ok(Err(_)) => {
            let message = "the hook's code failed; see the server's log".to_owned();
            Err(HookFailure { code: "crashed", message })
        }
        Err(_) => {
            let message = format!("the hook gave no answer within {} ms", timeout.as_millis());
            Err(HookFailure { code: "timeout", message })
        }
    };
    reporter.report(Report::Hooked(answer)).await;
}
