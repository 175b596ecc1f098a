//! A new turn, once.

use riverrun_event::{
    CommandId, EventType, RawJson, RunId, Sequence, TaskChange, TaskId, TaskInfo, ThreadId, ThreadInfo,
    TurnId, TurnSubmitted,
};
use sha2::{Digest, Sha256};

use crate::actor::Actor;
use crate::actor::commands::Refusal;
use crate::actor::commands::idempotency::Remembered;
use crate::actor::session::HostedSession;
use crate::actor::turn::queue::preview;
use crate::event_batch::{EventBatch, turn_scope};
use crate::resolved_agent::ResolvedAgent;
use crate::{Busy, CancelMode, CommandError, Settings, Submit, Submitted};

impl Actor {
    pub(crate) async fn submit(&mut self, submit: Submit) -> Result<Submitted, Refusal> {
        let digest = contents(&submit);
        if let Some(turn) = &submit.turn_id
            && let Some(first) = self.session.submitted_before(turn, digest).await?
        {
            return Ok(first);
        }
        if self.session.shared.is_draining() {
            return Err(CommandError::Draining.into());
        }
        self.session.refresh_registry();
        let agent = self.session.agent_of(&submit)?;
        let thread = submit.thread_id.clone().unwrap_or_else(crate::main_thread);
        let is_busy = self.session.is_busy(&thread);
        let active =
            self.session.view.turns.values().find(|turn| turn.thread == thread).map(|turn| turn.turn.clone());
        match (submit.busy, active) {
            (Busy::Reject, _) if is_busy => return Err(CommandError::Busy(thread.to_string()).into()),
            (Busy::Steer, Some(active)) => return self.steer_instead(submit, &active, digest).await,
            (Busy::Queue, _) if is_busy => self.session.check_room(&thread)?,
            (Busy::Queue | Busy::Reject | Busy::Interrupt | Busy::Steer, _) => {}
        }
        self.new_turn(submit, &agent, &thread, is_busy, digest).await
    }

    async fn new_turn(
        &mut self,
        submit: Submit,
        agent: &str,
        thread: &ThreadId,
        is_busy: bool,
        digest: [u8; 32],
    ) -> Result<Submitted, Refusal> {
        // A turn that is queued takes the place of the one before it.
        let share = if is_busy { None } else { Some(self.session.admit_turn()?) };
        let turn = submit.turn_id.clone().unwrap_or_else(|| TurnId::from_bytes(self.session.shared.fresh()));
        let remembered = Remembered {
            task_id: TaskId::from_bytes(self.session.shared.fresh()),
            run_id: RunId::from_bytes(self.session.shared.fresh()),
            turn_id: turn.clone(),
            status: if is_busy { "queued" } else { "accepted" }.to_owned(),
        };
        let mut batch = self.session.new_batch();
        self.session.remember(&mut batch, &turn, digest, &remembered);
        let interrupts = is_busy && submit.busy == Busy::Interrupt;
        if interrupts
            && let Some(active) = self.session.view.turns.values().find(|known| known.thread == *thread)
        {
            let reason = Some(format!("interrupted by turn {turn}"));
            self.session.write_cancel(&active.turn, CancelMode::Immediate, reason, &mut batch);
        }
        let scope = turn_scope(thread, &turn, &remembered.task_id, &remembered.run_id);
        batch.push(EventType::TurnSubmitted, &scope, &submitted(&submit, agent, &remembered.status));
        // Behind the turn's first event: that is where answers say that the turn begins.
        if self.session.state.threads.iter().all(|known| known.thread_id != *thread) {
            batch.push(EventType::ThreadStarted, &scope, &ThreadInfo::default());
        }
        let objective = submit.input.as_ref().map(preview);
        let info = TaskInfo { objective, agent: Some(agent.to_owned()), ..TaskInfo::default() };
        batch.push(EventType::TaskCreated, &scope, &info);
        batch.push(EventType::TaskAccepted, &scope, &TaskChange::default());
        if is_busy {
            self.session.enqueue(&mut batch, &scope, &turn, submit.input.as_ref(), interrupts);
        } else {
            self.history.write_start(&self.session, &mut batch, &scope, agent, 1);
        }
        let others = self.appends.others;
        let appended = self.append_once(&mut batch).await?;
        self.turns.count_turns(&self.session);
        drop(share);
        let first = appended.map_or(Sequence::ZERO, |appended| appended.first);
        if self.appends.others != others {
            self.check_own(&turn, &remembered.task_id, first).await?;
        }
        Ok(remembered.answer(first, false))
    }

    /// A producer may have told of a turn with this id at the same moment. Of two that are one nobody knows what runs,
    /// so this one ends.
    async fn check_own(&mut self, turn: &TurnId, root: &TaskId, first: Sequence) -> Result<(), Refusal> {
        let known = self.session.state.turns.iter().find(|known| known.turn_id == *turn);
        if known.is_none_or(|known| known.first_sequence >= first) {
            return Ok(());
        }
        let mut batch = self.session.new_batch();
        let message = format!("a producer wrote events of turn `{turn}`; submit it with another id");
        self.fail_task(root, "turn_exists", &message, &mut batch);
        self.append_once(&mut batch).await?;
        Err(CommandError::TurnExists { turn: turn.to_string() }.into())
    }

    /// The input goes to the turn that is running; the name of the turn that is not made is remembered all the same.
    async fn steer_instead(
        &mut self,
        submit: Submit,
        active: &TurnId,
        digest: [u8; 32],
    ) -> Result<Submitted, Refusal> {
        let mut batch = self.session.new_batch();
        let mut submitted = self.session.write_steer(active, submit.input.unwrap_or_default(), &mut batch)?;
        if let Some(turn) = &submit.turn_id {
            let remembered = Remembered {
                turn_id: submitted.turn_id.clone(),
                task_id: submitted.task_id.clone(),
                run_id: submitted.run_id.clone(),
                status: submitted.status.clone(),
            };
            self.session.remember(&mut batch, turn, digest, &remembered);
        }
        if let Some(appended) = self.append_once(&mut batch).await? {
            submitted.first = appended.first;
        }
        Ok(submitted)
    }
}

impl HostedSession {
    fn check_room(&self, thread: &ThreadId) -> Result<(), CommandError> {
        let is_full = self.queue(Some(thread)).len() >= self.shared.options.queue;
        if is_full { Err(CommandError::QueueFull(thread.to_string())) } else { Ok(()) }
    }

    fn agent_of(&self, submit: &Submit) -> Result<String, CommandError> {
        let registry = &self.registry;
        let known = || registry.names().join(", ");
        let named = submit.agent.as_ref().or(self.state.session.agent.as_ref());
        let name = named.or(registry.default_agent.as_ref());
        let Some(name) = name else {
            return Err(CommandError::UnknownAgent { name: String::new(), known: known() });
        };
        let persona = ResolvedAgent::find(registry, name, Settings::default());
        let persona =
            persona.ok_or_else(|| CommandError::UnknownAgent { name: name.clone(), known: known() })?;
        Ok(persona.spec.name.clone())
    }

    /// A turn of the thread is running, or waits for its place.
    pub(crate) fn is_busy(&self, thread: &ThreadId) -> bool {
        let of_thread =
            |turn: &&riverrun_fold::TurnState| turn.thread_id == *thread && turn.submitted_at.is_some();
        self.state.turns.iter().filter(of_thread).any(|turn| !turn.status.is_terminal())
    }

    fn remember(&self, batch: &mut EventBatch, turn: &TurnId, digest: [u8; 32], remembered: &Remembered) {
        self.remember_command(command_id(turn), format!("turn:{turn}"), digest, remembered, batch);
    }

    async fn submitted_before(&self, turn: &TurnId, digest: [u8; 32]) -> Result<Option<Submitted>, Refusal> {
        let log = self.shared.journal.log();
        let Some(command) = log.command(&self.key, &command_id(turn)).await? else {
            let is_known = log.turn(&self.key, turn).await?.is_some();
            let exists = || CommandError::TurnExists { turn: turn.to_string() };
            return if is_known { Err(exists().into()) } else { Ok(None) };
        };
        if command.request.digest != digest {
            return Err(CommandError::TurnExists { turn: turn.to_string() }.into());
        }
        self.stored_answer(&command).await
    }
}

fn command_id(turn: &TurnId) -> CommandId {
    let digest = Sha256::digest(format!("turn:{turn}"));
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    CommandId::from_bytes(bytes)
}

/// SHA-256 of everything that makes a submit what it is.
fn contents(submit: &Submit) -> [u8; 32] {
    let parts = serde_json::json!([
        submit.thread_id,
        submit.agent,
        submit.input,
        submit.history,
        submit.settings,
        submit.request.as_ref().map(RawJson::get),
        submit.source,
        submit.metadata.as_ref().map(RawJson::get),
    ]);
    Sha256::digest(parts.to_string()).into()
}

fn submitted(submit: &Submit, agent: &str, status: &str) -> TurnSubmitted {
    TurnSubmitted {
        input: submit.input.clone(),
        agent: Some(agent.to_owned()),
        source: submit.source.clone(),
        status: Some(status.to_owned()),
        input_ref: None,
        history: (!submit.history.is_empty()).then(|| submit.history.clone()),
        settings: submit.settings.as_ref().and_then(|settings| RawJson::of(settings).ok()),
        request: submit.request.clone(),
        metadata: submit.metadata.clone(),
    }
}
