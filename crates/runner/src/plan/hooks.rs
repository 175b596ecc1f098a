//! Which hook is to be asked next.

use super::Failure;
use crate::hook::HookPoint;
use crate::resolved_agent::ResolvedAgent;
use crate::view::{HookView, answers};

/// What the hooks of a point say.
pub(crate) enum Gate<'a> {
    /// All were asked, and none is against it.
    Open,
    /// This one was not asked yet, or was cut off.
    Due(String),
    /// This one is against it; those behind it are not asked.
    Shut(&'a HookView),
}

pub(crate) fn gate<'a>(
    persona: &ResolvedAgent,
    point: HookPoint,
    tool: Option<&str>,
    asked: &'a [HookView],
) -> Gate<'a> {
    let refusal = answers(asked, point).find(|(_, answer)| answer.is_refusal());
    if let Some((hook, _)) = refusal {
        return Gate::Shut(hook);
    }
    let is_answered = |name: &str| {
        asked.iter().any(|hook| hook.name == name && hook.point == point && hook.answer.is_some())
    };
    let mut due = persona.spec.hooks.iter().filter(|hook| hook.is_for(point, tool));
    match due.find(|hook| !is_answered(&hook.name)) {
        Some(hook) => Gate::Due(hook.name.clone()),
        None => Gate::Open,
    }
}

pub(super) fn blocked(hook: &HookView) -> Failure {
    Failure { code: "hook_blocked", message: hook.refusal("the input"), limit: None }
}
