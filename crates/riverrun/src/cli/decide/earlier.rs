//! Who decided first, for the one who came too late.

use riverrun_client::Client;
use riverrun_client::operations::{GetStateRequest, ListSessionsRequest};
use serde_json::Value;

use crate::cli::terminal::{Lines, escape};

/// In how many sessions, those that changed last, a decision is looked for.
const LOOK_AT: usize = 20;

/// How an action was decided that no longer waits; None if no session that changed lately tells it.
pub async fn anywhere(client: &Client, wanted: &str) -> Option<String> {
    let request = ListSessionsRequest { limit: Some(100), ..ListSessionsRequest::new() };
    let mut sessions = client.list_sessions(&request).await.ok()?.sessions;
    sessions.sort_by(|a, b| b.updated_at.cmp(&a.updated_at));
    for session in sessions.iter().take(LOOK_AT) {
        if let Some(told) = of_session(client, &session.session_id, wanted).await {
            return Some(told);
        }
    }
    None
}

/// The same, where the session is known.
pub async fn of_session(client: &Client, session: &str, wanted: &str) -> Option<String> {
    let state = client.get_state(&GetStateRequest::new(session)).await.ok()?;
    let is_meant = |action: &&Value| {
        action["actionId"].as_str().is_some_and(|id| id.starts_with(wanted))
            && !action["resolution"].is_null()
    };
    state["actions"].as_array()?.iter().find(is_meant).map(told)
}

fn told(action: &Value) -> String {
    let said = |value: &Value| escape(value.as_str().unwrap_or_default(), Lines::One).into_owned();
    let resolution = &action["resolution"];
    let (decision, source) = (said(&resolution["decision"]), said(&resolution["source"]));
    let mut told = format!("action `{}` is decided: {decision}", said(&action["actionId"]));
    match (source.as_str(), said(&resolution["decidedBy"])) {
        ("timeout", _) => told.push_str(", because nobody decided in time"),
        (_, by) if !by.is_empty() => told.push_str(&format!(" by {source} with {by}")),
        ("", _) => {}
        _ => told.push_str(&format!(" by {source}")),
    }
    let at = said(&action["resolvedAt"]);
    if !at.is_empty() {
        told.push_str(&format!(" at {at}"));
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_winner_is_told_with_the_source_and_the_time() {
        for (resolution, expected) in [
            (
                json!({"decision": "reject", "source": "person", "decidedBy": "key_1"}),
                "reject by person with key_1 at 12:00",
            ),
            (json!({"decision": "approve", "source": "rule"}), "approve by rule at 12:00"),
            (
                json!({"decision": "reject", "source": "timeout"}),
                "reject, because nobody decided in time at 12:00",
            ),
        ] {
            let action = json!({"actionId": "act_1", "resolvedAt": "12:00", "resolution": resolution});
            assert_eq!(told(&action), format!("action `act_1` is decided: {expected}"));
        }
    }
}
