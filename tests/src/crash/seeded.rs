//! Known bugs, switched on one at a time: a suite that has never failed proves nothing.

mod build;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::{Program, faults, kill, power, runner};
use build::Built;

/// Enough to meet each bug that these suites are for.
const KILL_CYCLES: u64 = 40;
const POWER_CYCLES: u64 = 8;
const FAILING_SYNCS: u64 = 4;
const TIME: Duration = Duration::from_secs(60);

/// A suite in its short form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Suite {
    Kill,
    Power,
    Syncs,
    FailingSync,
    Edge,
    Runner,
    /// The attacks whose names contain the word.
    Attack(&'static str),
    /// Tests of the engine: the file, and which of them.
    Engine(&'static str, &'static str),
    /// Tests of the run loop.
    Loop(&'static str),
}

use Suite::{Attack, Edge, Engine, FailingSync, Kill, Loop, Power, Runner, Syncs};

/// Only the engine in memory has several shards and instances.
const IN_MEMORY: Suite = Engine("memory", "the_engine_in_memory_keeps_the_contract");

/// Which suites must notice which bug: each of them, not one of them.
const CAUGHT_BY: &[(&str, &[Suite])] = &[
    ("no-fsync", &[Syncs, Power]),
    ("no-directory-fsync", &[Syncs]),
    ("ack-before-commit", &[Kill]),
    ("retry-fsync", &[FailingSync]),
    ("no-epoch-check", &[Engine("contract", "")]),
    ("no-cas-on-first", &[Engine("contract", ""), IN_MEMORY]),
    ("shard-blind-fence", &[IN_MEMORY]),
    ("deaf-instances", &[IN_MEMORY]),
    ("forget-producer", &[Kill, Engine("contract", "")]),
    ("forget-command", &[Engine("contract", "")]),
    ("seal-loses-last", &[Engine("contract", "")]),
    ("skip-crc", &[Engine("damage", "a_flipped_bit_in_a_live_chunk")]),
    ("skip-chain", &[Engine("damage", "a_rewritten_past")]),
    ("trust-snapshot", &[Engine("damage", "a_damaged_snapshot")]),
    ("live-before-replay", &[Kill]),
    ("lossy-utf8", &[Kill]),
    ("id-is-milliseconds", &[Kill]),
    ("clean-end-without-terminal", &[Kill]),
    ("cookie-on-websocket", &[Edge]),
    ("tenant-blind", &[Edge]),
    ("approval-by-position", &[Runner]),
    ("disconnect-cancels", &[Runner]),
    ("rerun-unknown", &[Loop("kill::")]),
    ("fresh-tool-key", &[Loop("kill::")]),
    ("effect-before-intent", &[Loop("kill::a_turn_is_finished")]),
    ("cut-is-complete", &[Loop("turns::")]),
    ("keep-cut-text", &[Loop("control::a_model_that_fails")]),
    ("forget-said", &[Loop("steers::"), Loop("stops::what_was_said")]),
    ("keep-child-numbers", &[Loop("agents::a_result_tells")]),
    ("forget-timers", &[Loop("owners::a_thousand_waiting")]),
    ("last-decision-wins", &[Loop("races::")]),
    ("predicate-fails-open", &[Loop("predicates::"), Loop("consent::")]),
    ("rule-for-all-agents", &[Loop("consent::an_always")]),
    ("redact-own-secrets-only", &[Attack("secrets/a-command")]),
    ("credential-ignores-origin", &[Attack("access/a-credential-works-on-its-origins-alone")]),
    ("credential-outlives-key", &[Attack("access/a-credential-ends-with-its-key")]),
    ("key-takes-all-tickets", &[Attack("access/one-key-cannot-take-all-tickets")]),
    ("every-admin-sees-all-keys", &[Attack("access/only-the-operator-sees-keys-of-other-tenants")]),
    ("duplicate-origin", &[Attack("edge/repeated")]),
    ("thread-dropped", &[Attack("edge/a-message-thread")]),
    ("leave-descendants", &[Attack("processes/a-daemon-ends-with-a-call-that-succeeds")]),
    ("close-header-on-streams", &[Attack("streams/no-stream-announces-a-close")]),
    ("empty-without-turn", &[Attack("streams/every-dialect-replays-without-a-turn")]),
    ("no-call-cap", &[Attack("an-answer-runs-no-more-calls")]),
    ("buffer-uploads", &[Attack("held-uploads-cost-no-memory")]),
    ("keep-hubs", &[Attack("idle-sessions-leave-memory")]),
    ("quota-blind-bytes", &[Attack("quota-of-bytes-holds"), Engine("contract", "")]),
    ("quota-keeps-deleted", &[Attack("quota-of-sessions"), Engine("contract", "")]),
    ("quota-blind-import", &[Attack("quota-of-streams-and-events")]),
    ("retire-open-turns", &[Attack("retention-spares-open-turns"), Engine("contract", "")]),
    ("retire-by-wall-clock", &[Attack("jumping-clock")]),
    ("fresh-ids-after-restore", &[Attack("ids-stay-after"), Engine("contract", "")]),
    ("fixed-reserve", &[Attack("a-small-disk")]),
    ("trust-author-in-payload", &[Attack("an-author-in-the-event")]),
    ("believe-producers", &[Attack("a-forged-start"), Attack("a-forged-question")]),
    ("run-without-decision", &[Attack("an-approved-call")]),
    ("import-grants-rules", &[Attack("an-import-grants")]),
    ("fork-revives-rules", &[Attack("a-fork-revives")]),
    ("stale-tool-schema", &[Attack("an-mcp-server")]),
    ("leave-reopened", &[Attack("a-copy-opens-no-turn-again")]),
    ("no-burst-limit", &[Attack("a-burst-of-sessions")]),
    ("uncounted-messages", &[Attack("incomplete-messages")]),
    ("show-invisible", &[Attack("terminal/")]),
    ("store-stream-types", &[Attack("stream-types")]),
    ("open-metrics", &[Attack("metrics-need-a-key")]),
    ("readable-environment", &[Attack("secrets/a-command")]),
    ("no-frame-limit", &[Attack("frame-floods")]),
    ("loose-framing", &[Attack("ambiguous-framing-is-refused")]),
    ("skip-bare-addresses", &[Attack("addresses-in-disguise")]),
];

/// Builds with the bugs in place, shows that the suites pass with none of them on, then that each is caught.
pub fn run(root: &Path) -> Result<()> {
    let known: Vec<&str> = CAUGHT_BY.iter().map(|(bug, _)| *bug).collect();
    for bug in build::seeded(root)? {
        ensure!(
            known.contains(&bug.as_str()),
            "bug `{bug}` is seeded, but no suite is named that must catch it"
        );
    }
    let built = Built::make(root)?;
    control(&built)?;
    let (mut caught, mut missed) = (0, Vec::new());
    for (bug, suites) in CAUGHT_BY {
        let mut outcomes = Vec::new();
        for suite in *suites {
            let began = Instant::now();
            let outcome = attempt(*suite, &built, Some(bug))?;
            let verdict = match outcome {
                Outcome::Failed => "caught",
                Outcome::Skipped => "not tried",
                Outcome::Passed => "MISSED",
            };
            println!("  {bug:28} {verdict} by {suite:?} in {:.1} s", began.elapsed().as_secs_f64());
            outcomes.push(outcome);
        }
        if outcomes.contains(&Outcome::Passed) {
            missed.push(*bug);
        } else if outcomes.contains(&Outcome::Failed) {
            caught += 1;
        }
    }
    println!("seeded bugs caught: {caught}/{}", CAUGHT_BY.len());
    ensure!(missed.is_empty(), "missed: {}", missed.join(", "));
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed,
    Skipped,
}

/// Every suite passes when no bug is on: what it notices later is the bug.
fn control(built: &Built) -> Result<()> {
    let mut suites: Vec<Suite> = Vec::new();
    for suite in CAUGHT_BY.iter().flat_map(|(_, suites)| *suites) {
        if !suites.contains(suite) {
            suites.push(*suite);
        }
    }
    // `cargo xtask ci` runs every attack without a bug beside this.
    for suite in suites.into_iter().filter(|suite| !matches!(suite, Attack(_))) {
        if attempt(suite, built, None)? == Outcome::Failed {
            bail!("{suite:?} fails without any bug");
        }
    }
    Ok(())
}

fn attempt(suite: Suite, built: &Built, bug: Option<&str>) -> Result<Outcome> {
    if let Engine(file, filter) = suite {
        return tests(&built.test(file)?, filter, bug);
    }
    if let Loop(filter) = suite {
        return tests(&built.test("runner")?, filter, bug);
    }
    let program = Program { bug: bug.map(str::to_owned), ..Program::new(&built.binary) };
    let result = match suite {
        Kill => kill::run(&program, &kill::Plan { cycles: KILL_CYCLES, seed: 11, time: TIME }).map(|_| true),
        Power => {
            let file_system = "ext4".to_owned();
            let plan = power::Plan { file_system, cycles: POWER_CYCLES, seed: 11, time: TIME };
            power::run(&program, &plan).map(|verdict| verdict.is_some())
        }
        Syncs => faults::discipline(&program),
        FailingSync => faults::failing_sync(&program, FAILING_SYNCS),
        Edge => faults::edge(&program).map(|()| true),
        Runner => runner::short(&program).map(|()| true),
        Attack(word) => crate::attack::run(&program, &[word.to_owned()]).map(|()| true),
        Engine(..) | Loop(_) => unreachable!("handled above"),
    };
    Ok(match result {
        Ok(true) => Outcome::Passed,
        Ok(false) => Outcome::Skipped,
        Err(error) => {
            if bug.is_none() {
                eprintln!("{error:#}");
            }
            Outcome::Failed
        }
    })
}

fn tests(test: &Path, filter: &str, bug: Option<&str>) -> Result<Outcome> {
    let mut command = Command::new(test);
    command.arg(filter).stdout(Stdio::null()).stderr(Stdio::null()).env_remove("RIVERRUN_SEEDED_BUG");
    if let Some(bug) = bug {
        command.env("RIVERRUN_SEEDED_BUG", bug);
    }
    let mut child = command.spawn().with_context(|| test.display().to_string())?;
    let began = Instant::now();
    while began.elapsed() < TIME {
        if let Some(status) = child.try_wait()? {
            return Ok(if status.success() { Outcome::Passed } else { Outcome::Failed });
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    // A test that waits for ever for what the bug keeps from happening has noticed it.
    child.kill()?;
    child.wait()?;
    Ok(Outcome::Failed)
}
