//! Other agents that a person must agree to: as tools and as handoffs.

use riverrun_event::RawJson;
use riverrun_runner::agent::Approval;
use riverrun_runner::{AgentSpec, CommandError, Decide, Decision};

use crate::script::{Script, calls, text};
use crate::stage::{Stage, agent};
use crate::tools::{decide, pending, result};

const HELP: (&str, &str, &str) = ("s", "helper", r#"{"input":"dig"}"#);
const TRANSFER: (&str, &str, &str) = ("h", "transfer_to_expert", "{}");

/// `main` may call `helper` and hand over to `expert`, if somebody agrees.
async fn stage(asked: &[&[(&str, &str, &str)]], last: &str) -> Stage {
    let named =
        |name: &str| AgentSpec { name: name.to_owned(), models: vec![format!("script/{name}")], ..agent() };
    let main = AgentSpec {
        subagents: vec!["helper".to_owned()],
        handoffs: vec!["expert".to_owned()],
        agent_approvals: ["helper", "transfer_to_expert"]
            .map(|name| (name.to_owned(), Approval::Always))
            .into(),
        ..named("main")
    };
    let says = asked.iter().map(|asked| calls(asked)).chain([text(last)]).collect();
    let script = Script::new(vec![])
        .model("main", says)
        .model("helper", vec![text("found it"), text("found more")])
        .model("expert", vec![text("expertly")]);
    let stage = Stage::new(script, vec![main, named("helper"), named("expert")]).await;
    stage.submit("turn_1", "go").await;
    stage
}

async fn decided(stage: &Stage, decision: Decision) {
    let open = pending(stage, 1).await;
    let decide = decide(&open[0].0, decision, open[0].1.digest.clone());
    assert!(stage.runner.decide(&stage.key, decide).await.unwrap().won);
}

#[tokio::test(start_paused = true)]
async fn a_sub_agent_waits_for_consent_and_then_runs() {
    let stage = stage(&[&[HELP]], "so it is").await;
    let open = pending(&stage, 1).await;
    assert_eq!(open[0].1.tool_name.as_deref(), Some("helper"));
    assert_eq!(stage.count("subagent.spawned").await, 0);
    assert_eq!(stage.state().await.turns[0].status.as_str(), "waiting_permission");
    let wrong = decide(&open[0].0, Decision::Approve, Some("sha256:00".to_owned()));
    let wrong = stage.runner.decide(&stage.key, wrong).await;
    assert!(matches!(wrong, Err(CommandError::DigestMismatch)), "{wrong:?}");
    decided(&stage, Decision::Approve).await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(stage.count("subagent.spawned").await, 1);
    assert_eq!(result(&stage, "s"), ("found it".to_owned(), false));
    let kinds = stage.kinds().await;
    let told: Vec<&str> = kinds.iter().map(String::as_str).filter(|kind| is_consent(kind)).collect();
    let expected = [
        "permission.evaluated",
        "permission.requested",
        "action.required",
        "action.resolved",
        "permission.resolved",
    ];
    assert_eq!(told, expected);
}

fn is_consent(kind: &str) -> bool {
    kind.starts_with("permission.") || kind.starts_with("action.")
}

#[tokio::test(start_paused = true)]
async fn what_it_is_asked_may_be_edited_and_must_fit() {
    let stage = stage(&[&[HELP]], "so it is").await;
    let open = pending(&stage, 1).await;
    let edit = |json: &str| Decision::Edit(RawJson::parse(json).unwrap());
    let misfit = decide(&open[0].0, edit(r#"{"task":"x"}"#), open[0].1.digest.clone());
    let refused = stage.runner.decide(&stage.key, misfit).await;
    assert!(matches!(refused, Err(CommandError::Invalid { .. })), "{refused:?}");
    decided(&stage, edit(r#"{"input":"dig gently"}"#)).await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    let state = stage.state().await;
    let child = state.tasks.iter().find(|task| task.task_id.as_str() == "s").unwrap();
    assert_eq!(child.objective.as_deref(), Some("dig gently"));
}

#[tokio::test(start_paused = true)]
async fn a_rejected_or_answered_one_never_runs() {
    for (decision, told, is_error) in [
        (Decision::Reject, "Tool execution was not approved.", true),
        (Decision::Respond(RawJson::of("I looked: nothing").unwrap()), "I looked: nothing", false),
    ] {
        let stage = stage(&[&[HELP, TRANSFER]], "alone then").await;
        let open = pending(&stage, 2).await;
        for (action, asked) in &open {
            let decide = decide(action, decision.clone(), asked.digest.clone());
            assert!(stage.runner.decide(&stage.key, decide).await.unwrap().won);
        }
        assert_eq!(stage.ended("turn_1").await, "completed");
        assert_eq!(stage.said("turn_1").await, "alone then");
        for call in ["s", "h"] {
            assert_eq!(result(&stage, call), (told.to_owned(), is_error), "{call}");
        }
        assert_eq!((stage.count("subagent.spawned").await, stage.count("agent.changed").await), (0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_handoff_waits_over_a_restart_and_then_happens_once() {
    let mut stage = stage(&[&[TRANSFER]], "never said").await;
    pending(&stage, 1).await;
    stage.take_over().await;
    decided(&stage, Decision::Approve).await;
    stage.take_over().await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(stage.said("turn_1").await, "expertly");
    assert_eq!(stage.count("agent.changed").await, 1);
}

#[tokio::test(start_paused = true)]
async fn consent_for_always_holds_for_the_next_call() {
    let again = ("s2", "helper", r#"{"input":"dig on"}"#);
    let stage = stage(&[&[HELP], &[again]], "so it is").await;
    let open = pending(&stage, 1).await;
    let always = Decide { always: true, ..decide(&open[0].0, Decision::Approve, open[0].1.digest.clone()) };
    stage.runner.decide(&stage.key, always).await.unwrap();
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!((stage.count("action.required").await, stage.count("subagent.spawned").await), (1, 2));
    assert_eq!(result(&stage, "s2").0, "found more");
}
