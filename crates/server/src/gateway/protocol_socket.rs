//! A WebSocket on which a foreign protocol is spoken: messages in, one after the other, and streams of turns out.
//!
//! ```text
//!   text ──▶ Protocol::hear ──▶ Said { texts, streams, close }
//!   stream ──▶ frame ──▶ Protocol::frame ──▶ text
//! ```
//!
//! A stream is a cursor over the log: while the socket takes nothing, nothing is read for it.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::Stream as _;
use riverrun_dialect::MessageKind;
use riverrun_session::{Messages, Subscription};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::edge::{Caller, Edge, Fault};
use crate::websocket::{Close, End, Listening, Socket, Vigil, Words};

/// Output beyond this waits in the log, not here.
const FULL: usize = 64 * 1024;

/// What is spoken on a socket.
pub trait Protocol: Send {
    /// The close codes that the protocol has for what every socket may meet.
    const STALLED: Close;
    const SILENT: Close;
    const UNAUTHENTICATED: Close;
    /// When a key must be there; None for the server's limit.
    const AUTH_TIME: Option<Duration> = None;

    /// Who speaks, once that is known.
    fn caller(&self) -> Option<&Caller>;
    /// What is said before anything is heard.
    fn opened(&mut self, said: &mut Said);
    fn hear(&mut self, text: &str, said: &mut Said) -> impl Future<Output = ()> + Send;
    /// A frame of a stream as the peer gets it; None if it gets none.
    fn frame(&mut self, stream: &str, json: &str) -> Option<String>;
    /// A stream has ended: by itself, or cut for this reason.
    fn over(&mut self, stream: &str, cut: Option<String>, said: &mut Said)
    -> impl Future<Output = ()> + Send;
}

/// What a message led to.
#[derive(Default)]
pub struct Said {
    pub texts: Vec<String>,
    pub begun: Vec<Stream>,
    /// Streams that end here and now.
    pub left: Vec<String>,
    pub close: Option<Close>,
}

/// A stream under the name that the protocol gave it.
pub struct Stream {
    name: String,
    subscription: Box<Subscription>,
    /// Messages that are not in the output yet.
    messages: Messages,
}

impl Stream {
    /// The subscription must be one of messages.
    pub fn new(name: String, subscription: Subscription) -> Self {
        Self { name, subscription: Box::new(subscription), messages: Messages::default() }
    }
}

pub struct Talk<T, P> {
    edge: Edge,
    socket: Socket<T>,
    protocol: P,
    streams: Vec<Stream>,
    vigil: Vigil,
}

enum Step {
    Heard(String),
    /// The stream at this place.
    Over(usize, Option<String>),
    Pulse,
}

impl<T: AsyncRead + AsyncWrite + Unpin + Send, P: Protocol> Talk<T, P> {
    pub fn new(io: T, fault: Option<Fault>, edge: Edge, protocol: P) -> Self {
        let words = Words {
            stalled: P::STALLED,
            silent: Some(P::SILENT),
            unauthenticated: P::UNAUTHENTICATED,
            auth_time: P::AUTH_TIME,
        };
        let vigil = Vigil::new(edge.clone(), protocol.caller(), words);
        let mut socket = Socket::new(io, vigil.bounds(), fault);
        protocol.caller().into_iter().for_each(|caller| vigil.count(caller, &mut socket));
        Self { socket, edge, protocol, streams: Vec::new(), vigil }
    }

    /// From the first message to the last.
    pub async fn run(mut self) {
        let mut said = Said::default();
        self.protocol.opened(&mut said);
        let mut next = self.say(said);
        let close = loop {
            next = match next {
                Ok(()) => match poll_fn(|context| self.poll_step(context)).await {
                    Ok(step) => self.take(step).await,
                    Err(end) => Err(end),
                },
                Err(End::Lost) => return,
                Err(End::Close(close)) => break close,
            };
        };
        self.socket.close(close).await;
    }

    async fn take(&mut self, step: Step) -> Result<(), End> {
        let mut said = Said::default();
        match step {
            Step::Heard(text) => {
                self.socket.set_waiting(text.len());
                self.protocol.hear(&text, &mut said).await;
                self.socket.set_waiting(0);
            }
            Step::Over(at, cut) => {
                let stream = self.streams.remove(at);
                self.protocol.over(&stream.name, cut, &mut said).await;
            }
            Step::Pulse => {
                let listening = if self.listens() { Listening::Yes } else { Listening::No };
                self.vigil.look_at_the_clock(&mut self.socket, listening)?;
            }
        }
        self.say(said)
    }

    fn say(&mut self, said: Said) -> Result<(), End> {
        said.texts.iter().for_each(|text| self.socket.output.text(&[text]));
        self.streams.retain(|stream| !said.left.contains(&stream.name));
        self.streams.extend(said.begun);
        self.vigil.learn(self.protocol.caller(), &mut self.socket);
        said.close.map_or(Ok(()), |close| Err(End::Close(close)))
    }

    /// Writes, lets streams speak, and looks what there is to do.
    fn poll_step(&mut self, context: &mut Context<'_>) -> Poll<Result<Step, End>> {
        if let Poll::Ready(close) = self.vigil.poll_going(context) {
            return Poll::Ready(Err(End::Close(close)));
        }
        loop {
            if let Poll::Ready(Err(end)) = self.socket.poll_flush(context) {
                return Poll::Ready(Err(end));
            }
            let before = self.socket.output.queued();
            if before >= FULL {
                break;
            }
            for at in 0..self.streams.len() {
                if let Poll::Ready(cut) = self.poll_stream(at, context) {
                    return Poll::Ready(Ok(Step::Over(at, cut)));
                }
            }
            if self.socket.output.queued() == before {
                break;
            }
        }
        if self.listens()
            && let Poll::Ready(heard) = self.socket.poll_text(context)
        {
            return Poll::Ready(match heard {
                Ok(Ok(text)) => Ok(Step::Heard(text)),
                Ok(Err(close)) => Err(End::Close(close)),
                Err(lost) => Err(lost.into()),
            });
        }
        // Answers to pings came into the output while it listened.
        if let Poll::Ready(Err(end)) = self.socket.poll_flush(context) {
            return Poll::Ready(Err(end));
        }
        self.vigil.poll_pulse(context).map(|()| Ok(Step::Pulse))
    }

    /// Lets one stream speak until the output is full. Ready when it is over.
    fn poll_stream(&mut self, at: usize, context: &mut Context<'_>) -> Poll<Option<String>> {
        let Self { streams, protocol, socket, .. } = self;
        let stream = &mut streams[at];
        while socket.output.queued() < FULL {
            if let Some(message) = stream.messages.next() {
                // These protocols have no words about the stream itself.
                let frame = matches!(message.kind, MessageKind::Frame(_)).then_some(message.json);
                if let Some(text) = frame.and_then(|json| protocol.frame(&stream.name, json)) {
                    socket.output.text(&[&text]);
                }
                continue;
            }
            match Pin::new(&mut *stream.subscription).poll_next(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Ready(Some(Ok(batch))) => stream.messages = Messages::new(batch),
                Poll::Ready(Some(Err(cut))) => return Poll::Ready(Some(cut.to_string())),
            }
        }
        Poll::Pending
    }

    fn listens(&self) -> bool {
        self.socket.output.queued() < self.edge.limits().websocket_buffer_bytes
    }
}
