//! Effects begin here, after the events that announce them are durable.

use foldhash::HashMap;
use riverrun_event::ProcessId;
use riverrun_tool::redact_progress;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::actor::Actor;
use crate::actor::model::stream::Stream;
use crate::actor::processes::DurableAction;
use crate::actor::session::HostedSession;
use crate::drive::{
    Abort, EffectKey, Host, Launch, Report, ReportSink, Reported, Reporter, Running, ask_hook, call_model,
    check_call, check_input, check_output, read_files, run_tool, summarise,
};

/// The effects of an actor.
pub(crate) struct Effects {
    pub running: HashMap<EffectKey, Running>,
    /// Effects that begin once the batch that is being written is durable.
    pub launches: Vec<(EffectKey, Launch)>,
    /// Answers and permissions that are given at the same moment.
    pub when_durable: Vec<DurableAction>,
    pub generation: u64,
    /// Where effects in tasks of their own report to.
    pub reports: mpsc::Sender<Reported>,
}

/// No effect goes on without its actor.
impl Drop for Effects {
    fn drop(&mut self) {
        for running in self.running.values() {
            running.stop();
        }
    }
}

impl Actor {
    pub(crate) async fn launch_all(&mut self) {
        std::mem::take(&mut self.effects.when_durable).into_iter().for_each(DurableAction::run);
        for (key, launch) in std::mem::take(&mut self.effects.launches) {
            // Who goes does not wait to try again.
            if self.is_handing_over && matches!(launch, Launch::Delay(_)) {
                continue;
            }
            self.launch(key, launch).await;
        }
    }

    async fn launch(&mut self, key: EffectKey, launch: Launch) {
        self.effects.generation += 1;
        let cancel = CancellationToken::new();
        let reports = match launch {
            Launch::Model(_) => self.model.open.reports(),
            _ => ReportSink::Channel(self.effects.reports.clone()),
        };
        let reporter = Reporter { key: key.clone(), generation: self.effects.generation, reports };
        let (pool, session) = (self.session.shared.calls.clone(), self.session.key.clone());
        let permit = async move { pool.acquire(&session).await };
        let spawned = match launch {
            Launch::Model(made) => {
                let EffectKey::Model(task) = &key else { return };
                let persona = self.session.persona(task);
                let is_as_sent = persona.as_ref().is_some_and(|persona| persona.sends_deltas_as_sent());
                let hosted = persona.filter(|persona| !persona.is_gateway);
                let most_calls = hosted.map(|persona| persona.spec.limits.calls);
                self.model.streams.insert(task.clone(), Stream::new(is_as_sent, most_calls));
                let made = match made {
                    Some(call) => Some(*call),
                    // An agent whose conversation can fail has its call made before it is announced.
                    None => self.history.model_call(&self.session, task).await.unwrap_or_default(),
                };
                let Some(call) = made else { return };
                let estimate = self.session.estimate(task, &call.request);
                if let Some(stream) = self.model.streams.get_mut(task) {
                    stream.estimate = estimate;
                }
                let call = call_model(call, reporter, permit, cancel.clone());
                let handle = self.model.open.begin(call);
                self.effects.started(key, cancel, Abort::Call(handle));
                return;
            }
            Launch::Tool(mut run) => {
                run.call.cancel = cancel.clone();
                let progress = reporter.clone();
                run.call.progress = redact_progress(std::sync::Arc::new(move |update| {
                    progress.try_report(Report::Progress(update));
                }));
                if run.tool.is_interactive() {
                    run.call.process = Some(std::sync::Arc::new(self.session.host(reporter.clone())));
                }
                tokio::spawn(run_tool(*run, reporter, permit))
            }
            Launch::Delay(time) => tokio::spawn(async move {
                tokio::time::sleep(time).await;
                reporter.report(Report::Delayed).await;
            }),
            Launch::Summary(call) => tokio::spawn(summarise(*call, reporter, permit, cancel.clone())),
            Launch::Admit(check) => tokio::spawn(check_input(check, reporter)),
            Launch::Check(check) => tokio::spawn(check_output(check, reporter)),
            Launch::Files(readings) => tokio::spawn(read_files(*readings, reporter, permit)),
            Launch::Hook(call) => tokio::spawn(ask_hook(*call, reporter, permit)),
            Launch::Vet(check) => tokio::spawn(check_call(check, reporter)),
        };
        self.effects.started(key, cancel, Abort::Task(spawned.abort_handle()));
    }
}

impl Effects {
    pub fn new(reports: mpsc::Sender<Reported>) -> Self {
        let (running, launches, when_durable) = (HashMap::default(), Vec::new(), Vec::new());
        Self { running, launches, when_durable, generation: 0, reports }
    }

    /// Begins an effect once the batch that is being written is durable.
    pub fn launch_later(&mut self, key: EffectKey, launch: Launch) {
        self.launches.push((key, launch));
    }

    fn started(&mut self, key: EffectKey, cancel: CancellationToken, abort: Abort) {
        let (generation, since) = (self.generation, tokio::time::Instant::now());
        self.running.insert(key, Running { generation, cancel, abort, since });
    }

    /// Ends effects without a word; what is to be said about them is said by whoever ends them.
    pub(crate) fn stop_effects(&mut self, ends: impl Fn(&EffectKey) -> bool) {
        self.running.retain(|key, running| {
            let ends = ends(key);
            if ends {
                running.stop();
            }
            !ends
        });
    }
}

impl HostedSession {
    fn host(&self, reporter: Reporter) -> Host {
        let process = ProcessId::from_bytes(self.shared.fresh()).to_string();
        Host { process, reporter, log: self.shared.journal.log().clone(), key: self.key.clone() }
    }
}
