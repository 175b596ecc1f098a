use std::path::Path;

use riverrun_event::{SessionId, Timestamp, decode_wire};
use serde_json::{Value, json};

use super::*;
use crate::status::Status;
use crate::tests::event;

fn fold(envelopes: &[Value]) -> State {
    let mut state = State::new(SessionId::new("ses_1").expect("an id"));
    for (envelope, sequence) in envelopes.iter().zip(1..) {
        let _ = state.apply(&event(sequence, envelope.clone()), &mut Vec::new());
    }
    state
}

fn models(envelopes: &[Value]) -> Value {
    serde_json::to_value(read_models(&fold(envelopes))).expect("read models are JSON")
}

/// The standing of each model, by a path to it.
fn standings(models: &Value) -> Vec<&Value> {
    let paths = [
        "/session_snapshot/standing",
        "/tool_inventory_snapshot/standing",
        "/queue_snapshot/standing",
        "/task_snapshot/standing",
        "/context_boundary_snapshot/standing",
        "/artifact_checkpoint_summary/standing",
        "/evidence_summary/standing",
        "/permission_sandbox_summary/permissions/standing",
        "/permission_sandbox_summary/sandbox/standing",
        "/execution_environment_snapshot/standing",
        "/routing_limit_summary/standing",
        "/routing_limit_summary/costStanding",
        "/subagent_job_summary/standing",
        "/channel_summary/standing",
    ];
    paths.iter().map(|path| models.pointer(path).unwrap_or_else(|| panic!("{path} is there"))).collect()
}

#[test]
fn nothing_is_known_of_a_session_before_its_first_event() {
    let models = models(&[]);
    assert!(standings(&models).iter().all(|standing| **standing == "unknown"), "{models:#}");
    assert_eq!(models["benchmark_summary"]["standing"], "not_applicable");
    assert_eq!(models.as_object().expect("an object").len(), 14);
}

#[test]
fn what_a_snapshot_marks_stays_marked() {
    let models = models(&[
        json!({"type": "tool.catalog.resolved", "payload": {"tools": [{"toolName": "search", "policy": "ask"}]}}),
        json!({"type": "snapshot.repaired", "payload": {"stale": ["tool_inventory_snapshot"], "unavailable": ["evidence_summary"]}}),
    ]);
    assert_eq!(models["tool_inventory_snapshot"]["standing"], "stale");
    assert_eq!(models["tool_inventory_snapshot"]["tools"][0]["toolName"], "search");
    assert_eq!(models["evidence_summary"]["standing"], "unavailable");
}

#[test]
fn a_process_that_outlived_its_turn_is_stale() {
    let models = models(&[
        json!({"type": "turn.started", "turnId": "t", "payload": {}}),
        json!({"type": "process.started", "turnId": "t", "processId": "p", "payload": {}}),
        json!({"type": "turn.completed", "turnId": "t", "payload": {}}),
    ]);
    assert_eq!(models["execution_environment_snapshot"]["standing"], "stale");
}

#[test]
fn a_used_up_quota_blocks() {
    let models = models(&[json!({"type": "quota.blocked", "payload": {}})]);
    assert_eq!(models["routing_limit_summary"]["standing"], "blocked");
}

#[test]
fn a_waiting_thread_is_blocked_and_names_its_own_status() {
    let state = fold(&[
        json!({"type": "turn.started", "turnId": "t", "taskId": "k", "payload": {}}),
        json!({"type": "action.required", "turnId": "t", "taskId": "k", "actionId": "a", "payload": {"actionType": "question"}}),
    ]);
    let snapshot = serde_json::to_value(snapshot(&state)).expect("a snapshot is JSON");
    let thread = &snapshot["threads"][0];
    assert_eq!(
        (&thread["status"], &thread["nativeStatus"]),
        (&json!("blocked"), &json!("waiting_permission"))
    );
    assert_eq!(thread["activeTurnId"], "t");
    assert_eq!(thread["pendingRequests"][0]["actionId"], "a");
    assert_eq!(snapshot["tasks"][0]["status"], "waiting_permission");
}

#[test]
fn a_thread_lists_its_queue_and_its_incidents() {
    let models = models(&[
        json!({"type": "turn.started", "turnId": "t", "taskId": "k", "payload": {}}),
        json!({"type": "turn.submitted", "turnId": "u", "taskId": "l", "payload": {"input": "next", "status": "queued"}}),
        json!({"type": "queue.changed", "turnId": "t", "payload": {"queued": [{"turnId": "u", "position": 0, "preview": "next"}]}}),
        json!({"type": "tool.started", "turnId": "t", "taskId": "k", "toolCallId": "c", "payload": {"toolName": "read"}}),
        json!({"type": "tool.failed", "turnId": "t", "taskId": "k", "toolCallId": "c", "payload": {"error": {"message": "no"}}}),
    ]);
    let thread = &models["thread_read_model"][0];
    assert_eq!(thread["queuedTurns"][0]["turnId"], "u", "{thread}");
    assert_eq!(thread["incidents"].as_array().map(Vec::len), Some(1), "{thread}");
}

#[test]
fn a_thread_without_an_active_turn_names_none() {
    let state = fold(&[
        json!({"type": "turn.started", "turnId": "t", "payload": {}}),
        json!({"type": "turn.completed", "turnId": "t", "payload": {}}),
    ]);
    let snapshot = serde_json::to_value(snapshot(&state)).expect("a snapshot is JSON");
    assert_eq!(snapshot["threads"][0].get("activeTurnId"), None);
    assert_eq!(snapshot["threads"][0]["lastOutcome"], "completed");
}

#[test]
fn a_lost_attempt_is_unknown_and_never_success() {
    assert_eq!(strict::attempt_status(Status::Lost), "unknown");
    assert_eq!(strict::native(Status::Lost, "unknown"), Some("lost"));
    assert_eq!(strict::thread_status(Status::TimedOut), "failed");
    assert_eq!(strict::thread_status(Status::Preparing), "running");
}

fn shared() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/schemas/agentruntime")
}

fn schema(name: &str) -> Option<Value> {
    let Ok(text) = std::fs::read_to_string(shared().join(name)) else {
        println!("skipped: the standard's schema is not at {}", shared().display());
        return None;
    };
    Some(serde_json::from_str(&text).expect("a schema is JSON"))
}

/// The standard's schema, and the Lime profile's, whose reference to it is resolved by hand.
fn validators() -> Option<[jsonschema::Validator; 2]> {
    let standard = schema("agentruntime-snapshot.schema.json")?;
    let mut profile = schema("agentruntime-lime-profile-snapshot.schema.json")?;
    profile["allOf"][0] = standard.clone();
    Some([&standard, &profile].map(|schema| jsonschema::validator_for(schema).expect("the schema is one")))
}

fn assert_fits(validator: &jsonschema::Validator, snapshot: &SessionSnapshot, name: &str) {
    let snapshot = serde_json::to_value(snapshot).expect("a snapshot is JSON");
    let errors: Vec<String> = validator.iter_errors(&snapshot).map(|error| error.to_string()).collect();
    assert_eq!(errors, [] as [&str; 0], "{name}: {snapshot:#}");
}

/// At every place of every vector, and before the first event.
#[test]
fn every_vector_gives_a_snapshot_that_the_standard_and_its_profile_take() {
    let Some([standard, profile]) = validators() else { return };
    let created = Timestamp::parse("2026-03-02T09:00:00Z").expect("a time");
    let fits = |state: &State, name: &str| {
        assert_fits(&standard, &snapshot(state), name);
        assert_fits(&profile, &lime_snapshot(state, created), name);
    };
    let folders = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors/fold");
    let mut checked = 0;
    for folder in std::fs::read_dir(folders).expect("the vectors are there") {
        let path = folder.expect("a folder").path();
        let Ok(events) = std::fs::read_to_string(path.join("events.ndjson")) else { continue };
        let mut state = State::new(SessionId::new("ses_1").expect("an id"));
        fits(&state, "an empty session");
        for line in events.lines() {
            let _ = state.apply(&decode_wire(line).expect("an event"), &mut Vec::new());
            fits(&state, &path.display().to_string());
            checked += 1;
        }
    }
    assert!(checked > 300, "{checked}");
}
