//! Guardrails that are functions.

use riverrun_runner::agent::{Checked, Guardrail, GuardrailFuture};

type Check = Box<dyn Fn(&str) -> Result<(), String> + Send + Sync>;

/// Looks at the input before the first model call.
pub struct InputCheck {
    name: String,
    check: Check,
}

/// Looks at the final output. What was shown of a refused one is retracted.
pub struct OutputCheck {
    name: String,
    check: Check,
}

impl InputCheck {
    /// Err says why the run must not go on.
    pub fn new(
        name: impl Into<String>,
        check: impl Fn(&str) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), check: Box::new(check) }
    }
}

impl OutputCheck {
    /// Err says why the output must not stand.
    pub fn new(
        name: impl Into<String>,
        check: impl Fn(&str) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), check: Box::new(check) }
    }
}

impl Guardrail for InputCheck {
    fn name(&self) -> &str {
        &self.name
    }

    fn check<'a>(&'a self, checked: Checked<'a>) -> GuardrailFuture<'a> {
        let verdict = match checked {
            Checked::Input(text) => (self.check)(text),
            Checked::Output(_) | Checked::ToolCall { .. } | Checked::ToolResult { .. } => Ok(()),
        };
        Box::pin(std::future::ready(verdict))
    }
}

impl Guardrail for OutputCheck {
    fn name(&self) -> &str {
        &self.name
    }

    fn check<'a>(&'a self, checked: Checked<'a>) -> GuardrailFuture<'a> {
        let verdict = match checked {
            Checked::Output(text) => (self.check)(text),
            Checked::Input(_) | Checked::ToolCall { .. } | Checked::ToolResult { .. } => Ok(()),
        };
        Box::pin(std::future::ready(verdict))
    }
}
