//! What of a run's stream a client asked for (`stream_mode`): one mode, a list of them, or none for everything.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::Body;
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use http_body::Frame;
use riverrun_dialect::request::RequestFailure;
use serde_json::Value;

/// The events that pass. `metadata`, `error` and `end` always do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Modes {
    messages: bool,
    values: bool,
}

impl Modes {
    pub const ALL: Self = Self { messages: true, values: true };

    /// Reads `stream_mode` of a body.
    pub fn read(asked: Option<&Value>) -> Result<Self, RequestFailure> {
        match asked {
            None | Some(Value::Null) => Ok(Self::ALL),
            Some(Value::String(word)) => Self::of([word.as_str()]),
            Some(Value::Array(words)) => Self::of(words.iter().map(|word| word.as_str().unwrap_or_default())),
            Some(_) => Err(refused("it is neither a text nor a list of texts")),
        }
    }

    /// Reads `stream_mode` of a query.
    pub fn of_query(query: Option<&str>) -> Result<Self, RequestFailure> {
        let pairs = query.unwrap_or_default().split('&');
        // The official client says nothing by an empty word.
        Self::of(pairs.filter_map(|pair| pair.strip_prefix("stream_mode=")).filter(|word| !word.is_empty()))
    }

    fn of<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Self, RequestFailure> {
        let none = Self { messages: false, values: false };
        let mut modes = none;
        for word in words {
            match word {
                "messages-tuple" | "messages" => modes.messages = true,
                "values" => modes.values = true,
                other => {
                    let shown: String = other.chars().take(40).collect();
                    return Err(refused(&format!("`{shown}` is not served")));
                }
            }
        }
        Ok(if modes == none { Self::ALL } else { modes })
    }

    /// What a client that comes back by `Location` asks for again.
    pub fn query(self) -> &'static str {
        match (self.messages, self.values) {
            (true, false) => "?stream_mode=messages-tuple",
            (false, true) => "?stream_mode=values",
            (true, true) | (false, false) => "",
        }
    }

    /// The stream with the events of these modes alone.
    pub fn filter(self, response: Response) -> Response {
        if self == Self::ALL {
            return response;
        }
        response.map(|body| Body::new(Filtered { body, modes: self, rest: BytesMut::new() }))
    }

    fn passes(self, frame: &[u8]) -> bool {
        let name = frame.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"event: "));
        match name {
            Some(b"messages") => self.messages,
            Some(b"values") => self.values,
            Some(_) | None => true,
        }
    }
}

fn refused(why: &str) -> RequestFailure {
    let message = format!("`stream_mode` may be `values`, `messages-tuple` or a list of them: {why}");
    RequestFailure::new(422, "invalid_value", message).param("stream_mode")
}

struct Filtered {
    body: Body,
    modes: Modes,
    /// The beginning of a frame whose end has not come.
    rest: BytesMut,
}

impl Filtered {
    /// The whole frames that pass.
    fn take(&mut self, data: &[u8]) -> Bytes {
        self.rest.extend_from_slice(data);
        let mut passing = BytesMut::new();
        loop {
            // A heartbeat is a comment without a blank line of its own, and must not wait for the next frame.
            let comment = match self.rest.first() {
                Some(b':') => memchr::memchr(b'\n', &self.rest).map(|end| end + 1),
                Some(b'\n') => Some(1),
                Some(_) | None => None,
            };
            if let Some(length) = comment {
                passing.extend_from_slice(&self.rest.split_to(length));
                continue;
            }
            let Some(end) = memchr::memmem::find(&self.rest, b"\n\n") else { break };
            let frame = self.rest.split_to(end + 2);
            if self.modes.passes(&frame) {
                passing.extend_from_slice(&frame);
            }
        }
        passing.freeze()
    }
}

impl http_body::Body for Filtered {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        loop {
            let Some(frame) = ready!(Pin::new(&mut self.body).poll_frame(context)) else {
                return Poll::Ready(None);
            };
            let Ok(data) = frame?.into_data() else { return Poll::Ready(None) };
            let passing = self.take(&data);
            if !passing.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(passing))));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_pass_by_their_event_however_they_are_cut() {
        let stream = b"event: metadata\ndata: 1\n\nid: 2\nevent: messages\ndata: 2\n\n: beat\n\nevent: values\ndata: 3\n\n";
        let mut filtered = Filtered {
            body: Body::empty(),
            modes: Modes::of(["values"]).expect("served"),
            rest: BytesMut::new(),
        };
        let seen: Vec<u8> = stream.chunks(5).flat_map(|piece| filtered.take(piece).to_vec()).collect();
        assert_eq!(seen, b"event: metadata\ndata: 1\n\n: beat\n\nevent: values\ndata: 3\n\n");
        assert_eq!(&filtered.take(b": beat\n")[..], b": beat\n");
        assert_eq!(&filtered.take(b"id: 4\nevent: messages\ndata: 4\n\n")[..], b"");
        assert!(Modes::of_query(Some("stream_mode=updates")).is_err());
        assert_eq!(Modes::of_query(Some("stream_mode=&cancel_on_disconnect=0")).ok(), Some(Modes::ALL));
        assert_eq!(Modes::of_query(Some("stream_mode=values&stream_mode=messages")).ok(), Some(Modes::ALL));
    }
}
