//! The guardrails of an input: they are asked before anything says that the model was.

use riverrun_event::TaskId;

use super::Actor;
use crate::drive::{EffectKey, InputCheck, Launch};
use crate::history;

impl Actor {
    /// Has the guardrails asked about what the model is to read first. False if there are none, or if they have let
    /// exactly this pass. Nothing is written: a new owner asks them again.
    pub(super) async fn must_admit(&mut self, task: &TaskId) -> bool {
        let Some((_, view)) = self.view.task(task) else { return false };
        if view.steps > 0 || view.parent.is_some() {
            return false;
        }
        let guardrails =
            self.persona(task).map(|persona| persona.spec.guardrails.clone()).unwrap_or_default();
        if guardrails.is_empty() {
            return false;
        }
        let Some(text) = self.newest_input(task).await else { return false };
        if self.admitted.get(task) == Some(&text) {
            return false;
        }
        let check = InputCheck { guardrails, text };
        self.launches.push((EffectKey::Admit(task.clone()), Launch::Admit(check)));
        true
    }

    /// The newest words of the user, also those that came while the turn waited. None if no call can be made.
    async fn newest_input(&mut self, task: &TaskId) -> Option<String> {
        let (_, view) = self.view.task(task)?;
        let mut said = Vec::new();
        for input in view.steers.iter().skip(view.steers_read) {
            history::user(input, &mut said);
        }
        if !said.is_empty() {
            return Some(history::last_user_text(&said));
        }
        let call = self.model_call(task).await.ok()??;
        Some(history::last_user_text(&call.request.history))
    }
}
