//! The embedded engine keeps the contract.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use riverrun_log::contract::{self, Bench, Requirement};
use riverrun_log::{Log, ManualClock, SeededRandom};
use riverrun_log_sqlite::{STORE, SqliteLog, SqliteOptions};
use tempfile::TempDir;

struct Sqlite {
    directory: TempDir,
    log: Option<Arc<SqliteLog>>,
    clock: Arc<ManualClock>,
}

fn open(directory: &Path, clock: Arc<ManualClock>) -> Arc<SqliteLog> {
    let options = SqliteOptions {
        clock,
        random: Some(Arc::new(SeededRandom::new(7))),
        reserve_bytes: 0,
        wal_bytes: 64 << 10,
        ..SqliteOptions::new(directory)
    };
    Arc::new(SqliteLog::open(options).expect("the directory is ours"))
}

impl Bench for Sqlite {
    fn log(&self) -> Arc<dyn Log> {
        self.log.clone().expect("open but while it is reopened")
    }
    fn clock(&self) -> Arc<ManualClock> {
        self.clock.clone()
    }
    fn reopen(&mut self) -> bool {
        self.log = None;
        self.log = Some(open(&self.directory.path().join("data"), self.clock.clone()));
        true
    }
    fn open_backup(&self, path: &Path) -> Option<Arc<dyn Log>> {
        let restored = self.directory.path().join("restored");
        std::fs::create_dir(&restored).expect("a new directory");
        std::fs::copy(path, restored.join(STORE)).expect("the backup is there");
        Some(open(&restored, self.clock.clone()))
    }
    fn lacks(&self, requirement: Requirement) -> Option<&'static str> {
        match requirement {
            Requirement::Nothing => None,
            Requirement::SecondInstance => Some("a data directory belongs to one process"),
            Requirement::SeveralShards => Some("the embedded engine has one shard"),
            Requirement::LostAnswers => Some("an embedded engine always hears how its commit ended"),
        }
    }
    fn scratch(&self) -> PathBuf {
        self.directory.path().join("scratch")
    }
}

#[test]
fn the_embedded_engine_keeps_the_contract() {
    let report = contract::run(&|clock| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let log = Some(open(&directory.path().join("data"), clock.clone()));
        Box::new(Sqlite { directory, log, clock })
    });
    let all = contract::rules();
    let needs_nothing = all.iter().filter(|rule| rule.needs == Requirement::Nothing).count();
    assert_eq!((report.ran, report.skipped.len()), (needs_nothing, all.len() - needs_nothing));
    report.skipped.iter().for_each(|skipped| println!("skipped {}: {}", skipped.rule, skipped.why));
}

/// Each of these bugs breaks a rule of the contract; a contract that does not notice proves nothing.
#[cfg(feature = "seeded-bugs")]
#[test]
fn the_contract_notices_seeded_bugs() {
    use riverrun_log::seeded::Bug;
    let caught =
        [Bug::NoEpochCheck, Bug::NoCasOnFirst, Bug::ForgetProducer, Bug::ForgetCommand, Bug::SealLosesLast];
    for bug in caught {
        let suite = std::env::current_exe().expect("running");
        let mut run = std::process::Command::new(suite);
        run.args(["--exact", "the_embedded_engine_keeps_the_contract"])
            .env("RIVERRUN_SEEDED_BUG", bug.name());
        let outcome = run.output().expect("runs");
        assert!(!outcome.status.success(), "`{}` went unnoticed", bug.name());
    }
}
