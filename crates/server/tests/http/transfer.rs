//! Sessions as files: what goes out comes in again, the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use riverrun_event::Sequence;
use riverrun_log::SessionKey;
use riverrun_runner::agent::{Approval, ToolUse};
use riverrun_tool::{CommandConfig, CommandTool, Program};
use serde_json::{Value, json};

use crate::agents::{agents, kinds};
use crate::generate::session;
use crate::harness::{JSON, NDJSON, Server};

async fn filled(server: &Server, seed: u64) {
    server.make("s1").await;
    for part in session(seed, 5).chunks(13) {
        server.tell("s1", part).await;
    }
}

async fn export(server: &Server, session: &str) -> String {
    let answer = server.call(&format!("GET /v1/sessions/{session}/export"), &[], "").await;
    assert!(answer.status == 200 && answer.is_complete, "{}", answer.text());
    answer.text()
}

#[tokio::test]
async fn an_export_is_imported_elsewhere_as_it_was() {
    for seed in [1, 2, 3] {
        let (here, there) = (Server::start().await, Server::on_disk().await);
        filled(&here, seed).await;
        let file = export(&here, "s1").await;
        let imported = there.call("POST /v1/import", &[NDJSON], &file).await;
        assert_eq!(imported.status, 201, "{}", imported.text());
        assert_eq!(imported.json()["events"], file.lines().count());
        assert_eq!(export(&there, "s1").await, file);
        let state = |server: &Server| {
            let api = server.api.clone();
            async move { api.get("/v1/sessions/s1/state").await }
        };
        assert_eq!(state(&here).await, state(&there).await);
        let tasks = here.get("/v1/tasks/task_0").await;
        assert_eq!(there.get("/v1/tasks/task_0").await, tasks);
        let actions = |page: Value| page["actions"].as_array().map(Vec::len);
        assert_eq!(actions(there.get("/v1/actions").await), actions(here.get("/v1/actions").await));
        let again = there.call("POST /v1/import", &[NDJSON], &file).await;
        assert_eq!(again.refusal(), (409, "session_exists".to_owned()));
        here.stop().await;
        there.stop().await;
    }
}

#[tokio::test]
async fn a_file_of_any_length_is_taken_whole_or_not_at_all() {
    let server = Server::start().await;
    let line = |session: &str, sequence: usize| {
        json!({"type": "x.a", "sessionId": session, "sequence": sequence}).to_string() + "\n"
    };
    for events in [1, 999, 1000, 1001, 2000] {
        let id = format!("n{events}");
        let file: String = (1..=events).map(|at| line(&id, at)).collect();
        let answer = server.call("POST /v1/import", &[NDJSON], &file).await;
        assert_eq!((answer.status, &answer.json()["events"]), (201, &json!(events)), "{}", answer.text());
        assert_eq!(server.get(&format!("/v1/sessions/{id}")).await["head"], events);
    }
    let whole: String = (1..=1500).map(|at| line("bad", at)).collect();
    for (name, file, code) in [
        ("a hole", format!("{whole}{}", line("bad", 1502)), "invalid_event"),
        ("another session", format!("{whole}{}", line("other", 1501)), "invalid_event"),
        ("no event", format!("{whole}{{\"payload\":1}}\n"), "invalid_event"),
        ("no JSON", format!("{whole}{{\n"), "json_syntax"),
    ] {
        let answer = server.call("POST /v1/import", &[NDJSON], &file).await;
        assert_eq!(answer.refusal(), (400, code.to_owned()), "{name}: {}", answer.text());
        assert_eq!(answer.json()["line"], 1501, "{name}");
        assert_eq!(server.call("GET /v1/sessions/bad", &[], "").await.status, 404, "{name}");
    }
    server.stop().await;
}

#[tokio::test]
async fn the_places_of_a_log_whose_beginning_is_gone_are_kept() {
    let (here, there) = (Server::start().await, Server::start().await);
    filled(&here, 4).await;
    let key = SessionKey::new("default".parse().expect("an id"), "s1".parse().expect("an id"));
    here.log.retire(&key, Sequence::new(20).expect("a place"), None).await.expect("it is retired");
    let file = export(&here, "s1").await;
    assert_eq!(there.call("POST /v1/import", &[NDJSON], &file).await.status, 201);
    assert_eq!(export(&there, "s1").await, file);
    let place = |session: Value| (session["head"].clone(), session["firstAvailable"].clone());
    assert_eq!(place(there.get("/v1/sessions/s1").await), place(here.get("/v1/sessions/s1").await));
    here.stop().await;
    there.stop().await;
}

#[tokio::test]
async fn an_event_as_large_as_they_come_survives_the_journey() {
    let (here, there) = (Server::start().await, Server::start().await);
    here.make("s1").await;
    for size in [255 * 1024, 262_000, 262_100, 262_144, 300_000] {
        here.tell("s1", &[json!({"type": "x.large", "payload": {"text": "x".repeat(size)}})]).await;
    }
    let file = export(&here, "s1").await;
    let imported = there.call("POST /v1/import", &[NDJSON], &file).await;
    assert_eq!(imported.status, 201, "{}", imported.text());
    assert_eq!(export(&there, "s1").await, file);
    here.stop().await;
    there.stop().await;
}

#[tokio::test]
async fn a_fork_is_the_beginning_of_its_source() {
    let server = Server::start().await;
    filled(&server, 7).await;
    let head = server.get("/v1/sessions/s1").await["head"].as_u64().expect("a head");
    for at in [1, 2, head / 2, head] {
        let id = format!("fork{at}");
        let body = json!({"at": at, "sessionId": id}).to_string();
        let made = server.call("POST /v1/sessions/s1/fork", &[JSON], &body).await;
        assert_eq!((made.status, &made.json()["head"]), (201, &json!(at)), "{}", made.text());
        let (mut mine, theirs) = (
            server.get(&format!("/v1/sessions/{id}/state")).await,
            server.get(&format!("/v1/sessions/s1/state?at={at}")).await,
        );
        for name in ["session_id", "sessionId"] {
            if theirs.get(name).is_some() {
                mine[name] = theirs[name].clone();
            }
        }
        assert_eq!(mine, theirs, "at {at}");
        assert_eq!(server.call("POST /v1/sessions/s1/fork", &[JSON], &body).await.refusal().0, 409);
    }
    server.stop().await;
}

/// Two who import the same file at once: one wins, and what it made is whole.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_imports_of_one_session_one_wins() {
    let server = Server::start().await;
    for round in 0..20 {
        let id = format!("r{round}");
        let line = |at: usize| json!({"type": "x.a", "sessionId": id, "sequence": at}).to_string() + "\n";
        let file: String = (1..=1200).map(line).collect();
        let (a, b) = tokio::join!(
            server.call("POST /v1/import", &[NDJSON], &file),
            server.call("POST /v1/import", &[NDJSON], &file)
        );
        let mut statuses = [a.status, b.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [201, 409]);
        assert_eq!(server.get(&format!("/v1/sessions/{id}")).await["head"], 1200);
    }
    server.stop().await;
}

#[tokio::test]
async fn an_export_is_imported_under_another_id_beside_its_source() {
    let server = Server::start().await;
    server.make("one").await;
    server.tell("one", &[json!({"type": "model.delta", "turnId": "t", "payload": {"delta": "hello"}})]).await;
    let file = server.call("GET /v1/sessions/one/export", &[], "").await.text();
    let taken = server.call("POST /v1/import", &[NDJSON], &file).await;
    assert_eq!(taken.refusal(), (409, "session_exists".to_owned()), "{}", taken.text());
    let made = server.call("POST /v1/import?session=two", &[NDJSON], &file).await;
    assert_eq!((made.status, &made.json()["sessionId"]), (201, &json!("two")), "{}", made.text());
    let events = |session: &str| {
        let path = format!("/v1/sessions/{session}/events?limit=100");
        let server = &server;
        async move {
            let mut page = server.get(&path).await["events"].clone();
            for event in page.as_array_mut().expect("events") {
                for own in ["sessionId", "eventId"] {
                    event.as_object_mut().expect("an event").remove(own);
                }
            }
            page
        }
    };
    assert_eq!(events("two").await, events("one").await);
    server.stop().await;
}

#[tokio::test]
async fn a_turn_that_is_open_in_a_fork_ends_there_and_goes_on_with_a_retry() {
    let server = Server::with_agents(agents(&Arc::default())).await;
    server.make("s").await;
    server.submit("s", json!({"input": "go", "agent": "slow", "turnId": "t1"})).await;
    let at = loop {
        let told = server.get("/v1/sessions/s/events?types=model.delta&follow=false").await;
        if let Some(at) = told["events"][0]["sequence"].as_u64() {
            break at;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    };
    let forked = server.post("/v1/sessions/s/fork", json!({"at": at, "sessionId": "f"})).await;
    assert_eq!(forked.status, 201, "{}", forked.text());
    let told = server.turn("f", "t1").await;
    let end = told.last().expect("an end");
    assert_eq!((&end["type"], &end["payload"]["error"]["code"]), (&json!("turn.failed"), &json!("forked")));
    let again = server.post("/v1/sessions/f/turns/t1/retry", json!({})).await;
    assert_eq!(again.status, 202, "{}", again.text());
    let path = format!("/v1/tasks/{}", again.json()["taskId"].as_str().expect("an id"));
    while server.get(&path).await["status"] != "completed" {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    server.stop().await;
}

/// A file that says behind the end of a turn that it began again: nobody runs it, so it ends.
#[tokio::test]
async fn a_turn_that_a_file_opens_again_behind_its_end_is_closed() {
    let server = Server::with_agents(agents(&Arc::default())).await;
    server.make("s").await;
    server.submit("s", json!({"input": "go", "agent": "slow", "turnId": "t1"})).await;
    let events = server.turn("s", "t1").await;
    let task = events.iter().find_map(|event| event["taskId"].as_str()).expect("a task").to_owned();
    let whole = export(&server, "s").await;
    let start = |scope: Value| {
        let mut event = json!({"type": "turn.started", "turnId": "t1", "payload": {"agent": "slow"}});
        let members = scope.as_object().expect("members").clone();
        event.as_object_mut().expect("members").extend(members);
        event
    };
    for (id, scope) in [
        ("same", json!({"taskId": task, "runId": "forged"})),
        ("other", json!({"taskId": "forged", "runId": "forged"})),
        ("bare", json!({"runId": "forged"})),
        ("none", json!({})),
    ] {
        let file = format!("{whole}{}\n", start(scope));
        let made = server.call(&format!("POST /v1/import?session={id}"), &[NDJSON], &file).await;
        assert_eq!(made.status, 201, "{}", made.text());
        let state = server.get(&format!("/v1/sessions/{id}/state")).await;
        let status = state["turns"][0]["status"].as_str().expect("a status").to_owned();
        assert!(["failed", "completed"].contains(&status.as_str()), "{id}: {state:#}");
        let listed = server.get(&format!("/v1/sessions/{id}")).await;
        assert!(
            ["failed", "completed", "idle"].contains(&listed["status"].as_str().expect("one")),
            "{listed}"
        );
        let tasks = state["tasks"].as_array().expect("tasks");
        assert!(tasks.iter().all(|task| task["status"] != "running"), "{id}: {state:#}");
    }
    server.stop().await;
}

/// What the source runs is the source's.
#[tokio::test]
async fn a_fork_leaves_the_commands_of_its_source_alone() {
    let mut agents = agents(&Arc::default());
    let registry = Arc::get_mut(&mut agents.registry).expect("nobody else has it yet");
    let argv = ["sh", "-c", "sleep 2; echo kept"].map(str::to_owned).to_vec();
    let program = Program { argv, ..Program::default() };
    let parameters = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    let config =
        CommandConfig { name: "delete_file".to_owned(), parameters, program, ..CommandConfig::default() };
    let tool = Arc::new(CommandTool::new(config).expect("a command"));
    let deleter = registry.agents.get_mut("deleter").and_then(Arc::get_mut).expect("an agent");
    deleter.tools = vec![ToolUse { tool, approval: Approval::Never }];
    let server = Server::with_agents(agents).await;
    server.make("s").await;
    server.submit("s", json!({"input": "delete x", "agent": "deleter", "turnId": "t1"})).await;
    let at = loop {
        let told = server.get("/v1/sessions/s/events?types=tool.started&follow=false").await;
        if let Some(at) = told["events"][0]["sequence"].as_u64() {
            break at;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    };
    let forked = server.post("/v1/sessions/s/fork", json!({"at": at, "sessionId": "f"})).await;
    assert_eq!(forked.status, 201, "{}", forked.text());
    let told = server.turn("s", "t1").await;
    assert!(kinds(&told).contains(&"tool.result"), "{:?}", kinds(&told));
    server.stop().await;
}

/// Wherever an export was cut, the copy stands still and says so, over a restart too; a retry goes on with it.
#[tokio::test]
async fn a_turn_that_was_open_in_an_export_ends_at_the_import() {
    let runs = Arc::<AtomicUsize>::default();
    let server = Server::on_disk_with(agents(&runs)).await;
    server.make("s").await;
    server.submit("s", json!({"input": "go", "agent": "twice", "turnId": "t1"})).await;
    server.action("s").await;
    server.submit("s", json!({"input": "then", "turnId": "t2"})).await;
    for _ in 0..2 {
        let action = server.action("s").await;
        let path = format!("/v1/sessions/s/actions/{}", action["actionId"].as_str().expect("an id"));
        let body = json!({"decision": "approve", "digest": action["digest"]});
        let decided = server.post(&path, body).await;
        assert_eq!(decided.status, 200, "{}", decided.text());
    }
    server.turn("s", "t2").await;
    let (whole, ran) = (export(&server, "s").await, runs.load(Ordering::SeqCst));
    assert_eq!(ran, 2);
    let mut copies = Vec::new();
    let events: Vec<Value> = whole.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    // An export never ends in the middle of what was written at once, and all of that has the same time.
    let is_end = |lines: &usize| {
        events.get(*lines).is_none_or(|next| next["timestamp"] != events[lines - 1]["timestamp"])
    };
    for lines in (1..=events.len()).filter(is_end) {
        let file: String = whole.lines().take(lines).map(|line| format!("{line}\n")).collect();
        let id = format!("c{lines}");
        let made = server.call(&format!("POST /v1/import?session={id}"), &[NDJSON], &file).await;
        assert_eq!((made.status, &made.json()["events"]), (201, &json!(lines)), "{}", made.text());
        let copy = export(&server, &id).await;
        let begins = copy.lines().take(lines).map(|line| line.replace(&format!("\"{id}\""), "\"s\""));
        assert!(begins.eq(file.lines().map(ToOwned::to_owned)), "{id} begins as the file");
        let state = server.get(&format!("/v1/sessions/{id}/state")).await;
        let turns = state["turns"].as_array().expect("turns");
        let ended =
            turns.iter().filter(|turn| turn["error"]["code"] == "imported").map(|turn| &turn["turnId"]);
        assert_eq!(json!(ended.collect::<Vec<_>>()), made.json()["endedTurns"], "{id}: {state}");
        copies.push((id, copy));
    }
    let server = server.restart_with(agents(&runs)).await;
    for (id, copy) in &copies {
        let state = server.get(&format!("/v1/sessions/{id}/state")).await;
        let is_open = |list: &str| {
            let done = [
                "completed",
                "failed",
                "lost",
                "cancelled",
                "resolved",
                "expired",
                "unknown",
                "outcome_unknown",
            ];
            let mut all = state[list].as_array().expect("a list").iter();
            all.any(|one| !done.contains(&one["status"].as_str().expect("a status")))
        };
        let open = ["turns", "tasks", "toolCalls", "actions"].into_iter().filter(|list| is_open(list));
        assert_eq!(open.collect::<Vec<_>>(), Vec::<&str>::new(), "{id}: {state:#}");
        assert_eq!(state["queue"], json!([]), "{id}");
        assert_eq!(state["problems"].as_array().map_or(0, Vec::len), 0, "{id}: {}", state["problems"]);
        let listed = server.get(&format!("/v1/sessions/{id}")).await;
        assert!(["failed", "completed"].contains(&listed["status"].as_str().expect("a status")), "{listed}");
        assert_eq!(export(&server, id).await, *copy, "{id} stands still");
    }
    assert_eq!(runs.load(Ordering::SeqCst), ran, "nothing ran a second time");
    assert_eq!(server.get("/v1/actions").await["actions"], json!([]));
    server.stop().await;
}

#[tokio::test]
async fn an_imported_turn_goes_on_when_it_is_retried() {
    let runs = Arc::<AtomicUsize>::default();
    let server = Server::with_agents(agents(&runs)).await;
    server.make("s").await;
    server.submit("s", json!({"input": "go", "agent": "deleter", "turnId": "t1"})).await;
    server.action("s").await;
    server.submit("s", json!({"input": "then", "turnId": "t2"})).await;
    let file = export(&server, "s").await;
    let made = server.call("POST /v1/import?session=copy", &[NDJSON], &file).await;
    assert_eq!(made.json()["endedTurns"], json!(["t1", "t2"]), "{}", made.text());
    for turn in ["t1", "t2"] {
        let ended = server.turn("copy", turn).await;
        assert_eq!(kinds(&ended).last(), Some(&"turn.failed"));
        let again = server.post(&format!("/v1/sessions/copy/turns/{turn}/retry"), json!({})).await;
        assert_eq!(again.status, 202, "{}", again.text());
        let path = format!("/v1/tasks/{}", again.json()["taskId"].as_str().expect("an id"));
        while server.get(&path).await["status"] != "completed" {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    }
    assert_eq!(
        runs.load(Ordering::SeqCst),
        0,
        "nobody agreed to the call, and the model reads that it did not run"
    );
    assert_eq!(
        server.get("/v1/sessions/s/actions").await["actions"][0]["status"],
        "pending",
        "in the source"
    );
    server.stop().await;
}
