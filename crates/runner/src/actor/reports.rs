//! What effects report, as events.

use riverrun_provider::ModelEvent;

use crate::actor::Actor;
use crate::drive::{EffectKey, Report, Reported};
use crate::event_batch::EventBatch;

impl Actor {
    pub(crate) fn absorb(&mut self, reported: Reported, batch: &mut EventBatch) {
        let Reported { key, generation, report } = reported;
        if !report.is_text() {
            self.fold_text();
        }
        // An effect that was ended may have spoken just before.
        let Some(running) = self.effects.running.get(&key).filter(|running| running.generation == generation)
        else {
            return;
        };
        let since = running.since;
        if report.is_last() {
            self.effects.running.remove(&key);
        }
        match (key, report) {
            (EffectKey::Model(task), Report::Model(ModelEvent::Completed { stop, usage, members })) => {
                self.model_completed(&task, &stop, usage, members, batch);
            }
            (EffectKey::Model(task), Report::Model(ModelEvent::Failed(error))) => {
                self.model_failed(&task, &error, batch);
            }
            (EffectKey::Model(task), Report::Model(event)) => self.model_event(&task, event, batch),
            (EffectKey::Admit(task), Report::Admitted(texts, Ok(()))) => {
                self.guardrails.admitted.entry(task).or_default().extend(texts);
            }
            (EffectKey::Admit(task), Report::Admitted(_, Err(tripped))) => {
                self.input_tripped(&task, &tripped, batch);
            }
            (EffectKey::Tool(task, call), Report::Progress(report)) => {
                self.tool_progress(&task, &call, report, batch)
            }
            (EffectKey::Tool(task, call), Report::Process(process, report)) => {
                self.process_report(&task, &call, &process, *report, batch);
            }
            (EffectKey::Tool(task, call), Report::Tool(ended)) => {
                self.tool_ended(&task, &call, ended, since.elapsed(), batch);
            }
            (EffectKey::Check(task), Report::Checked(Ok(()))) => {
                self.guardrails.checked.insert(task);
            }
            (EffectKey::Check(task), Report::Checked(Err(tripped))) => {
                self.output_tripped(&task, &tripped, batch)
            }
            (EffectKey::Vet(task, call), Report::Vetted(passed)) => self.vetted(task, call, passed, batch),
            (EffectKey::Hook(task, target), Report::Hooked(answer)) => {
                self.hook_answered(&task, &target, answer, since.elapsed(), batch);
            }
            (EffectKey::Summary(task), Report::Summary(made)) => self.compacted(&task, *made, batch),
            (EffectKey::Files(task), Report::File(end)) => self.session.file_ended(&task, &end, batch),
            (EffectKey::Files(_), Report::FilesRead) | (EffectKey::Delay(_), Report::Delayed) => {}
            // No other pair is ever sent.
            (_, _) => {}
        }
    }
}
