//! A turn is stopped at every one of its events; every provider takes the next turn's history.

use std::time::Duration;

use riverrun_event::TurnId;
use riverrun_provider::{ModelRequest, anthropic, chat, gemini, openai};
use riverrun_runner::agent::Approval;
use riverrun_runner::{AgentSpec, CancelMode};

use crate::script::{Say, Script, calls, text};
use crate::stage::{Stage, agent};
use crate::tool::{Calls, ONCE, READ, slow_tool};

/// Every event of the model in an append of its own.
fn paced(say: Say) -> Say {
    Say(say.0.into_iter().map(|(_, event)| (Duration::from_millis(5), event)).collect())
}

fn refused(request: &ModelRequest) -> Option<String> {
    let checks = [
        ("anthropic", anthropic::check::check(&anthropic::encode(request, "another"))),
        ("chat", chat::check::check(&chat::encode(request, "another"))),
        ("gemini", gemini::check::check(&gemini::encode(request, "another"))),
        ("openai", openai::check::check(&openai::encode(request, "another"))),
    ];
    checks.into_iter().find_map(|(name, check)| Some(format!("{name}: {}", check.err()?)))
}

/// Stops the turn at its nth event; false if it had ended before.
async fn stop_at(place: u64) -> bool {
    let made = Calls::default();
    let pause = Duration::from_millis(20);
    let three = [("c1", "read", r#"{"x":1}"#), ("c2", "note", "{}"), ("c3", "erase", "{}")];
    let script = Script::new(vec![
        paced(calls(&three)),
        paced(calls(&[("c4", "read", "{}")])),
        paced(text("so it is")),
    ]);
    let tools = vec![
        slow_tool("read", READ, Approval::Policy, &made, pause),
        slow_tool("note", ONCE, Approval::Never, &made, pause),
        slow_tool("erase", ONCE, Approval::Never, &made, pause),
    ];
    let stage = Stage::new(script, vec![AgentSpec { tools, ..agent() }]).await;
    let (runner, key, turn) = (stage.runner.clone(), stage.key.clone(), TurnId::new("turn_1").unwrap());
    stage.journal.at(place, move || {
        tokio::spawn(async move { runner.cancel(&key, &turn, CancelMode::Immediate, None).await });
    });
    stage.submit("turn_1", "go").await;
    let ended = stage.ended("turn_1").await;
    let asked = stage.script.calls();
    stage.submit("turn_2", "and now").await;
    assert_eq!(stage.ended("turn_2").await, "completed");
    let requests = stage.script.requests.lock().unwrap();
    for request in &requests[..] {
        assert_eq!(refused(request), None, "stopped at {place}: {:#?}", request.history);
    }
    assert!(requests.len() > asked);
    ended == "cancelled"
}

#[tokio::test(start_paused = true)]
async fn every_provider_takes_the_history_after_a_stop_at_any_event() {
    let mut stopped = 0;
    for place in 1..200 {
        if !stop_at(place).await {
            break;
        }
        stopped += 1;
    }
    assert!(stopped > 40, "only {stopped} stops");
}
