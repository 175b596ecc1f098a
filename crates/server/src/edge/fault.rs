//! Connections that go wrong on request: `x-riverrun-fault`, in dev mode only.
//!
//! A fault hurts the one connection that asked for it. The run behind it does not notice.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use http_body::Frame;
use riverrun_event::ErrorCode;

use super::problem::Problem;
use super::stream::Handover;

pub const HEADER: &str = "x-riverrun-fault";

/// What happens to a stream after so many frames; on a WebSocket they are the messages that the server sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    pub kind: FaultKind,
    pub after: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// The connection is closed without the last chunk, or the close frame.
    Drop,
    /// The connection is reset.
    Reset,
    /// The body ends as if it were whole; a WebSocket is closed with 1000.
    End,
    /// Nothing comes any more.
    Stall,
}

/// Marks an answer whose cut is a reset.
#[derive(Debug, Clone, Copy)]
pub(super) struct ResetWhenCut;

impl Fault {
    /// None if the request asks for none.
    pub(super) fn read(headers: &HeaderMap) -> Result<Option<Self>, Problem> {
        let Some(value) = headers.get(HEADER) else { return Ok(None) };
        let text = value.to_str().unwrap_or("");
        let fault = text.split_once('=').and_then(|(kind, after)| {
            let kind = match kind.trim() {
                "drop-after" => FaultKind::Drop,
                "reset-after" => FaultKind::Reset,
                "end-after" => FaultKind::End,
                "stall-after" => FaultKind::Stall,
                _ => return None,
            };
            Some(Self { kind, after: after.trim().parse().ok()? })
        });
        fault.map(Some).ok_or_else(|| {
            let detail =
                "a fault is `drop-after=N`, `reset-after=N`, `end-after=N` or `stall-after=N`, in frames";
            Problem::new(ErrorCode::InvalidField, detail).field(HEADER)
        })
    }

    /// Hurts a streaming answer; any other stays as it is. A WebSocket counts its own messages.
    pub(super) fn apply(self, mut response: Response) -> Response {
        if response.status() == StatusCode::SWITCHING_PROTOCOLS && self.kind == FaultKind::Reset {
            response.extensions_mut().insert(ResetWhenCut);
        }
        if response.extensions().get::<Handover>().is_none() {
            return response;
        }
        let content_type = response.headers().get(CONTENT_TYPE).map(|value| value.as_bytes());
        let is_sse = content_type.is_some_and(|value| value.starts_with(b"text/event-stream"));
        let hurt = |body| Body::new(Faulty { body, fault: self, is_sse, seen: 0, line: 0, over: false });
        let mut response = response.map(hurt);
        if self.kind == FaultKind::Reset {
            response.extensions_mut().insert(ResetWhenCut);
        }
        response
    }
}

struct Faulty {
    body: Body,
    fault: Fault,
    is_sse: bool,
    /// Frames that are out.
    seen: u64,
    /// Bytes of the present line: an empty line ends a frame of an event stream.
    line: usize,
    over: bool,
}

impl Faulty {
    /// How much of `data` is inside the frames that may pass.
    fn allowed(&mut self, data: &[u8]) -> usize {
        if self.seen >= self.fault.after {
            return 0;
        }
        for (place, byte) in data.iter().enumerate() {
            if *byte != b'\n' {
                self.line += 1;
                continue;
            }
            if !self.is_sse || self.line == 0 {
                self.seen += 1;
            }
            self.line = 0;
            if self.seen >= self.fault.after {
                return place + 1;
            }
        }
        data.len()
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the fault that was asked for")]
struct Asked;

impl http_body::Body for Faulty {
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if self.over || self.fault.after == 0 {
            return match self.fault.kind {
                FaultKind::Drop | FaultKind::Reset => Poll::Ready(Some(Err(Asked.into()))),
                FaultKind::End => Poll::Ready(None),
                FaultKind::Stall => Poll::Pending,
            };
        }
        match Pin::new(&mut self.body).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                let Ok(data) = frame.into_data() else { return Poll::Ready(None) };
                let allowed = self.allowed(&data);
                self.over = self.seen >= self.fault.after;
                Poll::Ready(Some(Ok(Frame::data(data.slice(..allowed)))))
            }
            Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(error.into()))),
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use http_body_util::BodyExt;

    use super::*;

    fn asked(text: &'static str) -> Result<Option<Fault>, Problem> {
        let mut headers = HeaderMap::new();
        headers.insert(HEADER, HeaderValue::from_static(text));
        Fault::read(&headers)
    }

    async fn seen(fault: &'static str, pieces: &'static [&'static str]) -> (String, bool) {
        let stream = futures_util::stream::iter(pieces.iter().map(|piece| Ok::<_, Asked>(*piece)));
        let mut response = super::super::stream::stream_response(
            super::super::Media::EventStream,
            Body::from_stream(stream),
        );
        response = asked(fault).expect("valid").expect("one").apply(response);
        let (mut body, mut text) = (response.into_body(), String::new());
        while let Some(frame) = body.frame().await {
            match frame {
                Ok(frame) => {
                    text.push_str(std::str::from_utf8(frame.data_ref().expect("data")).expect("text"))
                }
                Err(_) => return (text, true),
            }
        }
        (text, false)
    }

    #[test]
    fn a_fault_that_is_not_known_is_refused_by_name() {
        assert!(asked("drop-after=x").is_err() && asked("explode").is_err());
        assert_eq!(Fault::read(&HeaderMap::new()).expect("none asked"), None);
    }

    #[tokio::test]
    async fn exactly_so_many_frames_pass_however_they_are_cut_into_pieces() {
        let whole = &["data: 1\n\ndata: 2\n\ndata: 3\n\n"][..];
        let split = &["da", "ta: 1\n", "\nevent: x\ndata: 2\n\nda", "ta: 3\n\n"][..];
        assert_eq!(seen("drop-after=2", whole).await, ("data: 1\n\ndata: 2\n\n".into(), true));
        assert_eq!(seen("end-after=2", split).await, ("data: 1\n\nevent: x\ndata: 2\n\n".into(), false));
        assert_eq!(seen("reset-after=0", whole).await, (String::new(), true));
        assert!(!seen("drop-after=9", whole).await.1);
    }
}
