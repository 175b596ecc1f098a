//! Tasks that callers keep, sub-agents and exports under the standard's names.

use serde_json::{Value, json};

use crate::support::{Client, Server, server};

async fn start(session: &str) -> (Server, Client) {
    let server = server().await;
    let mut client = server.connect().await;
    client.make_session(session).await;
    (server, client)
}

/// The types of the events behind `after`, and how many there are.
async fn kinds(client: &mut Client, session: &str) -> Vec<String> {
    let page = client.ok("export_replay", json!({"sessionId": session, "limit": 1000})).await;
    let events = page["events"].as_array().expect("events").iter();
    events.map(|event| event["type"].as_str().expect("a type").to_owned()).collect()
}

async fn task(client: &mut Client, session: &str, id: &str) -> Value {
    let list = client.ok("list_tasks", json!({"sessionId": session})).await;
    let tasks = list["tasks"].as_array().expect("tasks");
    tasks.iter().find(|task| task["taskId"] == id).expect("the task").clone()
}

#[tokio::test]
async fn a_kept_task_goes_its_way_and_each_step_is_an_event() {
    let (_server, mut client) = start("s").await;
    let of = json!({"sessionId": "s", "taskId": "paint"});
    let with = |more: Value| {
        let mut all = of.clone();
        all.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        all
    };
    let steps = [
        ("create_task", with(json!({"title": "Paint", "objective": "A red door"})), "accepted"),
        ("update_task", with(json!({"priority": "high"})), "accepted"),
        ("start_task", of.clone(), "running"),
        ("append_task_progress", with(json!({"phase": "working", "fraction": 0.5})), "running"),
        ("pause_task", with(json!({"reason": "rain"})), "paused"),
        ("resume_task", of.clone(), "running"),
        ("fail_task", with(json!({"error": {"message": "no paint"}})), "failed"),
        ("retry_task", of.clone(), "running"),
        ("complete_task", with(json!({"completionSummary": "It is red."})), "completed"),
    ];
    for (method, params, status) in steps {
        let answer = client.ok(method, params).await;
        assert_eq!(answer, json!({"taskId": "paint", "status": status}), "{method}");
    }
    let told = kinds(&mut client, "s").await;
    let of_task: Vec<&str> =
        told.iter().map(String::as_str).filter(|kind| kind.starts_with("task.")).collect();
    assert_eq!(
        of_task,
        [
            "task.created",
            "task.updated",
            "task.attempt.started",
            "task.started",
            "task.progress",
            "task.paused",
            "task.resumed",
            "task.attempt.failed",
            "task.failed",
            "task.retrying",
            "task.attempt.started",
            "task.attempt.completed",
            "task.completed",
        ]
    );
    let task = task(&mut client, "s", "paint").await;
    assert_eq!((&task["status"], &task["title"]), (&json!("completed"), &json!("Paint")), "{task}");
    let attempts: Vec<&Value> =
        task["attempts"].as_array().expect("attempts").iter().map(|attempt| &attempt["status"]).collect();
    assert_eq!(attempts, ["failed", "completed"], "the failed attempt is kept");
}

#[tokio::test]
async fn the_same_again_changes_nothing_and_a_wrong_step_says_what_to_do() {
    let (_server, mut client) = start("s").await;
    let of = json!({"sessionId": "s", "taskId": "t"});
    client.ok("task.create", of.clone()).await;
    let again = client.ok("task.create", of.clone()).await;
    assert_eq!(again, json!({"taskId": "t", "status": "accepted", "duplicate": true}));
    let other = client.fails("task.create", json!({"sessionId": "s", "taskId": "t", "title": "Other"})).await;
    assert_eq!((other.0, other.1.as_str()), (-32013, "task_exists"));
    let early = client.call("task.complete", of.clone()).await.expect_err("it was not begun");
    assert_eq!(early["data"]["code"], "task_status", "{early}");
    assert_eq!(
        early["message"],
        "task `t` is accepted, so it does not take `complete`; begin it with `start`"
    );
    client.ok("task.start", of.clone()).await;
    let before = kinds(&mut client, "s").await;
    assert_eq!(client.ok("task.start", of.clone()).await["duplicate"], true);
    let progress = json!({"sessionId": "s", "taskId": "t", "message": "half", "commandId": "c1"});
    let first = client.ok("task.progress", progress.clone()).await;
    assert_eq!(client.ok("append_task_progress", progress.clone()).await, first, "one command, two names");
    assert_eq!(kinds(&mut client, "s").await.len(), before.len() + 1);
    let mut changed = progress;
    changed["message"] = json!("nearly");
    let (code, name, field) = client.fails("task.progress", changed).await;
    assert_eq!((code, name.as_str(), field.as_deref()), (-32013, "idempotency_mismatch", Some("commandId")));
}

#[tokio::test]
async fn what_a_task_command_may_not_say_is_refused_by_name() {
    let (_server, mut client) = start("s").await;
    client.ok("task.create", json!({"sessionId": "s", "taskId": "t"})).await;
    let cases = [
        ("task.create", json!({"sessionId": "s", "titel": "x"}), "unknown_field", "titel"),
        ("task.create", json!({"sessionId": "s", "status": "running"}), "invalid_field", "status"),
        ("task.create", json!({"sessionId": "s", "parentTaskId": "no"}), "invalid_field", "parentTaskId"),
        ("task.start", json!({"sessionId": "s"}), "invalid_field", "taskId"),
        ("task.fail", json!({"sessionId": "s", "taskId": "t"}), "invalid_field", "error"),
        (
            "task.fail",
            json!({"sessionId": "s", "taskId": "t", "error": {}}),
            "invalid_field",
            "error.message",
        ),
        (
            "task.link",
            json!({"sessionId": "s", "taskId": "t", "kind": "loves", "targetId": "t"}),
            "invalid_field",
            "kind",
        ),
        (
            "task.link",
            json!({"sessionId": "s", "taskId": "t", "kind": "blocks", "targetId": "t"}),
            "invalid_field",
            "targetId",
        ),
        (
            "task.link",
            json!({"sessionId": "s", "taskId": "t", "kind": "blocks", "targetId": "no"}),
            "invalid_field",
            "targetId",
        ),
        (
            "turn.steer",
            json!({"sessionId": "s", "turnId": "t", "input": "x", "commandId": 1}),
            "invalid_field",
            "commandId",
        ),
    ];
    for (method, params, name, field) in cases {
        let (_, found, at) = client.fails(method, params.clone()).await;
        assert_eq!((found.as_str(), at.as_deref()), (name, Some(field)), "{method} {params}");
    }
    let (code, name, _) = client.fails("task.start", json!({"sessionId": "s", "taskId": "none"})).await;
    assert_eq!((code, name.as_str()), (-32001, "not_found"));
}

#[tokio::test]
async fn a_cancel_reaches_the_tasks_below_and_edges_survive_a_retry() {
    let (_server, mut client) = start("s").await;
    for (task, parent) in [("house", None), ("roof", Some("house")), ("tile", Some("roof"))] {
        let mut params = json!({"sessionId": "s", "taskId": task});
        if let Some(parent) = parent {
            params["parentTaskId"] = json!(parent);
        }
        client.ok("create_task", params).await;
    }
    let edge = json!({"sessionId": "s", "taskId": "house", "kind": "blocked_by", "targetId": "tile"});
    client.ok("link_tasks", edge.clone()).await;
    client.ok("start_task", json!({"sessionId": "s", "taskId": "tile"})).await;
    let before = kinds(&mut client, "s").await.len();
    client.ok("cancel_task", json!({"sessionId": "s", "taskId": "house", "reason": "war"})).await;
    let page = client.ok("export_replay", json!({"sessionId": "s", "limit": 1000})).await;
    let told: Vec<String> = page["events"].as_array().expect("events")[before..]
        .iter()
        .map(|event| {
            format!(
                "{} {}",
                event["type"].as_str().expect("a type"),
                event["taskId"].as_str().expect("a task")
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            "task.cancel_requested house",
            "task.cancel_requested roof",
            "task.cancel_requested tile",
            "task.cancelled tile",
            "task.cancelled roof",
            "task.cancelled house",
        ]
    );
    client.ok("retry_task", json!({"sessionId": "s", "taskId": "house"})).await;
    let graph = |evidence: &Value| evidence["readModels"]["task_snapshot"]["taskGraph"].clone();
    let evidence = client.ok("export_evidence", json!({"sessionId": "s"})).await;
    let drawn = json!([{"kind": "blocked_by", "targetId": "tile", "status": "active", "taskId": "house"}]);
    assert_eq!(graph(&evidence), drawn);
    client.ok("unlink_tasks", edge).await;
    assert_eq!(graph(&client.ok("session.evidence", json!({"sessionId": "s"})).await), json!([]));
    assert_eq!(
        client.ok("list_subagents", json!({"sessionId": "s"})).await,
        json!({"subagents": [], "truncated": false})
    );
}

#[tokio::test]
async fn a_task_that_is_run_here_is_not_moved_by_hand() {
    let (_server, mut client) = start("s").await;
    let turn = client.ok("turn.submit", json!({"sessionId": "s", "input": "weather?"})).await;
    let of = json!({"sessionId": "s", "taskId": turn["taskId"]});
    let (code, name, _) = client.fails("complete_task", of.clone()).await;
    assert_eq!((code, name.as_str()), (-32016, "task_status"));
    let taken = json!({"sessionId": "s", "taskId": turn["taskId"], "title": "mine"});
    assert_eq!(client.fails("create_task", taken).await.1, "task_exists");
}

#[tokio::test]
async fn a_task_that_is_run_here_is_halted_and_goes_on_under_every_name() {
    let (server, mut client) = start("s").await;
    let submit = json!({"sessionId": "s", "input": "weather?", "turnId": "t1", "agent": "scripted/slow"});
    let turn = client.ok("turn.submit", submit).await;
    let id = turn["taskId"].as_str().expect("a task").to_owned();
    let of = json!({"sessionId": "s", "taskId": id});
    let told = |status: &str, duplicate: bool| match duplicate {
        true => json!({"taskId": id, "status": status, "duplicate": true}),
        false => json!({"taskId": id, "status": status}),
    };
    assert_eq!(client.ok("pause_task", of.clone()).await, told("paused", false));
    assert_eq!(client.ok("task.pause", of.clone()).await, told("paused", true));
    assert_eq!(client.ok("tasks/get", json!({"task_id": id})).await["status"], "paused");
    let thread = client.ok("thread.get", json!({"sessionId": "s"})).await;
    let found = (&thread["status"], &thread["nativeStatus"], &thread["turns"][0]["status"]);
    assert_eq!(found, (&json!("blocked"), &json!("paused"), &json!("paused")), "{thread}");
    assert_eq!(client.ok("session.get", json!({"sessionId": "s"})).await["status"], "paused");
    assert_eq!(client.ok("resume_task", of.clone()).await, told("running", false));
    let path = |verb: &str| format!("POST /v1/sessions/s/tasks/{id}/{verb}");
    assert_eq!(server.json(&path("pause"), json!({"reason": "lunch"})).await, told("paused", false));
    assert_eq!(server.json(&path("resume"), json!({})).await, told("running", false));
    assert_eq!(client.ok("tasks/pause", json!({"task_id": id})).await["status"], "paused");
    assert_eq!(client.ok("tasks/resume", json!({"task_id": id})).await["status"], "working");
    client.ok("tasks/pause", json!({"task_id": id})).await;
    client.ok("turn.cancel", json!({"sessionId": "s", "turnId": "t1"})).await;
    let wait = json!({"sessionId": "s", "turn": "t1", "after": 0});
    client.ok("session.follow", wait).await;
    while client.notification().await["params"]["type"] != "stream.end" {}
    let (code, name, _) = client.fails("tasks/resume", json!({"task_id": id})).await;
    assert_eq!((code, name.as_str()), (-32009, "not_pausable"));
    let told = kinds(&mut client, "s").await;
    let moves = told.iter().filter(|kind| matches!(kind.as_str(), "task.paused" | "task.resumed"));
    assert_eq!(moves.count(), 7, "{told:?}");
}

#[tokio::test]
async fn an_action_that_is_not_provided_says_why_and_what_is() {
    let (_server, mut client) = start("s").await;
    for method in ["start_benchmark_trial", "resolve_permission", "evaluate_permission", "export_review"] {
        let error = client.call(method, json!({})).await.expect_err("it is not provided");
        assert_eq!(
            (&error["code"], &error["data"]["code"]),
            (&json!(-32004), &json!("not_provided")),
            "{method}"
        );
        assert!(
            error["data"]["provided"].as_array().is_some_and(|list| list.contains(&json!("submit_turn")))
        );
        assert!(
            error["message"]
                .as_str()
                .is_some_and(|text| text.starts_with(&format!("`{method}` is not provided: ")))
        );
    }
}

#[tokio::test]
async fn a_command_that_is_sent_again_is_done_once() {
    let (_server, mut client) = start("s").await;
    let params = json!({"sessionId": "s", "input": "weather?", "commandId": "c"});
    let first = client.ok("turn.submit", params.clone()).await;
    assert_eq!(client.ok("submit_turn", params).await, first, "no second turn without a turnId");
    let turns = kinds(&mut client, "s").await.iter().filter(|kind| *kind == "turn.submitted").count();
    assert_eq!(turns, 1);
}

#[tokio::test]
async fn a_sub_agent_is_started_under_either_name_and_once() {
    let (_server, mut client) = start("s").await;
    let submit = json!({"sessionId": "s", "input": "weather?", "turnId": "t1", "agent": "scripted/slow"});
    let turn = client.ok("turn.submit", submit).await;
    let params = json!({
        "sessionId": "s", "parentTaskId": turn["taskId"], "agent": "writer", "input": "look", "commandId": "c",
    });
    let child = client.ok("spawn_subagent", params.clone()).await;
    assert_eq!(client.ok("subagent.spawn", params).await, child);
    assert_eq!(child["parentTaskId"], turn["taskId"]);
    let waited = client.ok("wait_subagents", json!({"sessionId": "s", "timeoutSeconds": 60})).await;
    assert_eq!(waited["subagents"].as_array().map(Vec::len), Some(1), "{waited}");
    assert_eq!(waited["subagents"][0]["subagentId"], child["subagentId"]);
    let close = json!({"sessionId": "s", "subagentId": child["subagentId"]});
    assert_eq!(client.ok("close_subagent", close).await["status"], "completed", "it has ended");
    let input = json!({"sessionId": "s", "subagentId": child["subagentId"], "input": "more"});
    assert_eq!(client.fails("send_subagent_input", input).await.1, "turn_ended");
    let nobody = json!({"sessionId": "s", "subagentId": "nobody"});
    assert_eq!(client.fails("close_subagent", nobody).await.1, "not_found");
}

#[tokio::test]
async fn sub_agents_of_older_turns_are_shown_and_waited_for() {
    let (_server, mut client) = start("s").await;
    for turn in 0..10 {
        let (id, root, child) = (format!("t{turn}"), format!("root{turn}"), format!("child{turn}"));
        let events = [
            json!({"type": "turn.submitted", "turnId": id, "taskId": root, "payload": {"input": "x"}}),
            json!({"type": "task.created", "turnId": id, "taskId": root, "payload": {}}),
            json!({"type": "task.created", "turnId": id, "taskId": child, "parentTaskId": root, "payload": {}}),
            json!({"type": "task.completed", "turnId": id, "taskId": child, "payload": {}}),
            json!({"type": "task.completed", "turnId": id, "taskId": root, "payload": {}}),
            json!({"type": "turn.completed", "turnId": id, "taskId": root, "payload": {}}),
        ];
        client.ok("session.append", json!({"sessionId": "s", "events": events})).await;
    }
    let shown = client.ok("resume_subagent", json!({"sessionId": "s", "subagentId": "child0"})).await;
    assert_eq!((&shown["status"], &shown["parentTaskId"]), (&json!("completed"), &json!("root0")));
    let wait = json!({"sessionId": "s", "subagentIds": ["child0", "child9"], "timeoutSeconds": 60});
    let waited = client.ok("wait_subagents", wait).await;
    assert_eq!(waited["subagents"][0]["subagentId"], "child0", "{waited}");
    assert_eq!(waited["truncated"], true);
    let listed = client.ok("tasks/list", json!({"session_id": "s"})).await;
    assert_eq!(listed["truncated"], true);
    let none = json!({"sessionId": "s", "subagentId": "root0"});
    assert_eq!(client.fails("resume_subagent", none).await.1, "not_found");
}

#[tokio::test]
async fn a_task_that_waits_for_its_turn_is_listed_as_queued() {
    let (_server, mut client) = start("s").await;
    for turn in ["t1", "t2"] {
        let submit = json!({"sessionId": "s", "input": "x", "turnId": turn, "agent": "scripted/slow"});
        client.ok("turn.submit", submit).await;
    }
    let listed = client.ok("tasks/list", json!({"session_id": "s", "status": "queued"})).await;
    assert_eq!(listed["tasks"].as_array().map(Vec::len), Some(1), "{listed}");
    assert_eq!(listed["tasks"][0]["status"], "queued");
}

#[tokio::test]
async fn waiting_for_sub_agents_ends_with_them_or_with_the_time() {
    let (_server, mut client) = start("s").await;
    let none = client.ok("wait_subagents", json!({"sessionId": "s", "timeoutSeconds": 60})).await;
    assert_eq!(none, json!({"subagents": [], "truncated": false}), "nobody to wait for");
    let spawned = [
        json!({"type": "turn.submitted", "turnId": "t1", "payload": {"input": "x"}}),
        json!({"type": "task.created", "turnId": "t1", "taskId": "root", "payload": {}}),
        json!({"type": "task.created", "turnId": "t1", "taskId": "call", "parentTaskId": "root", "payload": {}}),
        json!({"type": "task.started", "turnId": "t1", "taskId": "call", "payload": {}}),
    ];
    client.ok("session.append", json!({"sessionId": "s", "events": spawned})).await;
    let params = json!({"sessionId": "s", "subagentIds": ["call"], "timeoutSeconds": 0});
    assert_eq!(client.ok("wait_subagents", params).await["subagents"][0]["status"], "running");
    let mut other = _server.connect().await;
    let wait = json!({"sessionId": "s", "timeoutSeconds": 60});
    let end = json!({"type": "task.completed", "turnId": "t1", "taskId": "call", "payload": {}});
    let end = json!({"sessionId": "s", "events": end});
    let (waited, _) = tokio::join!(client.ok("wait_subagents", wait), other.ok("session.append", end));
    assert_eq!(waited["subagents"][0]["status"], "completed");
    let shown = client.ok("resume_subagent", json!({"sessionId": "s", "subagentId": "call"})).await;
    assert_eq!(shown["status"], "completed");
    let (_, name, field) =
        client.fails("wait_subagents", json!({"sessionId": "s", "timeoutSeconds": 61})).await;
    assert_eq!((name.as_str(), field.as_deref()), ("invalid_field", Some("timeoutSeconds")));
    let environment = client.ok("get_execution_environment", json!({"sessionId": "s"})).await;
    assert_eq!(environment["standing"], "unknown", "{environment}");
}

#[tokio::test]
async fn a_process_that_does_not_run_here_is_shown_and_cannot_be_reached() {
    let (_server, mut client) = start("s").await;
    let of = json!({"sessionId": "s", "processId": "p"});
    assert_eq!(client.fails("process.get", of.clone()).await.1, "not_found");
    assert_eq!(client.fails("terminate_process", of.clone()).await.1, "not_found");
    let told = [
        json!({"type": "process.started", "processId": "p", "payload": {"commandSummary": "make"}}),
        json!({"type": "process.output", "processId": "p", "payload": {"stream": "stdout", "text": "ok"}}),
    ];
    client.ok("session.append", json!({"sessionId": "s", "events": told})).await;
    let shown = client.ok("process.get", of.clone()).await;
    assert_eq!((&shown["status"], &shown["outputBytes"]), (&json!("running"), &json!(2)), "{shown}");
    assert_eq!(client.ok("process.list", json!({"sessionId": "s"})).await["processes"], json!([shown]));
    let before = kinds(&mut client, "s").await;
    let write = json!({"sessionId": "s", "processId": "p", "text": "x", "commandId": "c"});
    assert_eq!(client.fails("write_process_stdin", write).await.1, "process_unavailable");
    assert_eq!(client.fails("process.terminate", of).await.1, "process_unavailable");
    let empty = json!({"sessionId": "s", "processId": "p"});
    let (_, name, field) = client.fails("process.write", empty).await;
    assert_eq!((name.as_str(), field.as_deref()), ("invalid_field", Some("text")));
    assert_eq!(kinds(&mut client, "s").await, before, "nothing happened");
    let environment = client.ok("get_execution_environment", json!({"sessionId": "s"})).await;
    assert_eq!(environment["processes"]["entries"], json!([shown]), "{environment}");
}
