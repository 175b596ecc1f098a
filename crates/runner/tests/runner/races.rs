//! Deciders, cancels, timeouts and ends at random times: one outcome, one terminal event, nobody stuck.

use std::time::Duration;

use riverrun_event::TurnId;
use riverrun_log::{Random, SeededRandom};
use riverrun_runner::agent::{Approval, Limits};
use riverrun_runner::{AgentSpec, CancelMode, Decided, Decision};

use crate::script::{Script, calls, slow_text};
use crate::stage::{Stage, agent};
use crate::tool::{Calls, ONCE, slow_tool};
use crate::tools::{decide, pending};

struct Dice(SeededRandom);

impl Dice {
    /// A time up to six and a half seconds, in steps that make equal times likely.
    fn time(&self) -> Duration {
        Duration::from_millis(500 * self.below(14))
    }

    fn below(&self, limit: u64) -> u64 {
        let mut bytes = [0; 8];
        self.0.fill(&mut bytes);
        u64::from_le_bytes(bytes) % limit
    }
}

async fn race(seed: u64) {
    let dice = Dice(SeededRandom::new(seed));
    let made = Calls::default();
    let limits = Limits { action_timeout: Duration::from_secs(4), ..Limits::default() };
    let tools = vec![slow_tool("erase", ONCE, Approval::Policy, &made, dice.time())];
    let script = Script::new(vec![calls(&[("c1", "erase", "{}")]), slow_text("it is done", dice.time() / 4)]);
    let stage = Stage::new(script, vec![AgentSpec { tools, limits, ..agent() }]).await;
    stage.submit("turn_1", "go").await;
    let open = pending(&stage, 1).await;
    let (action, asked) = &open[0];
    let turn = TurnId::new("turn_1").unwrap();

    let deciders = (0..2 + dice.below(3)).map(|_| {
        let decision = if dice.below(2) == 0 { Decision::Approve } else { Decision::Reject };
        let (at, order) = (dice.time(), decide(action, decision, asked.digest.clone()));
        let stage = &stage;
        async move {
            tokio::time::sleep(at).await;
            stage.runner.decide(&stage.key, order).await.expect("a decision is always answered")
        }
    });
    let cancels = (0..dice.below(3)).map(|_| {
        let mode = if dice.below(3) == 0 { CancelMode::AfterTurn } else { CancelMode::Immediate };
        let (at, stage, turn) = (dice.time(), &stage, &turn);
        async move {
            tokio::time::sleep(at).await;
            stage.runner.cancel(&stage.key, turn, mode, None).await.expect("a cancel is always answered")
        }
    });
    let all = futures_util::future::join(
        futures_util::future::join_all(deciders),
        futures_util::future::join_all(cancels),
    );
    let (decided, cancelled) = all.await;
    let ended = stage.ended("turn_1").await;

    let winners: Vec<&Decided> = decided.iter().filter(|decided| decided.won).collect();
    assert!(winners.len() <= 1, "seed {seed}: {decided:?}");
    assert_eq!(stage.count("action.resolved").await, 1, "seed {seed}");
    assert!(decided.iter().all(|told| told.decision == decided[0].decision), "seed {seed}: {decided:?}");
    let may_run = winners.iter().any(|decided| decided.decision == "approve");
    assert!(made.lock().unwrap().len() <= usize::from(may_run), "seed {seed}: it ran without consent");
    assert!(ended == "completed" || (ended == "cancelled" && !cancelled.is_empty()), "seed {seed}: {ended}");
    let terminal = stage.events().await.iter().filter(|event| event.kind.is_turn_terminal()).count();
    assert_eq!(terminal, 1, "seed {seed}");
    let last = stage.events().await.last().map(|event| event.kind.is_turn_terminal());
    assert_eq!(last, Some(true), "seed {seed}: something follows the end");
}

#[tokio::test(start_paused = true)]
async fn one_outcome_whatever_comes_first() {
    for seed in 0..2_000 {
        race(seed).await;
    }
}
