//! What effects report, as events.

use riverrun_provider::ModelEvent;

use crate::actor::Actor;
use crate::drive::{EffectKey, Report, Reported};
use crate::page::Page;

impl Actor {
    pub(crate) fn absorb(&mut self, reported: Reported, page: &mut Page) {
        let Reported { key, generation, report } = reported;
        if !report.is_text() {
            self.fold_text();
        }
        // An effect that was ended may have spoken just before.
        let Some(running) = self.running.get(&key).filter(|running| running.generation == generation) else {
            return;
        };
        let since = running.since;
        if report.is_last() {
            self.running.remove(&key);
        }
        match (key, report) {
            (EffectKey::Model(task), Report::Model(ModelEvent::Completed { stop, usage, members })) => {
                self.model_completed(&task, &stop, usage, members, page);
            }
            (EffectKey::Model(task), Report::Model(ModelEvent::Failed(error))) => {
                self.model_failed(&task, &error, page);
            }
            (EffectKey::Model(task), Report::Model(event)) => self.model_event(&task, event, page),
            (EffectKey::Admit(task), Report::Admitted(texts, Ok(()))) => {
                self.admitted.entry(task).or_default().extend(texts);
            }
            (EffectKey::Admit(task), Report::Admitted(_, Err(tripped))) => {
                self.input_tripped(&task, &tripped, page);
            }
            (EffectKey::Tool(task, call), Report::Progress(told)) => {
                self.tool_progress(&task, &call, told, page)
            }
            (EffectKey::Tool(task, call), Report::Process(process, told)) => {
                self.process_told(&task, &call, &process, *told, page);
            }
            (EffectKey::Tool(task, call), Report::Tool(ended)) => {
                self.tool_ended(&task, &call, ended, since.elapsed(), page);
            }
            (EffectKey::Check(task), Report::Checked(Ok(()))) => {
                self.checked.insert(task);
            }
            (EffectKey::Check(task), Report::Checked(Err(tripped))) => {
                self.output_tripped(&task, &tripped, page)
            }
            (EffectKey::Vet(task, call), Report::Vetted(passed)) => self.vetted(task, call, passed, page),
            (EffectKey::Hook(task, place), Report::Hooked(answer)) => {
                self.hook_answered(&task, &place, answer, since.elapsed(), page);
            }
            (EffectKey::Summary(task), Report::Summary(made)) => self.compacted(&task, *made, page),
            (EffectKey::Files(task), Report::File(end)) => self.file_ended(&task, &end, page),
            (EffectKey::Files(_), Report::FilesRead) | (EffectKey::Delay(_), Report::Delayed) => {}
            // No other pair is ever sent.
            (_, _) => {}
        }
    }
}
