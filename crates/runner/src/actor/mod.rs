//! One session at work: its commands in order, its effects, its events.
//!
//! ```text
//!  commands ─┐                         ┌─▶ append (durable) ─▶ state, view
//!            ├─▶ actor ─ handle, plan ─┤
//!  reports ──┘      ▲                  └─▶ launch effects: model calls, tools, delays
//!                   └──────────────────────────────────────┘
//! ```
//!
//! There is one append at a time. What effects report in the meantime waits and goes into the next append together,
//! so a fast model makes large chunks, and a slow one is shown at once. Only text is not waited for: it lands when the
//! next thing happens, or at once if the log did not take it.

mod append;
mod approvals;
mod commands;
mod effects;
mod guardrails;
mod hooks;
mod intents;
mod model;
mod processes;
mod recovery;
mod reports;
mod session;
mod stop;
mod subagents;
mod tools;
mod turn;

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use riverrun_log::SessionKey;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::drive::{EffectKey, Reported};
use crate::mailbox::{Mail, SessionCommand};
use crate::shared::RunnerShared;
use append::Appends;
use append::blobs::BlobQueue;
use append::text::InFlight;
use approvals::Approvals;
use effects::Effects;
use guardrails::GuardrailResults;
use hooks::HookTexts;
use model::ModelCalls;
pub use model::attachments::blob_named;
use model::history::SessionHistory;
use processes::ProcessTable;
pub(crate) use recovery::authors::load_rules;
use session::HostedSession;
pub(crate) use stop::Stop;
use tools::ToolCalls;
use turn::TurnWork;

/// Reports that may wait; a provider that is faster than the disk is slowed down by it.
const REPORTS: usize = 1024;

/// The longest that text is held back on a busy server.
const MAX_COALESCE_DELAY: Duration = Duration::from_millis(8);
/// How long an actor with nothing to do stays, so that the next command need not read the state again.
const LINGER: Duration = Duration::from_secs(1);

pub(crate) struct Actor {
    effects: Effects,
    session: HostedSession,
    appends: Appends,
    blobs: BlobQueue,
    turns: TurnWork,
    history: SessionHistory,
    model: ModelCalls,
    tools: ToolCalls,
    approvals: Approvals,
    guardrails: GuardrailResults,
    hooks: HookTexts,
    processes: ProcessTable,
    /// When a limit or an action runs out, as of the last plan.
    deadline_at: Option<Instant>,
    /// The server goes down: nothing new begins here.
    is_handing_over: bool,
}

/// What an actor that is told nothing does, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Due {
    Never,
    /// A limit or an action runs out.
    Deadline(Instant),
    /// Nothing is at work: the actor goes.
    Leave(Instant),
}

impl Due {
    fn at(self) -> Option<Instant> {
        match self {
            Due::Never => None,
            Due::Deadline(at) | Due::Leave(at) => Some(at),
        }
    }
}

/// Serves a session until it has nothing to do.
pub(crate) async fn run(shared: Arc<RunnerShared>, key: SessionKey, mail: Mail) {
    let Mail { mut commands, ended } = mail;
    let (reports, mut reported) = mpsc::channel(REPORTS);
    let stop = shared.stop.clone();
    let served = async {
        let permit = shared.loads.acquire().await;
        let loaded = Actor::load(shared.clone(), key.clone(), reports).await;
        drop(permit);
        let mut actor = match loaded {
            Ok(actor) => actor,
            Err(stop) => return refuse(&shared, &key, &mut commands, &stop),
        };
        let ended = actor.serve(&mut commands, &mut reported).await;
        if let Err(stop) = ended {
            tracing::warn!(session = key.session.as_str(), reason = %stop, "the session's runner stops");
            drop(actor);
            refuse(&shared, &key, &mut commands, &stop);
        }
    };
    // Whoever is not served any more is dropped where it stands, and what it began ends with it.
    let stop = tokio::select! {
        biased;
        () = stop.cancelled() => Stop::Draining,
        () = ended.cancelled() => Stop::NoSession,
        () = served => return,
    };
    refuse(&shared, &key, &mut commands, &stop);
}

/// Ends when the log did not take text that was handed to it.
async fn failed(in_flight: &mut Option<InFlight>) {
    poll_fn(|context| match in_flight {
        Some(in_flight) => in_flight.poll_failed(context),
        None => Poll::Pending,
    })
    .await;
}

/// Answers everything that waits with the reason why nothing more is done here.
fn refuse(
    shared: &RunnerShared,
    key: &SessionKey,
    commands: &mut mpsc::UnboundedReceiver<SessionCommand>,
    stop: &Stop,
) {
    while let Some(command) = shared.mailboxes.close(key, commands) {
        command.refuse(stop.clone().into());
    }
}

impl Actor {
    async fn serve(
        &mut self,
        commands: &mut mpsc::UnboundedReceiver<SessionCommand>,
        reported: &mut mpsc::Receiver<Reported>,
    ) -> Result<(), Stop> {
        let hand_over = self.session.shared.hand_over.clone();
        self.settle().await?;
        let (alarm, handing_over) = (tokio::time::sleep(LINGER), hand_over.cancelled());
        tokio::pin!(alarm, handing_over);
        loop {
            let due = self.due();
            if let Some(at) = due.at().filter(|at| *at != alarm.deadline()) {
                alarm.as_mut().reset(at);
            }
            let is_settled = tokio::select! {
                biased;
                command = commands.recv() => match command {
                    Some(command) => {
                        self.finish_text_append().await?;
                        self.command(command).await.map(|()| false)?
                    }
                    None => return Ok(()),
                },
                () = &mut handing_over, if !self.is_handing_over => {
                    self.finish_text_append().await?;
                    self.begin_nothing_new();
                    false
                }
                () = failed(&mut self.appends.in_flight) => {
                    self.finish_text_append().await?;
                    false
                }
                Some(report) = self.model.open.next(reported) => self.reports(report, reported).await?,
                () = &mut alarm, if due != Due::Never => match due {
                    Due::Never | Due::Deadline(_) => {
                        self.finish_text_append().await?;
                        false
                    }
                    Due::Leave(_) => match self.session.leave(commands) {
                        Some(command) => self.command(command).await.map(|()| false)?,
                        None => return Ok(()),
                    },
                }
            };
            if !is_settled {
                self.settle().await?;
            }
        }
    }

    /// What the actor does if nobody tells it anything.
    fn due(&self) -> Due {
        let is_idle = self.effects.running.is_empty();
        if is_idle && self.is_handing_over {
            return Due::Leave(Instant::now());
        }
        let linger = Instant::now() + LINGER;
        match self.deadline_at {
            Some(at) if !is_idle || at <= linger => Due::Deadline(at),
            Some(_) | None if is_idle => Due::Leave(linger),
            Some(_) | None => Due::Never,
        }
    }

    /// From now on calls only end. A pause before another try is no call: the next owner tries at once.
    fn begin_nothing_new(&mut self) {
        self.is_handing_over = true;
        self.effects.stop_effects(|key| matches!(key, EffectKey::Delay(_)));
    }

    /// Does what is to be done until everything waits for somebody.
    async fn settle(&mut self) -> Result<(), Stop> {
        // Every round writes something, so a turn that needs more rounds than this goes in circles.
        const ROUNDS: usize = 10_000;
        for _ in 0..ROUNDS {
            let began = Instant::now();
            let intents = self.plan();
            self.turns.count_turns(&self.session);
            if intents.is_empty() {
                self.deadline_at = self.session.deadline();
                return Ok(());
            }
            self.perform(intents, began).await?;
        }
        Err(Stop::Broken("the plan does not come to an end".to_owned()))
    }
}

impl HostedSession {
    /// Ends the actor's service, unless a command came just now.
    fn leave(&self, commands: &mut mpsc::UnboundedReceiver<SessionCommand>) -> Option<SessionCommand> {
        if let Some(at) = crate::plan::deadline(&self.view, &self.registry) {
            self.shared.timers.schedule(&self.key, at);
        }
        self.shared.mailboxes.close(&self.key, commands)
    }

    /// The next time at which something happens by itself.
    fn deadline(&self) -> Option<Instant> {
        let at = crate::plan::deadline(&self.view, &self.registry)?;
        let wait = at.millis().saturating_sub(self.shared.now().millis());
        Some(Instant::now() + Duration::from_millis(u64::try_from(wait).unwrap_or(0)))
    }
}

impl TurnWork {
    fn count_turns(&mut self, session: &HostedSession) {
        let count = session.view.turns.values().filter(|turn| turn.ours).count();
        self.at_work.set(count as u64);
    }
}

impl HostedSession {
    /// A place for one more turn of this session's tenant, until the turn is counted with the session.
    fn admit_turn(&self) -> Result<crate::turns::TurnShare, crate::CommandError> {
        let limit = self.shared.options.turns.of(&self.key.tenant);
        self.shared.turns.admit(&self.key.tenant, limit)
    }
}
