//! What effects report, as events.

use riverrun_provider::ModelEvent;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::actor::Actor;
use crate::actor::REPORTS;
use crate::actor::intents::BITE;
use crate::actor::stop::Stop;
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

/// More pieces of text than this that come at once are joined.
const MAX_SEPARATE_DELTAS: usize = 64;

impl Actor {
    /// Takes a report and all that wait behind it, and writes what they tell together. True if that was nothing but
    /// text, which changes no plan.
    pub(crate) async fn reports(
        &mut self,
        first: Reported,
        more: &mut mpsc::Receiver<Reported>,
    ) -> Result<bool, Stop> {
        const LARGEST: usize = 256 << 10;
        /// So many events are written without a look at the clock.
        const FEW: usize = 16;
        let before = self.appends.others;
        self.await_text_append().await?;
        let mut is_text = first.report.is_text();
        if is_text {
            self.model.open.wait_to_coalesce().await;
        }
        let (mut batch, mut held) = (self.session.new_batch(), first);
        let began = Instant::now();
        // The end of an effect may end the turn: nothing is written behind it unseen.
        while !held.report.may_end_turn() && batch.size() < LARGEST && batch.events.len() < REPORTS {
            // A full queue is taken in bites: the worker has others to serve.
            if batch.events.len() >= FEW && began.elapsed() >= BITE {
                break;
            }
            let Some(report) = self.model.open.next_now(more) else { break };
            let next = match self.joins_deltas(&held.key, batch.events.len()) {
                true => held.join(report),
                false => Some(report),
            };
            if let Some(next) = next {
                is_text &= held.report.is_text();
                self.absorb(std::mem::replace(&mut held, next), &mut batch);
            }
        }
        is_text &= held.report.is_text();
        self.absorb(held, &mut batch);
        if is_text {
            self.append_text(batch).await?;
        } else {
            self.blobs.put_blobs(&self.session).await;
            self.append(batch).await?;
            self.launch_all().await;
        }
        Ok(is_text && self.appends.others == before)
    }

    /// Whether pieces of one text become one delta. A turn may ask for each piece as its service sent it; otherwise
    /// they are joined only when the log is slower than the model, or when very many came at once.
    pub(crate) fn joins_deltas(&self, key: &EffectKey, waiting: usize) -> bool {
        let EffectKey::Model(task) = key else { return true };
        let is_as_sent = self.model.streams.get(task).is_some_and(|stream| stream.is_as_sent);
        !is_as_sent && (self.appends.is_log_busy || waiting >= MAX_SEPARATE_DELTAS)
    }
}
