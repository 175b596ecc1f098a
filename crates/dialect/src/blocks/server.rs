//! The server's messages that are not about a turn.

use serde_json::json;

pub const PROTOCOL_VERSION: &str = "1";

pub fn connected(connection_id: &str, heartbeat_seconds: u64) -> String {
    json!({
        "type": "connected", "connection_id": connection_id, "protocol_version": PROTOCOL_VERSION,
        "heartbeat_seconds": heartbeat_seconds,
    })
    .to_string()
}

pub fn auth_ok(user_id: &str) -> String {
    json!({"type": "auth_ok", "user_id": user_id}).to_string()
}

/// Followed by the close code 4001.
pub fn auth_error(code: &str, message: &str) -> String {
    json!({"type": "auth_error", "code": code, "message": message}).to_string()
}

pub fn session_created(session_id: &str, is_from_share: bool) -> String {
    json!({"type": "session_created", "session_id": session_id, "is_new_session_from_share": is_from_share})
        .to_string()
}

pub fn chat_accepted(request_id: Option<&str>, session_id: &str, message_id: &str, queued: bool) -> String {
    json!({
        "type": "chat_accepted", "request_id": request_id, "session_id": session_id, "message_id": message_id,
        "queued": queued,
    })
    .to_string()
}

/// `status`: `running`, `completed`, `waiting_approval`, `cancelled`, `error`, `interrupted` or `lost`.
/// A lost run is never reported as complete. `is_snapshot`: opening frames follow, not a replay.
pub fn subscribed(session_id: &str, status: &str, replay_from: &str, is_snapshot: bool) -> String {
    let recovery = if is_snapshot { "snapshot" } else { "replay" };
    json!({
        "type": "subscribed", "session_id": session_id, "status": status, "replay_from": replay_from,
        "recovery": recovery,
    })
    .to_string()
}

/// Behind the last frame of a snapshot: from here on the reader has a cursor.
pub fn snapshot_end(session_id: &str, event_id: super::EventId) -> String {
    json!({"type": "snapshot_end", "session_id": session_id, "event_id": event_id.write()}).to_string()
}

pub fn unsubscribed(session_id: &str) -> String {
    json!({"type": "unsubscribed", "session_id": session_id}).to_string()
}

pub fn stop_accepted(session_id: &str, message_id: Option<&str>) -> String {
    json!({"type": "stop_accepted", "session_id": session_id, "message_id": message_id}).to_string()
}

/// `ts` is the client's own value (JSON).
pub fn pong(ts: &str) -> String {
    format!("{{\"type\":\"pong\",\"ts\":{ts}}}")
}

/// The socket stays open.
pub fn error(request_id: Option<&str>, code: &str, message: &str, can_retry: bool) -> String {
    json!({"type": "error", "request_id": request_id, "code": code, "message": message, "can_retry": can_retry})
        .to_string()
}

/// The second answer to a question has no effect.
pub const APPROVAL_ALREADY_RESOLVED: &str = "APPROVAL_ALREADY_RESOLVED";
