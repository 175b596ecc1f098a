//! Hooks that are functions.

use std::fmt::Display;
use std::sync::Arc;

use super::{Hook, HookFuture, HookInput, HookOutput, HookPoint, HookUse};

/// What a function may give back as a hook's answer.
pub trait IntoHookOutput {
    fn into_output(self) -> Result<HookOutput, String>;
}

impl IntoHookOutput for HookOutput {
    fn into_output(self) -> Result<HookOutput, String> {
        Ok(self)
    }
}

impl<E: Display> IntoHookOutput for Result<HookOutput, E> {
    fn into_output(self) -> Result<HookOutput, String> {
        self.map_err(|error| error.to_string())
    }
}

struct Closure<F>(F);

impl<F, R, O> Hook for Closure<F>
where
    F: Fn(HookInput) -> R + Send + Sync + 'static,
    R: Future<Output = O> + Send + 'static,
    O: IntoHookOutput,
{
    fn ask(&self, input: HookInput) -> HookFuture<'_> {
        let answer = (self.0)(input);
        Box::pin(async move { answer.await.into_output() })
    }
}

impl HookUse {
    /// A function as a hook: `HookUse::new("name", [HookPoint::PreToolUse], |input| async move { … })`.
    pub fn new<F, R, O>(name: impl Into<String>, points: impl Into<Vec<HookPoint>>, function: F) -> Self
    where
        F: Fn(HookInput) -> R + Send + Sync + 'static,
        R: Future<Output = O> + Send + 'static,
        O: IntoHookOutput + 'static,
    {
        Self::of(name, points, Arc::new(Closure(function)))
    }
}
