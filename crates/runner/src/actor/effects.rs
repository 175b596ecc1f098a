//! Effects begin here, after the events that announce them are durable.

use riverrun_event::ProcessId;
use riverrun_tool::redact_progress;
use tokio_util::sync::CancellationToken;

use crate::actor::Actor;
use crate::actor::model::stream::Stream;
use crate::actor::processes::Afterwards;
use crate::drive::{
    Abort, EffectKey, Host, Launch, Line, Report, Reports, Running, ask_hook, call_model, check_call,
    check_input, check_output, read_files, run_tool, summarise,
};

impl Actor {
    pub(crate) async fn launch_all(&mut self) {
        std::mem::take(&mut self.afterwards).into_iter().for_each(Afterwards::say);
        for (key, launch) in std::mem::take(&mut self.launches) {
            // Who goes does not wait to try again.
            if self.is_handing_over && matches!(launch, Launch::Delay(_)) {
                continue;
            }
            self.launch(key, launch).await;
        }
    }

    async fn launch(&mut self, key: EffectKey, launch: Launch) {
        self.generation += 1;
        let cancel = CancellationToken::new();
        let reports = match launch {
            Launch::Model(_) => self.calls.reports(),
            _ => Reports::Far(self.reports.clone()),
        };
        let line = Line { key: key.clone(), generation: self.generation, reports };
        let (pool, session) = (self.core.calls.clone(), self.key.clone());
        let permit = async move { pool.acquire(&session).await };
        let spawned = match launch {
            Launch::Model(made) => {
                let EffectKey::Model(task) = &key else { return };
                let persona = self.persona(task);
                let is_as_sent = persona.as_ref().is_some_and(|persona| persona.sends_deltas_as_sent());
                let hosted = persona.filter(|persona| !persona.is_gateway);
                let most_calls = hosted.map(|persona| persona.spec.limits.calls);
                self.streams.insert(task.clone(), Stream::new(is_as_sent, most_calls));
                let made = match made {
                    Some(call) => Some(*call),
                    // An agent whose conversation can fail has its call made before it is announced.
                    None => self.model_call(task).await.unwrap_or_default(),
                };
                let Some(call) = made else { return };
                let estimate = self.estimate(task, &call.request);
                if let Some(stream) = self.streams.get_mut(task) {
                    stream.estimate = estimate;
                }
                let call = call_model(call, line, permit, cancel.clone());
                let handle = self.calls.begin(call);
                self.started(key, cancel, Abort::Call(handle));
                return;
            }
            Launch::Tool(mut run) => {
                run.call.cancel = cancel.clone();
                let progress = line.clone();
                run.call.progress = redact_progress(std::sync::Arc::new(move |told| {
                    progress.try_tell(Report::Progress(told));
                }));
                if run.tool.is_interactive() {
                    run.call.process = Some(std::sync::Arc::new(self.host(line.clone())));
                }
                tokio::spawn(run_tool(*run, line, permit))
            }
            Launch::Delay(time) => tokio::spawn(async move {
                tokio::time::sleep(time).await;
                line.tell(Report::Delayed).await;
            }),
            Launch::Summary(call) => tokio::spawn(summarise(*call, line, permit, cancel.clone())),
            Launch::Admit(check) => tokio::spawn(check_input(check, line)),
            Launch::Check(check) => tokio::spawn(check_output(check, line)),
            Launch::Files(readings) => tokio::spawn(read_files(*readings, line, permit)),
            Launch::Hook(call) => tokio::spawn(ask_hook(*call, line, permit)),
            Launch::Vet(check) => tokio::spawn(check_call(check, line)),
        };
        self.started(key, cancel, Abort::Task(spawned.abort_handle()));
    }

    fn started(&mut self, key: EffectKey, cancel: CancellationToken, abort: Abort) {
        let (generation, since) = (self.generation, tokio::time::Instant::now());
        self.running.insert(key, Running { generation, cancel, abort, since });
    }

    fn host(&self, line: Line) -> Host {
        let process = ProcessId::from_bytes(self.core.fresh()).to_string();
        Host { process, line, log: self.core.journal.log().clone(), key: self.key.clone() }
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
