//! 6, 14, 15: histories, candidates and rates.

use serde_json::json;

use crate::stage::{Stage, find, kinds, place};

#[test]
fn scenario_06_compaction_has_a_boundary_and_pending_actions_survive_it() {
    let config = "[agents.talker]\nmodel = \"scripted/text\"\ncompact_at_tokens = 1\n";
    let stage = Stage::new("compact", config, &[]);
    let other = json!({"turnId": "wait", "threadId": "other", "agent": "asker", "input": "go"});
    let (status, answer) = stage.world.post("/v1/sessions/s/turns", &other).unwrap();
    assert_eq!(status, 202, "{answer}");
    stage.world.wait_actions("s", 1).unwrap();
    for number in 0..6 {
        let turn = format!("t{number}");
        stage.submit(&turn, "talker");
        stage.until_ended(&turn);
    }
    let events = stage.events();
    assert!(place(&events, "context.compaction.started") < place(&events, "context.compaction.completed"));
    let completed = find(&events, "context.compaction.completed");
    assert!(completed["payload"].as_object().is_some_and(|payload| !payload.is_empty()), "{completed}");
    let action = stage.world.actions("s").unwrap().remove(0);
    assert_eq!(stage.world.decide("s", &action, "approve").unwrap().status, 200);
    stage.until_ended("wait");
    assert_eq!(stage.world.counter.effects("s", "wipe").len(), 1);
}

#[test]
fn scenario_14_a_single_candidate_is_said_to_be_one() {
    let stage = Stage::new("single", "", &[]);
    stage.submit("t1", "writer");
    let events = stage.until_ended("t1");
    assert!(kinds(&events).contains(&"routing.single_candidate"), "{:?}", kinds(&events));
    assert_eq!(find(&events, "routing.single_candidate")["turnId"], "t1");
}

#[test]
fn scenario_15_a_rate_limit_is_told_with_its_turn() {
    let config = "[agents.limited]\nmodel = \"scripted/fail-then-ok?fails=1&category=rate_limit\"\n";
    let stage = Stage::new("rate", config, &[]);
    stage.submit("t1", "limited");
    let events = stage.until_ended("t1");
    let hit = find(&events, "rate_limit.hit");
    assert_eq!((&hit["turnId"], &events.last().unwrap()["type"]), (&json!("t1"), &json!("turn.completed")));
}
