//! Appending events from outside.

use bytes::Bytes;
use http::Method;
use riverrun_event::{ProducerId, Sequence, SessionId};
use serde::{Deserialize, Serialize};

use super::session_path;
use crate::client::{Client, encode};
use crate::error::{Error, Result};
use crate::exchange::{Call, JSON, NDJSON};
use crate::follow::pause_before;

/// Where events were stored. It is given only once they are durable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Appended {
    /// None, as `last`, for a repeat whose place the server no longer knows: its producer appended more since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<Sequence>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Sequence>,
    /// Behind the events, or at the head if their place is not known.
    pub cursor: String,
    /// An earlier attempt had stored them already.
    #[serde(default)]
    pub duplicate: bool,
}

/// Who appends, and which of its appends this is: the server stores each stamp once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProducerStamp {
    pub id: ProducerId,
    pub epoch: u64,
    pub sequence: u64,
}

/// The body of an append, already in its wire form.
#[derive(Debug, Clone)]
enum Body {
    Json(Bytes),
    Ndjson(Bytes),
}

impl Client {
    /// Appends one event. Without a stamp, do not repeat it after a cut: it may have been stored.
    pub async fn append(&self, session: &SessionId, event: &impl Serialize) -> Result<Appended> {
        self.send(session, Body::Json(encode(event)?), None).await
    }

    /// Appends events in one request, all or none.
    pub async fn append_batch(&self, session: &SessionId, events: &[impl Serialize]) -> Result<Appended> {
        self.send(session, Body::Json(encode(&events)?), None).await
    }

    /// Appends lines of JSON. Each line is acknowledged by itself, so a failure may leave the lines before it stored.
    pub async fn append_lines(
        &self,
        session: &SessionId,
        lines: Bytes,
        stamp: Option<&ProducerStamp>,
    ) -> Result<Appended> {
        self.send(session, Body::Ndjson(lines), stamp).await
    }

    async fn send(&self, session: &SessionId, body: Body, stamp: Option<&ProducerStamp>) -> Result<Appended> {
        let call = Call::new(Method::POST, format!("{}/events", session_path(session)));
        let mut call = match body {
            Body::Json(bytes) => call.body(JSON, bytes),
            Body::Ndjson(bytes) => call.body(NDJSON, bytes),
        };
        if let Some(stamp) = stamp {
            call = call
                .header("producer-id", stamp.id.as_str())?
                .header("producer-epoch", &stamp.epoch.to_string())?
                .header("producer-seq", &stamp.sequence.to_string())?;
        }
        acknowledged(self.http().fetch(call).await?.body())
    }
}

/// One acknowledgement, or one per line: the whole reaches from the first to the last.
fn acknowledged(body: &[u8]) -> Result<Appended> {
    let malformed = |e: serde_json::Error| Error::Malformed(format!("acknowledgement: {e}"));
    let mut whole: Option<Appended> = None;
    for line in serde_json::Deserializer::from_slice(body).into_iter::<Appended>() {
        let line = line.map_err(malformed)?;
        whole = Some(match whole {
            None => line,
            Some(before) => {
                let (first, last) = (before.first.or(line.first), line.last.or(before.last));
                Appended { first, last, duplicate: before.duplicate && line.duplicate, cursor: line.cursor }
            }
        });
    }
    whole.ok_or_else(|| Error::Malformed("no acknowledgement".into()))
}

/// Appends to one session under one name, so that a repeat after a cut is stored once.
///
/// ```text
/// epoch 4:  [ 0 ][ 1 ][ 2 ] ✗ cut   [ 2 ] again: the answer says duplicate   [ 3 ]
/// ```
pub struct Producer {
    client: Client,
    session: SessionId,
    next: ProducerStamp,
    max_attempts: u32,
}

impl Producer {
    /// A higher epoch shuts out every producer of the same id and a lower epoch.
    pub fn new(client: Client, session: SessionId, id: ProducerId, epoch: u64) -> Self {
        Self { client, session, next: ProducerStamp { id, epoch, sequence: 0 }, max_attempts: 8 }
    }

    /// Appends events as one batch, and repeats the same batch with the same stamp until it is known to be stored.
    pub async fn append(&mut self, events: &[impl Serialize]) -> Result<Appended> {
        let body = encode(&events)?;
        let mut attempt = 0;
        loop {
            match self.client.send(&self.session, Body::Json(body.clone()), Some(&self.next)).await {
                Ok(appended) => {
                    self.next.sequence += 1;
                    return Ok(appended);
                }
                Err(error) if error.is_retryable() && attempt < self.max_attempts => {
                    attempt += 1;
                    tokio::time::sleep(pause_before(attempt, &error)).await;
                }
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_acknowledgements_of_lines_make_one() {
        let body = br#"{"first":4,"last":4,"cursor":"4..a","duplicate":true}
            {"first":5,"last":6,"cursor":"6..a"}"#;
        let at = |value| Some(Sequence::new(value).expect("small"));
        let expected = Appended { first: at(4), last: at(6), cursor: "6..a".into(), duplicate: false };
        assert_eq!(acknowledged(body).expect("valid"), expected);
        let older = acknowledged(br#"{"cursor":"9..a","duplicate":true}"#).expect("valid");
        assert_eq!((older.first, older.last, older.duplicate), (None, None, true));
        assert!(acknowledged(b"").is_err());
    }
}
