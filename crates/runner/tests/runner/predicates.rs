//! Rules of an agent's own: who must agree, what no decision means, what the model reads of it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use riverrun_runner::agent::{Approval, Limits, OnTimeout, Predicate};
use riverrun_runner::{AgentSpec, Decide, Decision};

use crate::script::{Script, calls, text};
use crate::stage::{Stage, agent};
use crate::tool::{Calls, ONCE, READ, tool};
use crate::tools::{decide, pending, result};

async fn stage(asked: &[(&str, &str, &str)], spec: AgentSpec) -> Stage {
    let stage = Stage::new(Script::new(vec![calls(asked), text("ok")]), vec![spec]).await;
    stage.submit("turn_1", "go").await;
    stage
}

fn with(predicate: Predicate, made: &Calls) -> AgentSpec {
    AgentSpec { tools: vec![tool("erase", READ, Approval::Predicate(predicate), made)], ..agent() }
}

#[tokio::test(start_paused = true)]
async fn a_rule_sees_whose_call_it_is() {
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let (told, made) = (seen.clone(), Calls::default());
    let rule: Predicate = Arc::new(move |call| {
        let ids = [call.session, call.turn, call.agent, call.call_id, call.tool].join(" ");
        told.lock().unwrap().push(format!("{ids} {}", call.arguments));
        Ok(call.call_id == "c2")
    });
    let stage = stage(&[("c1", "erase", r#"{"x":1}"#), ("c2", "erase", "{}")], with(rule, &made)).await;
    let open = pending(&stage, 1).await;
    assert_eq!(made.lock().unwrap().len(), 1, "the other one ran");
    let reject = decide(&open[0].0, Decision::Reject, open[0].1.digest.clone());
    stage.runner.decide(&stage.key, reject).await.unwrap();
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert!(seen.lock().unwrap().contains(&"ses_a turn_1 main c1 erase {\"x\":1}".to_owned()), "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn a_rule_that_fails_or_breaks_down_asks_a_person() {
    let fails: Predicate = Arc::new(|_| Err("no idea".to_owned()));
    let breaks: Predicate = Arc::new(|call| Ok(call.arguments["x"].as_i64().unwrap() > 1));
    for (rule, reason) in [(fails, "no idea"), (breaks, "broke down")] {
        let made = Calls::default();
        let stage = stage(&[("c1", "erase", "{}")], with(rule, &made)).await;
        let open = pending(&stage, 1).await;
        assert!(open[0].1.prompt.as_deref().unwrap().contains(reason), "{:?}", open[0].1.prompt);
        assert!(made.lock().unwrap().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_may_fail_a_turn_that_nobody_decides_in_time_also_over_a_restart() {
    let made = Calls::default();
    let limits = Limits {
        action_timeout: Duration::from_secs(60),
        on_action_timeout: OnTimeout::Fail,
        ..Limits::default()
    };
    let tools = vec![tool("erase", ONCE, Approval::Policy, &made)];
    let mut stage = stage(&[("c1", "erase", "{}")], AgentSpec { tools, limits, ..agent() }).await;
    let open = pending(&stage, 1).await;
    stage.take_over().await;
    assert_eq!(stage.ended("turn_1").await, "failed");
    let late = decide(&open[0].0, Decision::Reject, open[0].1.digest.clone());
    let late = stage.runner.decide(&stage.key, late).await.unwrap();
    assert_eq!((late.source.as_str(), late.won, late.is_same), ("timeout", false, false));
    assert_eq!(stage.count("action.resolved").await, 1);
    let error = stage.state().await.turns[0].error.clone().unwrap();
    assert_eq!(error.code.as_deref(), Some("action_timeout"));
    assert!(error.message.contains("`erase`"), "{}", error.message);
    assert_eq!((stage.script.calls(), made.lock().unwrap().len()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn the_persons_words_beat_the_formatter_which_beats_the_usual_ones() {
    for (words, told) in [(Some("not today"), "not today"), (None, "main may not erase (person): c1")] {
        let made = Calls::default();
        let spec = AgentSpec {
            tools: vec![tool("erase", ONCE, Approval::Policy, &made)],
            rejection: Some(Arc::new(|no| {
                Some(format!("{} may not {} ({}): {}", no.agent, no.tool, no.source, no.call_id))
            })),
            ..agent()
        };
        let stage = stage(&[("c1", "erase", "{}")], spec).await;
        let open = pending(&stage, 1).await;
        let reject = decide(&open[0].0, Decision::Reject, open[0].1.digest.clone());
        let reject = Decide { message: words.map(ToOwned::to_owned), ..reject };
        stage.runner.decide(&stage.key, reject).await.unwrap();
        assert_eq!(stage.ended("turn_1").await, "completed");
        assert_eq!(result(&stage, "c1"), (told.to_owned(), true));
    }
}

#[tokio::test(start_paused = true)]
async fn an_unknown_tool_fails_the_task_if_the_agent_wants_it() {
    let made = Calls::default();
    let tools = vec![tool("read", READ, Approval::Policy, &made)];
    let spec = AgentSpec { tools, fails_on_unknown_tool: true, ..agent() };
    let stage = stage(&[("c1", "read", "{}"), ("c2", "nothing", "{}")], spec).await;
    assert_eq!(stage.ended("turn_1").await, "failed");
    let error = stage.state().await.turns[0].error.clone().unwrap();
    assert_eq!(error.code.as_deref(), Some("unknown_tool"));
    assert!(error.message.contains("`nothing`"), "{}", error.message);
    assert_eq!(stage.script.calls(), 1);
}
