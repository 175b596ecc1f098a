//! The event stream of an answer, in the form that the MCP crate takes.

use std::collections::VecDeque;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt};
use http_body_util::BodyExt;
use riverrun_net::{ResponseBody, SseError, SseFrame, SseParser};
use rmcp::model::RequestId;
use sse_stream::{Error, Sse};

use super::{log_line, unread};

/// A message over `limit` bytes closes the stream; the call that it answers ends with that reason.
pub(super) fn events(
    body: ResponseBody,
    limit: usize,
    call: Option<RequestId>,
) -> BoxStream<'static, Result<Sse, Error>> {
    let (parser, frames) = (SseParser::new(limit), VecDeque::new());
    let reader = EventReader { body, parser, frames, call, state: State::Open };
    stream::unfold(reader, |mut reader| async move {
        let event = reader.next().await?;
        Some((event, reader))
    })
    .boxed()
}

pub(super) fn too_long(limit: usize) -> String {
    format!("wrote a message of more than {limit} bytes and was cut off")
}

struct EventReader {
    body: ResponseBody,
    parser: SseParser,
    frames: VecDeque<SseFrame>,
    call: Option<RequestId>,
    state: State,
}

enum State {
    Open,
    /// To be reported behind the frames that came before.
    Failed(SseError),
    Over,
}

impl EventReader {
    async fn next(&mut self) -> Option<Result<Sse, Error>> {
        loop {
            if let Some(frame) = self.frames.pop_front() {
                return Some(Ok(self.event(frame)));
            }
            match std::mem::replace(&mut self.state, State::Over) {
                State::Over => return None,
                State::Failed(error) => return self.failure(error),
                State::Open => {}
            }
            let Some(bytes) = self.data().await else { return self.position().map(Ok) };
            let mut frames = Vec::new();
            self.state = match self.parser.push(&bytes, &mut frames) {
                Ok(()) => State::Open,
                Err(error) => State::Failed(error),
            };
            self.frames.extend(frames);
        }
    }

    /// `None` at the end of the body, and where it broke off.
    async fn data(&mut self) -> Option<Bytes> {
        loop {
            if let Ok(data) = self.body.frame().await?.ok()?.into_data() {
                return Some(data);
            }
        }
    }

    fn event(&self, frame: SseFrame) -> Sse {
        let SseFrame { event, data, id, retry } = frame;
        let event = Sse { event, data: Some(data), id, retry };
        match &self.call {
            Some(call) => log_line::name_call(event, call),
            None => event,
        }
    }

    fn failure(&mut self, error: SseError) -> Option<Result<Sse, Error>> {
        let SseError::TooLong { limit } = error else { return Some(Err(Error::Body(Box::new(error)))) };
        let answer = unread::answer(self.call.take()?, unread::TOO_LONG, too_long(limit));
        Some(Ok(Sse { data: serde_json::to_string(&answer).ok(), ..Sse::default() }))
    }

    /// Where the stream can be resumed: a server may name that without a message.
    fn position(&self) -> Option<Sse> {
        let (id, retry) = (self.parser.last_id().map(str::to_owned), self.parser.pending_retry());
        (id.is_some() || retry.is_some()).then(|| Sse { id, retry, ..Sse::default() })
    }
}
