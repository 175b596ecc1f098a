//! What a server logs by `notifications/message` while it works on a call.
//!
//! The protocol does not say which call a line is about. Over HTTP the stream that it comes on does, so it is written
//! into the line there.

#[expect(deprecated, reason = "servers log until the protocol does without it")]
use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam};
use rmcp::model::{NotificationMetaObject, RequestId};
use serde_json::Value;
use sse_stream::Sse;

const METHOD: &str = "notifications/message";
/// In `_meta` of a line: the call on whose stream it came.
const CALL: &str = "riverrun/call";
const MOST_CHARS: usize = 2000;

/// The line for people; None for one that only the server's makers want.
#[expect(deprecated, reason = "servers log until the protocol does without it")]
pub(super) fn words(notification: &LoggingMessageNotificationParam) -> Option<String> {
    let level = match notification.level {
        LoggingLevel::Debug => return None,
        LoggingLevel::Info | LoggingLevel::Notice => "",
        LoggingLevel::Warning => "warning: ",
        LoggingLevel::Error | LoggingLevel::Critical | LoggingLevel::Alert | LoggingLevel::Emergency => {
            "error: "
        }
    };
    let member = |name: &str| notification.data.get(name).and_then(Value::as_str);
    let message = notification.data.as_str().or_else(|| member("message")).or_else(|| member("msg"));
    let message = message.map_or_else(|| notification.data.to_string(), ToOwned::to_owned);
    let message: String = message.trim().chars().take(MOST_CHARS).collect();
    (!message.is_empty()).then(|| format!("{level}{message}"))
}

/// Says in a line of log that came on the stream of this call that it is about it.
pub(super) fn name_call(mut event: Sse, call: &RequestId) -> Sse {
    if let Some(named) = event.data.as_deref().and_then(|data| named(data, call)) {
        event.data = Some(named);
    }
    event
}

fn named(data: &str, call: &RequestId) -> Option<String> {
    let mut message: Value = data.contains(METHOD).then(|| serde_json::from_str(data).ok())??;
    let params =
        message.as_object_mut().filter(|message| message.get("method").is_some_and(|it| it == METHOD));
    let params = params?.get_mut("params")?.as_object_mut()?;
    let meta = params.entry("_meta").or_insert_with(|| Value::Object(Default::default()));
    meta.as_object_mut()?.insert(CALL.to_owned(), serde_json::to_value(call).ok()?);
    serde_json::to_string(&message).ok()
}

pub(super) fn call_of(meta: &NotificationMetaObject) -> Option<RequestId> {
    serde_json::from_value(meta.0.get(CALL)?.clone()).ok()
}
