//! Where a session stands, from its log.

pub(super) mod authors;
pub(super) mod retired_turns;
pub(super) mod spilled_text;

use std::collections::HashSet;
use std::sync::Arc;

use foldhash::HashMap;
use riverrun_event::{EventType, Record};
use riverrun_fold::State;
use riverrun_log::SessionKey;
use tokio::sync::mpsc;

use crate::actor::model::calls::Calls;
use crate::actor::processes::Processes;
use crate::actor::recovery::authors::{OwnContext, load_rules};
use crate::actor::recovery::retired_turns::{Lost, lost_turns};
use crate::actor::recovery::spilled_text::whole_event;
use crate::actor::{Actor, Stop};
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
        let at_work = shared.turns.share(&key.tenant);
        let is_handing_over = shared.is_draining();
        let mut actor = Self {
            registry: shared.registry(),
            shared,
            key,
            incarnation,
            state,
            view,
            rules,
            context,
            running: HashMap::default(),
            calls: Calls::default(),
            streams: HashMap::default(),
            service_streams: HashMap::default(),
            in_flight: None,
            is_log_busy: false,
            unfolded: Vec::new(),
            admitted: HashMap::default(),
            checked: HashSet::new(),
            vetted: HashSet::new(),
            taken_over: HashSet::new(),
            launches: Vec::new(),
            pools: HashMap::default(),
            blobs: Vec::new(),
            hook_texts: HashMap::default(),
            compacted: HashSet::new(),
            sealed: HashMap::default(),
            processes: Processes::default(),
            drafts: HashMap::default(),
            when_durable: Vec::new(),
            generation: 0,
            reports,
            deadline_at: None,
            others: 0,
            is_handing_over,
            at_work,
        };
        actor.end_lost(&lost).await?;
        actor.count_output();
        actor.restore().await;
        actor.load_hook_texts().await;
        actor.sweep_processes().await;
        actor.end_unproven().await?;
        Ok(actor)
    }

    /// Goes back to what the log has.
    /// Takes up what a reload of the configuration brought, unless a turn is open.
    pub(crate) fn refresh_registry(&mut self) {
        if self.view.turns.is_empty() {
            self.registry = self.shared.registry();
        }
    }

    pub(crate) async fn reload(&mut self) -> Result<(), Stop> {
        self.unfolded.clear();
        self.state = self.shared.journal.state(&self.incarnation).await.map_err(Stop::of)?;
        self.view = load_view(&self.shared, &self.key, &self.state, &Lost::default()).await?;
        self.rules = load_rules(&self.shared, &self.key, &self.state).await?;
        self.context = OwnContext::load(&self.shared, &self.key, &self.state).await?;
        self.streams.clear();
        self.service_streams.clear();
        self.pools.clear();
        self.drafts.clear();
        self.count_output();
        self.restore().await;
        self.load_hook_texts().await;
        self.sweep_processes().await;
        Ok(())
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
