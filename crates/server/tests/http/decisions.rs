//! Actions over HTTP: one decision wins, and it names what it decides.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::agents::{agents, hurried, kinds};
use crate::harness::{JSON, NDJSON, Server};

async fn waiting() -> (Server, Arc<AtomicUsize>, Value) {
    let runs = Arc::new(AtomicUsize::new(0));
    let server = Server::with_agents(agents(&runs)).await;
    server.make("s").await;
    server.submit("s", json!({"input": "delete x", "agent": "deleter", "turnId": "t1"})).await;
    let action = server.action("s").await;
    (server, runs, action)
}

fn path(action: &Value) -> String {
    format!("/v1/sessions/s/actions/{}", action["actionId"].as_str().expect("an id"))
}

#[tokio::test]
async fn an_approval_runs_exactly_what_it_names_once() {
    let (server, runs, action) = waiting().await;
    assert_eq!((&action["toolName"], &action["status"]), (&json!("delete_file"), &json!("pending")));
    let stale = server.post(&path(&action), json!({"decision": "approve", "digest": "sha256:0"})).await;
    assert_eq!(stale.refusal(), (409, "digest_mismatch".to_owned()));
    assert_eq!(runs.load(Ordering::SeqCst), 0);
    let approve = json!({"decision": "approve", "digest": action["digest"]});
    let decided = server.post(&path(&action), approve.clone()).await;
    assert_eq!(decided.status, 200, "{}", decided.text());
    assert_eq!((&decided.json()["decision"], &decided.json()["won"]), (&json!("approve"), &json!(true)));
    assert_eq!(kinds(&server.turn("s", "t1").await).last(), Some(&"turn.completed"));
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    // The same again is no error; another one is told which decision holds.
    let again = server.post(&path(&action), approve).await;
    assert_eq!((again.status, &again.json()["won"]), (200, &json!(false)), "{}", again.text());
    assert_eq!(again.json()["status"], "already_decided");
    let other = server.post(&path(&action), json!({"decision": "reject"})).await;
    assert_eq!(other.refusal(), (409, "decided_by_other".to_owned()));
    assert_eq!(other.json()["decision"], "approve");
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    server.stop().await;
}

#[tokio::test]
async fn a_second_decision_that_differs_is_told_who_was_first() {
    let approve = json!({"decision": "approve"});
    let edit = |path: &str| json!({"decision": "edit", "arguments": {"path": path}});
    let respond = |words: &str| json!({"decision": "respond", "message": words});
    let always = json!({"decision": "approve", "always": true});
    let no = |why: &str| json!({"decision": "reject", "message": why});
    for (first, second) in [
        (edit("a"), edit("b")),
        (respond("A"), respond("B")),
        (approve.clone(), always),
        (approve, edit("a")),
        (no("not today"), no("never")),
    ] {
        let (server, _, action) = waiting().await;
        let named = |mut body: Value| {
            body["digest"] = action["digest"].clone();
            body
        };
        let won = server.post(&path(&action), named(first.clone())).await;
        assert_eq!((won.status, &won.json()["won"]), (200, &json!(true)), "{}", won.text());
        let again = server.post(&path(&action), named(first.clone())).await;
        assert_eq!((again.status, &again.json()["won"]), (200, &json!(false)), "{}", again.text());
        let other = server.post(&path(&action), named(second.clone())).await;
        assert_eq!(other.refusal(), (409, "decided_by_other".to_owned()), "{first} then {second}");
        assert_eq!(other.json()["decision"], first["decision"]);
        let who = other.json()["decidedBy"].as_str().expect("who decided").to_owned();
        assert!(other.json()["detail"].as_str().is_some_and(|detail| detail.contains(&who)));
        // Who is told so need not read the decision again.
        for told in [again, other] {
            let cursor = told.json()["cursor"].as_str().expect("a cursor").to_owned();
            let rest = server.get(&format!("/v1/sessions/s/events?after={cursor}&follow=false")).await;
            assert!(!rest.to_string().contains("action.resolved"), "{rest}");
        }
        server.stop().await;
    }
}

#[tokio::test]
async fn an_answer_stands_in_the_log_as_one() {
    let (server, runs, action) = waiting().await;
    let answer = json!({"decision": "respond", "digest": action["digest"], "response": {"done": true}});
    assert_eq!(server.post(&path(&action), answer).await.status, 200);
    let told = server.turn("s", "t1").await;
    let resolved = told.iter().find(|event| event["type"] == "action.resolved").expect("it is resolved");
    assert_eq!(resolved["payload"]["response"], json!({"done": true}), "{resolved}");
    assert_eq!(runs.load(Ordering::SeqCst), 0);
    server.stop().await;
}

#[tokio::test]
async fn a_rejection_runs_nothing() {
    let (server, runs, action) = waiting().await;
    let decided = server.post(&path(&action), json!({"decision": "reject", "message": "not today"})).await;
    assert_eq!(decided.status, 200, "{}", decided.text());
    assert_eq!(kinds(&server.turn("s", "t1").await).last(), Some(&"turn.completed"));
    assert_eq!(runs.load(Ordering::SeqCst), 0);
    server.stop().await;
}

#[tokio::test]
async fn edited_arguments_must_fit_the_tool() {
    let (server, runs, action) = waiting().await;
    let edit =
        |arguments: Value| json!({"decision": "edit", "digest": action["digest"], "arguments": arguments});
    let large = "x".repeat(248 * 1024);
    for (arguments, field, limit) in [
        (json!({"path": 7}), "arguments.path", Value::Null),
        (json!({}), "arguments", Value::Null),
        (json!({"path": large}), "arguments", json!(248 * 1024)),
    ] {
        let wrong = server.post(&path(&action), edit(arguments)).await;
        assert_eq!(wrong.refusal(), (422, "arguments_invalid".to_owned()), "{}", wrong.text());
        assert_eq!((&wrong.json()["field"], &wrong.json()["limit"]), (&json!(field), &limit));
        assert_eq!(server.get("/v1/sessions/s/actions").await["actions"][0]["status"], "pending");
    }
    let decided = server.post(&path(&action), edit(json!({"path": "y"}))).await;
    assert_eq!(decided.status, 200, "{}", decided.text());
    let told = server.turn("s", "t1").await;
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    assert!(told.iter().any(|event| event.to_string().contains("deleted \\\"y\\\"")), "{told:#?}");
    server.stop().await;
}

#[tokio::test]
async fn arguments_up_to_the_limit_run_whole() {
    let (server, runs, action) = waiting().await;
    let path_of = "x".repeat(248 * 1024 - json!({"path": ""}).to_string().len());
    let edit = json!({"decision": "edit", "digest": action["digest"], "arguments": {"path": path_of}});
    let decided = server.post(&path(&action), edit).await;
    assert_eq!(decided.status, 200, "{}", decided.text());
    let told = server.turn("s", "t1").await;
    assert_eq!(kinds(&told).last(), Some(&"turn.completed"));
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    // After a crash the log must tell what was decided upon, whole.
    let resolved = told.iter().find(|event| event["type"] == "action.resolved").expect("it is resolved");
    assert_eq!(resolved["payload"]["arguments"]["path"], path_of);
    server.stop().await;
}

#[tokio::test]
async fn a_decision_that_cannot_be_read_or_names_nothing_is_refused() {
    let (server, runs, action) = waiting().await;
    let wrong = [
        (json!({"decision": "approve"}), "digest", "it is missing"),
        (json!({"decision": "edit", "arguments": {"path": "y"}}), "digest", "it is missing"),
        (
            json!({"decision": "APPROVE ", "digest": action["digest"]}),
            "decision",
            "approve`, `edit`, `reject`, `respond",
        ),
    ];
    for (body, field, told) in wrong {
        let refused = server.post(&path(&action), body.clone()).await;
        assert_eq!(refused.refusal(), (400, "invalid_field".to_owned()), "{body}");
        assert_eq!(refused.json()["field"], field, "{body}");
        assert!(
            refused.json()["detail"].as_str().is_some_and(|said| said.contains(told)),
            "{}",
            refused.text()
        );
    }
    assert_eq!(runs.load(Ordering::SeqCst), 0);
    server.stop().await;
}

#[tokio::test]
async fn after_a_cancel_nothing_can_be_decided() {
    let (server, runs, action) = waiting().await;
    assert_eq!(server.post("/v1/sessions/s/turns/t1/cancel", json!({})).await.status, 202);
    assert_eq!(kinds(&server.turn("s", "t1").await).last(), Some(&"turn.cancelled"));
    for decision in ["approve", "reject"] {
        let body = json!({"decision": decision, "digest": action["digest"]});
        let late = server.post(&path(&action), body).await;
        assert_eq!(late.refusal(), (409, "run_terminal".to_owned()), "{}", late.text());
    }
    assert_eq!(runs.load(Ordering::SeqCst), 0);
    server.stop().await;
}

#[tokio::test]
async fn after_its_time_nothing_can_be_decided() {
    let server = Server::with_agents(hurried()).await;
    server.make("s").await;
    server.submit("s", json!({"input": "delete x", "agent": "deleter", "turnId": "t1"})).await;
    let told = server.turn("s", "t1").await;
    let asked = told.iter().find(|event| event["type"] == "action.required").expect("it asked");
    for decision in ["approve", "reject"] {
        let body = json!({"decision": decision, "digest": asked["payload"]["digest"]});
        let late = server.post(&path(asked), body).await;
        assert_eq!(late.refusal(), (410, "action_expired".to_owned()), "{}", late.text());
        assert_eq!((&late.json()["decision"], &late.json()["source"]), (&json!("reject"), &json!("timeout")));
    }
    server.stop().await;
}

#[tokio::test]
async fn of_fifty_who_decide_at_once_one_wins() {
    let (server, runs, action) = waiting().await;
    let mut deciders = Vec::new();
    for number in 0..50 {
        let (api, path) = (server.api.clone(), path(&action));
        let body = match number % 2 {
            0 => json!({"decision": "approve", "digest": action["digest"]}),
            _ => json!({"decision": "reject", "message": format!("no {number}")}),
        };
        deciders.push(tokio::spawn(async move { api.post(&path, body).await }));
    }
    let (mut won, mut lost) = (Vec::new(), Vec::new());
    for decider in deciders {
        let answer = decider.await.expect("a decider does not panic");
        match answer.status {
            200 if answer.json()["won"] == true => won.push(answer.json()["decision"].clone()),
            200 => lost.push(answer.json()["decision"].clone()),
            409 => {
                assert_eq!(answer.refusal().1, "decided_by_other");
                lost.push(answer.json()["decision"].clone());
            }
            status => panic!("{status}: {}", answer.text()),
        }
    }
    assert_eq!((won.len(), lost.len()), (1, 49));
    assert!(lost.iter().all(|decision| *decision == won[0]), "everybody is told the same: {lost:?}");
    let told = server.turn("s", "t1").await;
    assert_eq!(kinds(&told).iter().filter(|kind| **kind == "action.resolved").count(), 1);
    assert_eq!(runs.load(Ordering::SeqCst), usize::from(won[0] == "approve"));
    server.stop().await;
}

#[tokio::test]
async fn a_decision_on_one_call_beats_an_always() {
    for (always, one, runs_expected) in [("approve", "reject", 1), ("reject", "approve", 1)] {
        let runs = Arc::new(AtomicUsize::new(0));
        let server = Server::with_agents(agents(&runs)).await;
        server.make("s").await;
        server.submit("s", json!({"input": "delete both", "agent": "twice", "turnId": "t1"})).await;
        let both = loop {
            let found = server.get("/v1/sessions/s/actions").await["actions"].clone();
            if found.as_array().is_some_and(|actions| actions.len() == 2) {
                break found;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        };
        let decision =
            |decision: &str, action: &Value| json!({"decision": decision, "digest": action["digest"]});
        let mut sticky = decision(always, &both[0]);
        sticky["always"] = json!(true);
        let decided = server.post(&path(&both[0]), sticky).await;
        assert_eq!(decided.status, 200, "{}", decided.text());
        let decided = server.post(&path(&both[1]), decision(one, &both[1])).await;
        assert_eq!((decided.status, &decided.json()["won"]), (200, &json!(true)), "{}", decided.text());
        server.turn("s", "t1").await;
        assert_eq!(runs.load(Ordering::SeqCst), runs_expected, "always {always}, this one {one}");
        // From the next turn on the always holds, and nobody is asked.
        let told = {
            server.submit("s", json!({"input": "again", "agent": "twice", "turnId": "t2"})).await;
            server.turn("s", "t2").await
        };
        assert!(!kinds(&told).contains(&"action.required"), "{:?}", kinds(&told));
        server.stop().await;
    }
}

#[tokio::test]
async fn a_decision_that_is_not_offered_is_refused() {
    let server = Server::start().await;
    server.make("s").await;
    let asked = json!({"type": "action.required", "turnId": "t1", "actionId": "a1", "payload": {
        "actionType": "approval", "decisions": ["approve", "reject"],
    }});
    server.tell("s", &[asked]).await;
    let edit = json!({"decision": "edit", "arguments": {"path": "y"}, "digest": "sha256:0"});
    let refused = server.post("/v1/sessions/s/actions/a1", edit).await;
    assert_eq!(refused.refusal(), (422, "decision_not_possible".to_owned()), "{}", refused.text());
    assert!(refused.json()["detail"].as_str().is_some_and(|detail| detail.contains("approve, reject")));
    let open = server.get("/v1/sessions/s/actions").await;
    assert_eq!(open["actions"][0]["status"], "pending", "nothing was decided: {open}");
    server.stop().await;
}

#[tokio::test]
async fn a_decision_that_is_written_into_the_log_lets_the_turn_go_on() {
    for (media, is_bare) in [(JSON, false), (NDJSON, false), (JSON, true)] {
        let (server, runs, action) = waiting().await;
        let told = server.get("/v1/sessions/s/events?types=action.required&follow=false").await;
        let mut decision = told["events"][0].clone();
        for member in ["eventId", "sequence", "timestamp"] {
            decision.as_object_mut().expect("an event").remove(member);
        }
        if is_bare {
            decision = json!({"actionId": decision["actionId"]});
        }
        decision["type"] = json!("action.resolved");
        decision["payload"] = json!({"decision": "approve", "digest": action["digest"]});
        let stored = server.call("POST /v1/sessions/s/events", &[media], decision.to_string()).await;
        assert!([200, 201].contains(&stored.status), "{}", stored.text());
        // The runner reads what others wrote when it next looks at the session.
        server.submit("s", json!({"input": "and y", "agent": "deleter", "turnId": "t2"})).await;
        assert_eq!(kinds(&server.turn("s", "t1").await).last(), Some(&"turn.completed"));
        assert_eq!(runs.load(Ordering::SeqCst), 1);
        server.stop().await;
    }
}

/// The runner holds the session in memory and did not write the question.
#[tokio::test]
async fn a_question_from_outside_can_be_decided_at_once() {
    let (server, runs, _) = waiting().await;
    for number in 0..8 {
        let (turn, id) = (format!("outside{number}"), format!("a{number}"));
        let asked = json!({"type": "action.required", "turnId": turn, "actionId": id, "payload": {
            "actionType": "approval", "digest": "sha256:0",
        }});
        server.tell("s", &[asked]).await;
        let decided = server
            .post(
                &format!("/v1/sessions/s/actions/{id}"),
                json!({"decision": "approve", "digest": "sha256:0"}),
            )
            .await;
        assert_eq!((decided.status, &decided.json()["won"]), (200, &json!(true)), "{}", decided.text());
    }
    assert_eq!(runs.load(Ordering::SeqCst), 0, "nothing of the hosted turn was decided");
    server.stop().await;
}
