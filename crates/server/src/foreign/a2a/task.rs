//! A task as it stands, told from the log.

use riverrun_event::Cursor;
use serde_json::{Map, Value, json as object};

use super::{DIALECT, wrong};
use crate::app::App;
use crate::edge::{Caller, Problem};
use crate::foreign::Refusal;
use crate::foreign::chat_agent::session_of;
use crate::foreign::start::{Started, project};

/// The task as it stands, and the place behind what it tells.
pub(super) async fn task(app: &App, started: &Started) -> Result<(Value, Cursor), Problem> {
    let (mut status, mut artifacts) = (object!({"state": "TASK_STATE_SUBMITTED"}), Vec::<Value>::new());
    let projector = project(app, started, DIALECT, |_, frames| {
        for frame in frames.iter() {
            let Ok(value) = serde_json::from_str::<Value>(frame.json) else { continue };
            if value["statusUpdate"].is_object() {
                status = value["statusUpdate"]["status"].clone();
            }
            if value["artifactUpdate"].is_object() {
                take_artifact(&mut artifacts, &value["artifactUpdate"]);
            }
        }
    });
    let cursor = Cursor::after(projector.await?.sequence(), started.hub.origin());
    let (id, context) = (started.turn.as_str(), started.hub.session().as_str());
    Ok((object!({"id": id, "contextId": context, "status": status, "artifacts": artifacts}), cursor))
}

fn take_artifact(artifacts: &mut Vec<Value>, update: &Value) {
    let id = &update["artifact"]["artifactId"];
    let known = artifacts.iter().position(|artifact| artifact["artifactId"] == *id);
    match (known, update["append"] == true) {
        (Some(at), true) => {
            let before = artifacts[at]["parts"][0]["text"].as_str().unwrap_or_default().to_owned();
            let news = update["artifact"]["parts"][0]["text"].as_str().unwrap_or_default();
            artifacts[at]["parts"][0]["text"] = format!("{before}{news}").into();
        }
        (Some(at), false) => artifacts[at] = update["artifact"].clone(),
        (None, _) => artifacts.push(update["artifact"].clone()),
    }
}

pub(super) fn is_over(task: &Value) -> bool {
    let ends = ["TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED"];
    task["status"]["state"].as_str().is_some_and(|state| ends.contains(&state))
}

/// The newest tasks of a context, newest first. There is no list of all contexts.
pub(super) async fn list(app: &App, caller: &Caller, params: &Map<String, Value>) -> Result<Value, Refusal> {
    let context = params.get("contextId").and_then(Value::as_str).filter(|id| !id.is_empty());
    let context = context.ok_or_else(|| wrong("`contextId` must name a context"))?;
    let hub = app.hub(caller, session_of(context).as_str()).await?;
    let state = app.state_at(&hub.key, hub.head()).await?;
    let wanted = params.get("status").and_then(Value::as_str);
    let with_artifacts = params.get("includeArtifacts") == Some(&Value::Bool(true));
    let mut tasks = Vec::new();
    for turn in state.turns.iter().rev() {
        let started = Started { hub: hub.clone(), turn: turn.turn_id.clone() };
        let (mut task, _) = task(app, &started).await?;
        if let (Some(members), false) = (task.as_object_mut(), with_artifacts) {
            members.remove("artifacts");
        }
        if wanted.is_none_or(|state| task["status"]["state"] == *state) {
            tasks.push(task);
        }
    }
    let count = tasks.len();
    // Older tasks are read by their ids; the number says that they are there.
    let total = count as u64 + if wanted.is_none() { state.sealed_turns } else { 0 };
    Ok(object!({"tasks": tasks, "nextPageToken": "", "pageSize": count, "totalSize": total}))
}
