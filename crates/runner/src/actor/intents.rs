//! Intents into events and effects.

use std::time::Duration;

use riverrun_log::seeded::{self, Bug};
use tokio::time::Instant;

use crate::actor::{Actor, Stop};
use crate::page::Page;
use crate::plan::{Facts, Intent, Room, plan};

/// One append of a plan: as many events, and as much of a worker's time before it is given back.
const BITE_EVENTS: usize = 512;
pub(crate) const BITE: Duration = Duration::from_millis(2);

impl Actor {
    /// What is to be done now. While the server goes, that is only what ends something.
    pub(crate) fn plan(&self) -> Vec<Intent> {
        let mut intents = plan(&Facts {
            state: &self.state,
            view: &self.view,
            registry: &self.registry,
            running: &self.running,
            room: self.room().into(),
            checked: &self.checked,
            now: self.core.now(),
        });
        if self.is_handing_over {
            intents.retain(|intent| !intent.begins_something());
        }
        intents
    }

    /// Tool calls and hooks that may begin beside those that run and those that are about to.
    pub(crate) fn room(&self) -> Room {
        let about_to = self.launches.iter().map(|(key, _)| key);
        Room::beside(self.running.keys().chain(about_to), self.core.options.per_session)
    }

    /// Performs a bite of a plan that was begun at `began`. What is left of it is planned again, behind what was written here.
    pub(crate) async fn perform(&mut self, intents: Vec<Intent>, began: Instant) -> Result<(), Stop> {
        let mut page = self.page();
        for intent in intents {
            let (is_full, is_late) = (page.events.len() >= BITE_EVENTS, began.elapsed() >= BITE);
            if !page.is_empty() && (is_full || is_late && !page.requires_action()) {
                break;
            }
            // Calls that need a person are asked about together, however long the others take to judge.
            if is_late && page.requires_action() && !matches!(intent, Intent::Judge(..)) {
                continue;
            }
            // The turn's end makes every other plan for it void.
            let ends =
                matches!(&intent, Intent::Stop(_) | Intent::Fail(..) | Intent::Finish(_) | Intent::GiveUp(_));
            match &intent {
                Intent::Call(task) if self.must_admit(task).await => {}
                Intent::Call(task) if self.read_files(task, &mut page) => {}
                Intent::Call(task) if self.compact(task, &mut page).await => {}
                Intent::Call(task) => self.request_model(task, &mut page).await?,
                Intent::Compact(task) => self.shorten(task, &mut page).await,
                _ => self.perform_one(intent, &mut page),
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
        self.put_blobs().await;
        self.append(page).await?;
        self.launch_all().await;
        Ok(())
    }

    fn perform_one(&mut self, intent: Intent, page: &mut Page) {
        match intent {
            Intent::Start(turn) => {
                self.refresh_registry();
                self.start_queued(&turn, page);
            }
            Intent::Stop(turn) => self.stop_turn(&turn, page),
            Intent::Close(task) => self.close_child(&task, page),
            Intent::Interrupted(task) => self.interrupted(&task, page),
            Intent::GiveUp(task) => self.give_up(&task, page),
            // These two need to read first.
            Intent::Call(_) | Intent::Compact(_) => {}
            Intent::Judge(task, call) => self.judge(&task, &call, page),
            Intent::Run(task, call) => self.run_call(&task, &call, page),
            Intent::Decided(task, call) => self.decided(&task, &call, page),
            Intent::Unknown(task, call) => self.unknown_outcome(&task, &call, page),
            Intent::Collect(task, call) => self.collect(&task, &call, page),
            Intent::Tell(child) => self.tell_parent(&child, page),
            Intent::Status(child) => self.tell_status(&child, page),
            Intent::Expire(action) => self.expire(&action, page),
            Intent::Fail(task, failure) => {
                self.limit_passed(&task, failure.limit.as_ref(), page);
                self.fail_task(&task, failure.code, &failure.message, page);
            }
            Intent::Hook(task, place, hook) => self.ask_hook(&task, &place, &hook, page),
            Intent::Refuse(task, call) => self.refuse_by_hook(&task, &call, page),
            Intent::Conclude(task, call) => self.conclude(&task, &call, page),
            Intent::Check(task) => self.check_output(&task, page),
            Intent::Finish(task) => self.finish(&task, page),
        }
    }
}
