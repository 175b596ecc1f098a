//! Where a session stands, from its log.

pub(super) mod authors;
pub(super) mod retired_turns;
pub(super) mod spilled_text;

use std::sync::Arc;

use riverrun_event::{EventType, Record};
use riverrun_fold::State;
use riverrun_log::SessionKey;
use tokio::sync::mpsc;

use crate::actor::Actor;
use crate::actor::Stop;
use crate::actor::append::Appends;
use crate::actor::append::blobs::BlobQueue;
use crate::actor::approvals::Approvals;
use crate::actor::effects::Effects;
use crate::actor::guardrails::GuardrailResults;
use crate::actor::hooks::HookTexts;
use crate::actor::model::ModelCalls;
use crate::actor::model::history::SessionHistory;
use crate::actor::processes::ProcessTable;
use crate::actor::recovery::authors::{OwnContext, load_rules};
use crate::actor::recovery::retired_turns::{Lost, lost_turns};
use crate::actor::recovery::spilled_text::whole_event;
use crate::actor::session::HostedSession;
use crate::actor::tools::ToolCalls;
use crate::actor::turn::TurnWork;
use crate::drive::Reported;
use crate::shared::RunnerShared;
use crate::view::View;

impl Actor {
    pub(crate) async fn load(
        shared: Arc<RunnerShared>,
        key: SessionKey,
        reports: mpsc::Sender<Reported>,
    ) -> Result<Self, Stop> {
        let incarnation = shared.journal.open(&key).await.map_err(Stop::of)?;
        let state = shared.journal.state(&incarnation).await.map_err(Stop::of)?;
        let lost = lost_turns(&shared, &key, &state).await?;
        let view = load_view(&shared, &key, &state, &lost).await?;
        let rules = load_rules(&shared, &key, &state).await?;
        let context = OwnContext::load(&shared, &key, &state).await?;
        let turns = TurnWork::new(shared.turns.share(&key.tenant));
        let is_handing_over = shared.is_draining();
        let mut actor = Self {
            effects: Effects::new(reports),
            session: HostedSession { registry: shared.registry(), shared, key, incarnation, state, view },
            appends: Appends::default(),
            blobs: BlobQueue::default(),
            turns,
            history: SessionHistory::new(context),
            model: ModelCalls::default(),
            tools: ToolCalls::default(),
            approvals: Approvals { rules },
            guardrails: GuardrailResults::default(),
            hooks: HookTexts::default(),
            processes: ProcessTable::default(),
            deadline_at: None,
            is_handing_over,
        };
        actor.end_lost(&lost).await?;
        actor.session.count_output();
        actor.session.restore().await;
        actor.hooks.load_hook_texts(&actor.session).await;
        actor.processes.sweep_processes(&actor.session).await;
        actor.end_unproven().await?;
        Ok(actor)
    }

    /// Goes back to what the log has.
    pub(crate) async fn reload(&mut self) -> Result<(), Stop> {
        self.appends.unfolded.clear();
        self.session.state =
            self.session.shared.journal.state(&self.session.incarnation).await.map_err(Stop::of)?;
        self.session.view =
            load_view(&self.session.shared, &self.session.key, &self.session.state, &Lost::default()).await?;
        self.approvals.rules =
            load_rules(&self.session.shared, &self.session.key, &self.session.state).await?;
        self.history.context =
            OwnContext::load(&self.session.shared, &self.session.key, &self.session.state).await?;
        self.model.streams.clear();
        self.model.service_streams.clear();
        self.tools.pools.clear();
        self.tools.drafts.clear();
        self.session.count_output();
        self.session.restore().await;
        self.hooks.load_hook_texts(&self.session).await;
        self.processes.sweep_processes(&self.session).await;
        Ok(())
    }
}

impl HostedSession {
    /// Takes up what a reload of the configuration brought, unless a turn is open.
    pub(crate) fn refresh_registry(&mut self) {
        if self.view.turns.is_empty() {
            self.registry = self.shared.registry();
        }
    }

    /// Where the output of each task ends is the fold's to say.
    fn count_output(&mut self) {
        for turn in self.view.turns.values_mut() {
            for task in &mut turn.tasks {
                let known = self.state.tasks.iter().find(|known| known.task_id == task.task);
                let length = known.map_or(0, |known| known.output.len());
                task.next_index = task.next_index.max(u32::try_from(length).unwrap_or(u32::MAX));
            }
        }
    }
}

/// Reads the events of the turns that are open, as far as the state goes.
async fn load_view(
    shared: &RunnerShared,
    key: &SessionKey,
    state: &State,
    lost: &Lost,
) -> Result<View, Stop> {
    let mut view = View::default();
    // Those that wait too: by their events it is known who put them into the queue.
    let open = state.turns.iter().filter(|turn| !turn.status.is_terminal());
    let open = open.filter(|turn| !lost.turns.contains(&turn.turn_id));
    let Some(first) = open.map(|turn| turn.first_sequence).min() else { return Ok(view) };
    let mut after = first.max(lost.first_available).previous();
    while after < state.sequence {
        let chunks = shared.journal.read(key, after).await.map_err(Stop::of)?;
        let Some(last) = chunks.last().map(|chunk| chunk.last()) else { break };
        for chunk in &chunks {
            for (sequence, record) in chunk.records_after(after) {
                if sequence > state.sequence {
                    return Ok(view);
                }
                let broken = || Stop::Broken(format!("event {sequence} cannot be read"));
                let event = Record::read(record).and_then(|record| record.to_event(sequence));
                let mut event = event.map_err(|_| broken())?;
                if may_be_spilled(&event.kind) {
                    event = whole_event(shared, key, record, sequence).await.ok_or_else(broken)?;
                }
                view.apply(&event);
                tokio::task::consume_budget().await;
            }
        }
        after = last;
    }
    Ok(view)
}

/// True for events whose texts the view keeps for the model or for a tool.
fn may_be_spilled(kind: &EventType) -> bool {
    matches!(kind, EventType::InputSteered | EventType::SubagentInput | EventType::ActionResolved)
}
