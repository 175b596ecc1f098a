//! Intents into events and effects.

use std::time::Duration;

use riverrun_log::seeded::{self, Bug};
use tokio::time::Instant;

use crate::actor::Actor;
use crate::actor::Stop;
use crate::actor::effects::Effects;
use crate::actor::session::HostedSession;
use crate::event_batch::EventBatch;
use crate::plan::{Facts, Intent, Room, plan};

/// One append of a plan: as many events, and as much of a worker's time before it is given back.
const BITE_EVENTS: usize = 512;
pub(crate) const BITE: Duration = Duration::from_millis(2);

impl Actor {
    /// What is to be done now. While the server goes, that is only what ends something.
    pub(crate) fn plan(&self) -> Vec<Intent> {
        let mut intents = plan(&Facts {
            state: &self.session.state,
            view: &self.session.view,
            registry: &self.session.registry,
            running: &self.effects.running,
            room: self.effects.room(&self.session).into(),
            checked: &self.guardrails.checked,
            now: self.session.shared.now(),
        });
        if self.is_handing_over {
            intents.retain(|intent| !intent.begins_something());
        }
        intents
    }

    /// Performs a bite of a plan that was begun at `began`. What is left of it is planned again, behind what was written here.
    pub(crate) async fn perform(&mut self, intents: Vec<Intent>, began: Instant) -> Result<(), Stop> {
        let mut batch = self.session.new_batch();
        for intent in intents {
            let (is_full, is_late) = (batch.events.len() >= BITE_EVENTS, began.elapsed() >= BITE);
            if !batch.is_empty() && (is_full || is_late && !batch.requires_action()) {
                break;
            }
            // Calls that need a person are asked about together, however long the others take to judge.
            if is_late && batch.requires_action() && !matches!(intent, Intent::Judge(..)) {
                continue;
            }
            // The turn's end makes every other plan for it void.
            let ends =
                matches!(&intent, Intent::Stop(_) | Intent::Fail(..) | Intent::Finish(_) | Intent::GiveUp(_));
            match &intent {
                Intent::Call(task) if self.must_admit(task).await => {}
                Intent::Call(task) if self.effects.read_files(&self.session, task, &mut batch) => {}
                Intent::Call(task) if self.compact(task, &mut batch).await => {}
                Intent::Call(task) => self.request_model(task, &mut batch).await?,
                Intent::Compact(task) => self.shorten(task, &mut batch).await,
                _ => self.perform_one(intent, &mut batch),
            }
            if ends {
                break;
            }
        }
        if began.elapsed() >= BITE {
            tokio::task::yield_now().await;
        }
        if seeded::is_on(Bug::EffectBeforeIntent) {
            self.launch_all().await;
        }
        self.blobs.put_blobs(&self.session).await;
        self.append(batch).await?;
        self.launch_all().await;
        Ok(())
    }

    fn perform_one(&mut self, intent: Intent, batch: &mut EventBatch) {
        match intent {
            Intent::Start(turn) => {
                self.session.refresh_registry();
                self.history.start_queued(&self.session, &turn, batch);
            }
            Intent::Stop(turn) => self.stop_turn(&turn, batch),
            Intent::Close(task) => self.close_child(&task, batch),
            Intent::Interrupted(task) => self.interrupted(&task, batch),
            Intent::GiveUp(task) => self.give_up(&task, batch),
            // These two need to read first.
            Intent::Call(_) | Intent::Compact(_) => {}
            Intent::Judge(task, call) => self.judge(&task, &call, batch),
            Intent::Run(task, call) => self.run_call(&task, &call, batch),
            Intent::Decided(task, call) => self.decided(&task, &call, batch),
            Intent::Unknown(task, call) => self.unknown_outcome(&task, &call, batch),
            Intent::Collect(task, call) => self.collect(&task, &call, batch),
            Intent::InformParent(child) => self.tools.inform_parent(&self.session, &child, batch),
            Intent::Status(child) => self.session.write_child_status(&child, batch),
            Intent::Expire(action) => self.session.expire(&action, batch),
            Intent::Fail(task, failure) => {
                self.session.limit_passed(&task, failure.limit.as_ref(), batch);
                self.fail_task(&task, failure.code, &failure.message, batch);
            }
            Intent::Hook(task, target, hook) => self.ask_hook(&task, &target, &hook, batch),
            Intent::Refuse(task, call) => self.refuse_by_hook(&task, &call, batch),
            Intent::Conclude(task, call) => self.conclude(&task, &call, batch),
            Intent::Check(task) => self.effects.check_output(&self.session, &task, batch),
            Intent::Finish(task) => self.finish(&task, batch),
        }
    }
}

impl Effects {
    /// Tool calls and hooks that may begin beside those that run and those that are about to.
    pub(crate) fn room(&self, session: &HostedSession) -> Room {
        let about_to = self.launches.iter().map(|(key, _)| key);
        Room::beside(self.running.keys().chain(about_to), session.shared.options.per_session)
    }
}
