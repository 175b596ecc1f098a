//! What is still to come when stdin has ended: a script that pipes requests in wants their answers before the end,
//! and the events of a stream that ends by itself.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Default)]
pub struct Owed {
    answers: usize,
    /// Ids of requests for streams that end by themselves.
    asked: HashSet<String>,
    /// Subscriptions that have not ended yet.
    open: HashSet<String>,
}

/// As much of a message of the server as is needed here.
#[derive(Debug, Deserialize)]
struct Received {
    id: Option<Value>,
    method: Option<String>,
    params: Option<About>,
    result: Option<About>,
}

#[derive(Debug, Deserialize)]
struct About {
    subscription: Option<String>,
    r#type: Option<String>,
}

impl Owed {
    pub fn sent(&mut self, line: &str) {
        let calls = match serde_json::from_str(line) {
            Ok(Value::Array(calls)) => calls,
            Ok(call) => vec![call],
            Err(_) => Vec::new(),
        };
        let is_notification = |call: &Value| call["method"].is_string() && call.get("id").is_none();
        // What is not understood is answered with an error, so an answer is owed for it too.
        let is_answered = calls.is_empty() || !calls.iter().all(is_notification);
        self.answers += usize::from(is_answered);
        for call in calls.iter().filter(|call| call["method"] == "session.follow") {
            if call["params"]["follow"] == false {
                self.asked.insert(call["id"].to_string());
            }
        }
    }

    pub fn received(&mut self, text: &str) {
        if text.starts_with('[') {
            self.answers = self.answers.saturating_sub(1);
            let answers: Vec<Received> = serde_json::from_str(text).unwrap_or_default();
            answers.into_iter().for_each(|answer| self.answered(answer));
            return;
        }
        let Ok(message) = serde_json::from_str::<Received>(text) else { return };
        if message.method.is_none() {
            self.answers = self.answers.saturating_sub(1);
            self.answered(message);
            return;
        }
        let Some(About { subscription: Some(subscription), r#type }) = message.params else { return };
        if matches!(r#type.as_deref(), Some("stream.end" | "stream.cut")) {
            self.open.remove(&subscription);
        }
    }

    fn answered(&mut self, answer: Received) {
        let asked = answer.id.is_some_and(|id| self.asked.remove(&id.to_string()));
        let subscription = answer.result.and_then(|result| result.subscription);
        self.open.extend(subscription.filter(|_| asked));
    }

    pub fn is_settled(&self) -> bool {
        self.answers == 0 && self.open.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether all is settled after what was sent and what was received.
    fn check(sent: &[&str], received: &[&str], expected: bool) {
        let mut owed = Owed::default();
        sent.iter().for_each(|line| owed.sent(line));
        received.iter().for_each(|text| owed.received(text));
        assert_eq!(owed.is_settled(), expected, "{sent:?} {received:?}");
    }

    #[test]
    fn the_end_waits_for_the_answers_that_are_owed() {
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#;
        let notification = r#"{"jsonrpc":"2.0","method":"a"}"#;
        let answer = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
        check(&[call], &[], false);
        check(&[call], &[r#"{"jsonrpc":"2.0","method":"session.event","params":{}}"#], false);
        check(&[call, notification], &[answer], true);
        check(&["nonsense"], &[], false);
        check(&["nonsense", "[]"], &[r#"{"id":null,"error":{}}"#, r#"{"id":null,"error":{}}"#], true);
        check(&[&format!("[{notification}]")], &[], true);
        check(&[&format!("[{call},{notification}]")], &[], false);
        check(&[&format!("[{call},{notification}]")], &[&format!("[{answer}]")], true);
    }

    #[test]
    fn the_end_waits_for_streams_that_end_by_themselves() {
        let follow = |rest: &str| {
            format!(r#"{{"id":"f","method":"session.follow","params":{{"sessionId":"s"{rest}}}}}"#)
        };
        let opened = r#"{"id":"f","result":{"subscription":"sub_1","outcome":"replayed"}}"#;
        let word = |kind: &str| {
            format!(r#"{{"method":"session.stream","params":{{"subscription":"sub_1","type":"{kind}"}}}}"#)
        };
        check(&[&follow("")], &[opened], true);
        check(&[&follow(",\"follow\":false")], &[opened], false);
        check(&[&follow(",\"follow\":false")], &[opened, &word("stream.heartbeat")], false);
        check(&[&follow(",\"follow\":false")], &[opened, &word("stream.end")], true);
        check(&[&follow(",\"follow\":false")], &[r#"{"id":"f","error":{}}"#], true);
    }
}
