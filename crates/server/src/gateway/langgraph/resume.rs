//! `command.resume`: the answers to what a thread waits for.

use riverrun_dialect::request::RequestFailure;
use riverrun_event::RawJson;
use riverrun_runner::Decision;
use serde_json::Value;

use crate::gateway::decisions::Answer;

/// The value of a resume, for each question in order: values by the id of the interrupt, decisions by place, one word
/// for all, or an answer.
pub fn answers(pending: &[String], resume: &Value) -> Result<Vec<Answer>, RequestFailure> {
    let named = resume.as_object().filter(|map| !map.is_empty() && map.keys().all(|id| pending.contains(id)));
    if let Some(named) = named {
        let one = |(id, value): (&String, &Value)| answers_of(std::slice::from_ref(id), value);
        return Ok(named.iter().map(one).collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect());
    }
    answers_of(pending, resume)
}

fn answers_of(pending: &[String], resume: &Value) -> Result<Vec<Answer>, RequestFailure> {
    let listed = resume["decisions"].as_array();
    if listed.is_some_and(|list| list.len() != pending.len()) {
        let message = format!("`command.resume.decisions` must have {} entries", pending.len());
        return Err(RequestFailure::new(422, "invalid_value", message).param("command.resume"));
    }
    let answer = |(at, action): (usize, &String)| {
        let value = listed.map_or(resume, |list| &list[at]);
        Answer {
            action: action.clone(),
            decision: decision(value),
            message: value["message"].as_str().map(str::to_owned),
        }
    };
    Ok(pending.iter().enumerate().map(answer).collect())
}

fn decision(value: &Value) -> Decision {
    let word = value["type"].as_str().or(value.as_str());
    let raw = |value: &Value| RawJson::of(value).unwrap_or_default();
    match (word, value.as_bool()) {
        (Some("approve" | "accept"), _) | (_, Some(true)) => Decision::Approve,
        (Some("reject" | "ignore"), _) | (_, Some(false)) => Decision::Reject,
        (Some("edit"), _) => Decision::Edit(raw(&value["edited_action"]["args"])),
        (Some("respond"), _) => Decision::Respond(raw(&value["message"])),
        _ => Decision::Respond(raw(value)),
    }
}
