//! The engine in memory keeps the contract.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use riverrun_log::contract::{self, Bench};
use riverrun_log::memory::{LostAnswer, MemoryLog, MemoryStore};
use riverrun_log::{Log, ManualClock};

/// Several, so that what is about shards is tried.
const SHARDS: u16 = 4;

struct Memory {
    store: MemoryStore,
    log: Arc<MemoryLog>,
    clock: Arc<ManualClock>,
}

impl Bench for Memory {
    fn log(&self) -> Arc<dyn Log> {
        self.log.clone()
    }
    fn clock(&self) -> Arc<ManualClock> {
        self.clock.clone()
    }
    fn reopen(&mut self) -> bool {
        false
    }
    fn open_backup(&self, _path: &Path) -> Option<Arc<dyn Log>> {
        None
    }
    fn second_instance(&self) -> Option<Arc<dyn Log>> {
        Some(Arc::new(self.store.open()))
    }
    fn lose_next_answer(&self, lost: LostAnswer) {
        self.store.lose_next_answer(lost);
    }
    fn scratch(&self) -> PathBuf {
        let unique = format!("riverrun-memory-{}-{:p}", std::process::id(), Arc::as_ptr(&self.log));
        std::env::temp_dir().join(unique)
    }
}

fn run() -> contract::ContractReport {
    contract::run(&|clock| {
        let store = MemoryStore::new(clock.clone(), SHARDS);
        Box::new(Memory { log: Arc::new(store.open()), store, clock })
    })
}

#[test]
fn the_engine_in_memory_keeps_the_contract() {
    let report = run();
    assert_eq!((report.ran, report.skipped), (contract::rules().len(), Vec::new()));
}

/// Each of these bugs breaks a rule about shards, instances or lost answers.
#[cfg(feature = "seeded-bugs")]
#[test]
fn the_contract_notices_seeded_bugs() {
    use riverrun_log::seeded::Bug;
    for bug in [Bug::ShardBlindFence, Bug::DeafInstances, Bug::NoCasOnFirst] {
        let suite = std::env::current_exe().expect("running");
        let mut run = std::process::Command::new(suite);
        run.args(["--exact", "the_engine_in_memory_keeps_the_contract"])
            .env("RIVERRUN_SEEDED_BUG", bug.name());
        let outcome = run.output().expect("runs");
        assert!(!outcome.status.success(), "`{}` went unnoticed", bug.name());
    }
}
