//! The engine in memory keeps the contract.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use riverrun_log::contract::{self, Bench};
use riverrun_log::memory::MemoryLog;
use riverrun_log::{Log, ManualClock};

struct Memory {
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
    fn scratch(&self) -> PathBuf {
        let unique = format!("riverrun-memory-{}-{:p}", std::process::id(), Arc::as_ptr(&self.log));
        std::env::temp_dir().join(unique)
    }
}

#[test]
fn the_engine_in_memory_keeps_the_contract() {
    contract::run(&|clock| {
        let log = Arc::new(MemoryLog::new(clock.clone()));
        Box::new(Memory { log, clock })
    });
}
