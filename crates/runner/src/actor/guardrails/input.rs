//! The guardrails of an input: they are asked before anything says that the model was.

use riverrun_event::TaskId;

use crate::actor::Actor;
use crate::actor::model::history::SessionHistory;
use crate::actor::session::HostedSession;
use crate::drive::{EffectKey, InputCheck, Launch};
use crate::history;

impl Actor {
    /// Has the guardrails asked about what the user said and the model is to read. False if there is nothing new, if
    /// there are none, or if they have let it pass. Nothing is written: a new owner asks them again.
    pub(crate) async fn must_admit(&mut self, task: &TaskId) -> bool {
        let Some((_, view)) = self.session.view.task(task) else { return false };
        if view.parent.is_some() {
            return false;
        }
        let guardrails =
            self.session.persona(task).map(|persona| persona.spec.guardrails.clone()).unwrap_or_default();
        if guardrails.is_empty() {
            return false;
        }
        let Some(mut texts) = self.history.unread_input(&self.session, task).await else { return false };
        if let Some(admitted) = self.guardrails.admitted.get(task) {
            texts.retain(|text| !admitted.contains(text));
        }
        if texts.is_empty() {
            return false;
        }
        let check = InputCheck { guardrails, texts };
        self.effects.launch_later(EffectKey::Admit(task.clone()), Launch::Admit(check));
        true
    }
}

impl SessionHistory {
    /// What the user said and the model has not read: the turn's input before its first step, and what came since. None
    /// if no call can be made.
    async fn unread_input(&mut self, session: &HostedSession, task: &TaskId) -> Option<Vec<String>> {
        let (_, view) = session.view.task(task)?;
        let (is_first, mut messages) = (view.steps == 0, Vec::new());
        for steer in view.steers.iter().skip(view.steers_read).filter(|steer| steer.is_of_user) {
            history::user(&steer.input, &mut messages);
        }
        let mut texts = Vec::new();
        if is_first {
            // Whose words the opaque parts are in makes no difference to the text.
            let read = self.history(session, task, "").await.ok()?;
            texts.push(history::last_user_text(&read));
        }
        texts.extend(messages.iter().map(|entry| history::last_user_text(std::slice::from_ref(entry))));
        Some(texts)
    }
}
