//! One connection that speaks HTTP/1.1, and the body of an answer.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::task::JoinHandle;

use crate::dial::Io;

/// The body of a request.
pub type RequestBody = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// A body of these bytes.
pub fn full(bytes: impl Into<Bytes>) -> RequestBody {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// Dropping it closes the socket.
pub(crate) struct HttpConnection {
    sender: SendRequest<RequestBody>,
    driver: Driver,
}

/// A request that was not answered.
pub(crate) struct Unanswered {
    pub reason: String,
    /// The request, if none of it was sent.
    pub unsent: Option<Request<RequestBody>>,
}

impl HttpConnection {
    pub async fn open(io: Box<dyn Io>) -> Result<Self, String> {
        let (sender, connection) =
            http1::handshake(TokioIo::new(io)).await.map_err(|error| error.to_string())?;
        // Its errors reach the sender or the body.
        let work = async move { drop(connection.await) };
        Ok(Self { sender, driver: Driver::Inline(Some(Box::pin(work))) })
    }

    /// From now on a task reads and writes the socket, so that a server that closes an idle connection is noticed.
    pub fn in_background(mut self) -> Self {
        if let Driver::Inline(Some(work)) = &mut self.driver {
            let work = std::mem::replace(work, Box::pin(std::future::ready(())));
            self.driver = Driver::Task(tokio::spawn(work));
        }
        self
    }

    pub fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    pub fn is_ready(&self) -> bool {
        self.sender.is_ready()
    }

    pub async fn ready(&mut self) -> Result<(), String> {
        let ready = self.sender.ready();
        self.driver.during(ready).await.map_err(|error| error.to_string())
    }

    pub async fn send(mut self, request: Request<RequestBody>) -> Result<Response<ResponseBody>, Unanswered> {
        let answer = self.sender.try_send_request(request);
        match self.driver.during(answer).await {
            Ok(response) => Ok(response.map(|incoming| ResponseBody { incoming, connection: self })),
            Err(mut failed) => {
                let unsent = failed.take_message();
                Err(Unanswered { reason: failed.into_error().to_string(), unsent })
            }
        }
    }
}

/// What reads and writes the socket.
enum Driver {
    /// The task that waits for the answer does it: bytes arrive without a detour over another task.
    Inline(Option<Pin<Box<dyn Future<Output = ()> + Send>>>),
    Task(JoinHandle<()>),
}

impl Driver {
    fn poll(&mut self, context: &mut Context<'_>) {
        if let Driver::Inline(open) = self
            && let Some(work) = open
            && work.as_mut().poll(context).is_ready()
        {
            *open = None;
        }
    }

    async fn during<F: Future>(&mut self, work: F) -> F::Output {
        let mut work = pin!(work);
        poll_fn(|context| {
            self.poll(context);
            work.as_mut().poll(context)
        })
        .await
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        if let Driver::Task(task) = self {
            task.abort();
        }
    }
}

/// The body of an answer, with its connection. Dropping it closes the socket at once.
pub struct ResponseBody {
    incoming: Incoming,
    connection: HttpConnection,
}

/// Why a body was not read to its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// It holds more bytes than the reader takes.
    #[error("the answer has more than {0} bytes")]
    TooLong(usize),
    /// The connection ended before the body did.
    #[error("the answer broke off: {0}")]
    Broken(String),
}

impl ResponseBody {
    /// All of the body, if it has at most `limit` bytes.
    pub async fn read(&mut self, limit: usize) -> Result<Bytes, BodyError> {
        let mut bytes = Vec::new();
        while let Some(frame) = self.frame().await {
            let Ok(data) = frame?.into_data() else { continue };
            if bytes.len() + data.len() > limit {
                return Err(BodyError::TooLong(limit));
            }
            bytes.extend_from_slice(&data);
        }
        Ok(bytes.into())
    }

    /// As much as arrives within `time`, and at most `limit` bytes: enough of an answer that is read only for its
    /// reason.
    pub async fn read_start(&mut self, limit: usize, time: Duration) -> Vec<u8> {
        let mut bytes = Vec::new();
        let reading = async {
            while let Some(Ok(frame)) = self.frame().await {
                bytes.extend_from_slice(frame.data_ref().map_or(&[], |data| data));
                if bytes.len() >= limit {
                    break;
                }
            }
        };
        let _ = tokio::time::timeout(time, reading).await;
        bytes.truncate(limit);
        bytes
    }

    pub(crate) fn into_connection(self) -> HttpConnection {
        self.connection
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        self.connection.driver.poll(context);
        let frame = ready!(Pin::new(&mut self.incoming).poll_frame(context));
        Poll::Ready(frame.map(|frame| frame.map_err(|error| BodyError::Broken(error.to_string()))))
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}
