//! A runner with everything around it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use riverrun_event::{Event, OwnerId, SessionId, TenantId, TurnId};
use riverrun_fold::State;
use riverrun_log::memory::MemoryLog;
use riverrun_log::{Clock, Log, SeededRandom, SessionKey, SessionSpec, Shard, UnixMillis};
use riverrun_runner::{AgentSpec, Journal, Options, Registry, Runner, Submit, Submitted};

use crate::journal::{TestJournal, events};
use crate::script::Script;

/// Follows tokio's clock, which tests pause and move on.
pub struct TokioClock(tokio::time::Instant);

impl TokioClock {
    pub fn new() -> Self {
        Self(tokio::time::Instant::now())
    }
}

impl Clock for TokioClock {
    fn now(&self) -> UnixMillis {
        UnixMillis::from_millis(1_800_000_000_000 + self.0.elapsed().as_millis() as u64)
    }
}

pub struct Stage {
    pub log: Arc<dyn Log>,
    pub clock: Arc<dyn Clock>,
    pub key: SessionKey,
    pub script: Arc<Script>,
    pub registry: Arc<Registry>,
    pub journal: Arc<TestJournal>,
    pub runner: Runner,
    seed: u64,
}

/// An agent named `main` that speaks through the script.
pub fn agent() -> AgentSpec {
    AgentSpec { name: "main".to_owned(), models: vec!["script/m".to_owned()], ..AgentSpec::default() }
}

pub fn registry(script: &Arc<Script>, agents: Vec<AgentSpec>) -> Registry {
    let mut registry = Registry { default_agent: Some("main".to_owned()), ..Registry::default() };
    registry.providers.insert("script".to_owned(), script.clone());
    for agent in agents {
        registry.agents.insert(agent.name.clone(), Arc::new(agent));
    }
    registry
}

impl Stage {
    pub async fn new(script: Script, agents: Vec<AgentSpec>) -> Self {
        let script = Arc::new(script);
        let registry = registry(&script, agents);
        Self::with(script, registry).await
    }

    pub async fn with(script: Arc<Script>, registry: Registry) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(TokioClock::new());
        let log: Arc<dyn Log> = Arc::new(MemoryLog::new(clock.clone()));
        let key = SessionKey::new(TenantId::new("ten_a").unwrap(), SessionId::new("ses_a").unwrap());
        log.create_session(&key, SessionSpec { status: "idle".to_owned(), ..SessionSpec::default() })
            .await
            .unwrap();
        let registry = Arc::new(registry);
        let seed = fresh_seed();
        let (journal, runner) = own(&log, &clock, &registry, seed).await;
        Self { log, clock, key, script, registry, journal, runner, seed }
    }

    /// The owner is gone; another takes over.
    pub async fn take_over(&mut self) -> usize {
        self.seed += 1;
        let (journal, runner) = own(&self.log, &self.clock, &self.registry, self.seed).await;
        (self.journal, self.runner) = (journal, runner);
        self.runner.recover().await.unwrap()
    }

    pub async fn submit(&self, turn: &str, input: &str) -> Submitted {
        self.runner.submit(&self.key, turn_of(turn, input)).await.unwrap()
    }

    pub async fn events(&self) -> Vec<Event> {
        events(&self.log, &self.key).await.unwrap()
    }

    pub async fn kinds(&self) -> Vec<String> {
        self.events().await.iter().map(|event| event.kind.as_str().to_owned()).collect()
    }

    pub async fn count(&self, kind: &str) -> usize {
        self.kinds().await.iter().filter(|known| *known == kind).count()
    }

    pub async fn state(&self) -> State {
        self.journal.state(&self.journal.open(&self.key).await.unwrap()).await.unwrap()
    }

    /// Waits for an event of this type, and for as many as are asked for.
    pub async fn until_count(&self, kind: &str, count: usize) {
        for _ in 0..8_000 {
            if self.count(kind).await >= count {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{kind} did not come {count} times: {:?}", self.kinds().await);
    }

    pub async fn until(&self, kind: &str) {
        self.until_count(kind, 1).await;
    }

    /// How the turn ended, once it has.
    pub async fn ended(&self, turn: &str) -> String {
        let id = TurnId::new(turn).unwrap();
        for _ in 0..8_000 {
            let record = self.log.turn(&self.key, &id).await.unwrap();
            if let Some(record) =
                record.filter(|record| record.fact.progress == riverrun_log::WorkProgress::Terminal)
            {
                self.check(&id).await;
                return record.fact.status;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("turn {turn} does not end: {:?}", self.kinds().await);
    }

    /// One terminal event a turn, and a log that the fold takes without a complaint.
    pub async fn check(&self, turn: &TurnId) {
        let events = self.events().await;
        let of_turn = events.iter().filter(|event| event.scope.turn_id.as_ref() == Some(turn));
        let terminal = of_turn.filter(|event| event.kind.is_turn_terminal()).count();
        let starts = events
            .iter()
            .filter(|event| {
                event.kind.as_str() == "turn.started" && event.scope.turn_id.as_ref() == Some(turn)
            })
            .count();
        assert!(terminal <= starts.max(1), "{terminal} terminal events for {starts} runs");
        let state = self.state().await;
        assert_eq!(state.problems.count, 0, "{:?}", state.problems);
    }

    /// The newest text that the assistant said in the turn.
    pub async fn said(&self, turn: &str) -> String {
        let state = self.state().await;
        let turn =
            state.turns.iter().find(|known| known.turn_id.as_str() == turn).expect("the turn is there");
        let output = turn.final_output.as_ref().expect("the turn has an output");
        output.as_text().map(|text| text.into_owned()).unwrap_or_else(|| output.get().to_owned())
    }
}

pub fn turn_of(turn: &str, input: &str) -> Submit {
    Submit { turn_id: Some(TurnId::new(turn).unwrap()), input: Some(input.into()), ..Submit::default() }
}

/// Another one for each stage on this machine: ids are made from it, and the processes of a task are found by theirs.
/// Stages that run at the same time with the same ids would end each other's processes.
fn fresh_seed() -> u64 {
    static STAGES: AtomicU64 = AtomicU64::new(0);
    let stage = STAGES.fetch_add(1, Ordering::Relaxed);
    (u64::from(std::process::id()) << 32) | (stage << 12)
}

async fn own(
    log: &Arc<dyn Log>,
    clock: &Arc<dyn Clock>,
    registry: &Arc<Registry>,
    seed: u64,
) -> (Arc<TestJournal>, Runner) {
    let owner = OwnerId::new("own_a").unwrap();
    let lease = log.acquire(Shard(0), &owner, Duration::from_secs(10)).await.unwrap();
    let journal = Arc::new(TestJournal::new(log.clone(), lease.epoch, clock.clone()));
    let random = Arc::new(SeededRandom::new(seed));
    let runner = Runner::new(journal.clone(), registry.clone(), clock.clone(), random, Options::default());
    (journal, runner)
}
