//! A task as it stands, told from the log.

use riverrun_dialect::a2a::asked;
use riverrun_event::Cursor;
use serde_json::{Value, json as object};

use super::{DIALECT, wrong};
use crate::app::App;
use crate::edge::Problem;
use crate::gateway::turn::{Started, project};

/// The task as it stands, and the place behind what it tells. Its history is what began it and what it asked.
pub(super) async fn task(app: &App, started: &Started, history: History) -> Result<(Value, Cursor), Problem> {
    let (mut status, mut artifacts) = (object!({"state": "TASK_STATE_SUBMITTED"}), Vec::<Value>::new());
    let mut questions = Vec::new();
    let projector = project(app, started, DIALECT, |_, frames| {
        for frame in frames.iter() {
            let Ok(value) = serde_json::from_str::<Value>(frame.json) else { continue };
            if value["statusUpdate"].is_object() {
                let before = std::mem::replace(&mut status, value["statusUpdate"]["status"].clone());
                questions.extend(before.get("message").cloned());
            }
            if value["artifactUpdate"].is_object() {
                take_artifact(&mut artifacts, &value["artifactUpdate"]);
            }
        }
    });
    let projector = projector.await?;
    let cursor = Cursor::after(projector.sequence(), started.hub.origin());
    let (id, context) = (started.turn.as_str(), started.hub.session().as_str());
    let turn =
        projector.state().and_then(|state| state.turns.iter().find(|turn| turn.turn_id == started.turn));
    let said = turn.and_then(|turn| asked(context, turn)).into_iter().chain(questions).collect();
    let mut task = object!({"id": id, "contextId": context, "status": status, "artifacts": artifacts});
    history.put(&mut task, said);
    Ok((task, cursor))
}

/// How many messages of a task are told, the newest; all if the client does not say.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct History(Option<usize>);

impl History {
    pub const NONE: Self = Self(Some(0));

    /// Reads `historyLength`, of the params or of what they configure.
    pub fn read(length: Option<&Value>) -> Result<Self, Problem> {
        match length {
            None | Some(Value::Null) => Ok(Self::default()),
            Some(length) => match length.as_u64().and_then(|length| usize::try_from(length).ok()) {
                Some(length) => Ok(Self(Some(length))),
                None => Err(wrong("`historyLength` must be a whole number of at least 0")),
            },
        }
    }

    pub fn put(self, task: &mut Value, mut said: Vec<Value>) {
        let excess = said.len().saturating_sub(self.0.unwrap_or(usize::MAX));
        said.drain(..excess);
        if !said.is_empty() {
            task["history"] = said.into();
        }
    }
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
