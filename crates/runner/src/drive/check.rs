//! The guardrails of an input, of a final output, and of a call.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use serde_json::Value;

use super::{Report, Reporter, Tripped};
use crate::agent::{Checked, Guardrail};

pub(crate) struct InputCheck {
    pub guardrails: Vec<Arc<dyn Guardrail>>,
    /// In the order in which they were said.
    pub texts: Vec<String>,
}

pub(crate) async fn check_input(check: InputCheck, reporter: Reporter) {
    let mut passed = Ok(());
    for text in &check.texts {
        passed = ask(&check.guardrails, Checked::Input(text)).await;
        if passed.is_err() {
            break;
        }
    }
    reporter.report(Report::Admitted(check.texts, passed)).await;
}

pub(crate) struct OutputCheck {
    pub guardrails: Vec<Arc<dyn Guardrail>>,
    pub text: String,
}

pub(crate) async fn check_output(check: OutputCheck, reporter: Reporter) {
    let passed = ask(&check.guardrails, Checked::Output(&check.text)).await;
    reporter.report(Report::Checked(passed)).await;
}

/// A call that somebody will be asked about.
pub(crate) struct CallCheck {
    pub guardrails: Vec<Arc<dyn Guardrail>>,
    pub name: String,
    pub arguments: Value,
}

pub(crate) async fn check_call(check: CallCheck, reporter: Reporter) {
    let checked = Checked::ToolCall { name: &check.name, arguments: &check.arguments };
    let passed = ask(&check.guardrails, checked).await;
    reporter.report(Report::Vetted(passed)).await;
}

/// The first guardrail that says no. One that fails says no.
pub(super) async fn ask(guardrails: &[Arc<dyn Guardrail>], checked: Checked<'_>) -> Result<(), Tripped> {
    for guardrail in guardrails {
        let reason = match AssertUnwindSafe(guardrail.check(checked)).catch_unwind().await {
            Ok(Ok(())) => continue,
            Ok(Err(reason)) => reason,
            Err(_) => "the guardrail failed".to_owned(),
        };
        return Err(Tripped { guardrail: guardrail.name().to_owned(), reason });
    }
    Ok(())
}
