//! A stream that resumes by itself.
//!
//! The driver owns the connection, the parser and the clock; what an input means is decided by [`machine`]. All
//! state lives in the stream, so dropping the future of `next()` loses nothing.

mod backoff;
mod frame;
mod machine;
mod options;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::Stream;
use http::{Method, Response};
use http_body::Body as _;
use riverrun_net::{ResponseBody, SseFrame, SseParser};
use tokio::time::Sleep;

use crate::client::Client;
use crate::error::{Error, Result};
use crate::exchange::{Call, SSE};

pub(crate) use backoff::pause_before;
pub use frame::{FollowedEvent, FollowedSnapshot, Opened};
pub use machine::ConnectionState;
pub use options::{Catchup, FollowOptions, IndexUnit, Until};

use frame::Control;
use machine::{Input, Machine, Order, Verdict};

/// The most bytes of one frame. A snapshot travels as one.
const MAX_FRAME_BYTES: usize = 64 << 20;

/// Three heartbeats of the server.
const SILENCE: Duration = Duration::from_secs(45);

/// What a followed stream tells.
#[derive(Debug, Clone, PartialEq)]
pub enum Update {
    /// The connection changed its state.
    Connection(ConnectionState),
    /// The server said how it resumes.
    Opened(Opened),
    /// Everything up to a sequence, folded.
    Snapshot(FollowedSnapshot),
    Event(FollowedEvent),
    /// A frame of a foreign dialect, untouched.
    Frame(SseFrame),
}

/// See [`Client::follow`].
#[must_use = "a stream does nothing until it is read"]
pub struct Follow {
    client: Client,
    session_path: String,
    options: FollowOptions,
    machine: Machine,
    /// Where a reconnect goes on: behind everything that was read.
    resume: Option<String>,
    /// Behind everything that was given out. It is behind `resume` while updates wait in `ready`.
    given: Option<String>,
    parser: SseParser,
    ready: VecDeque<Result<Update>>,
    phase: Phase,
    /// What the server asked followers to wait for.
    wish: Option<Duration>,
}

enum Phase {
    Start,
    Waiting(Pin<Box<Sleep>>),
    Opening(Pin<Box<dyn Future<Output = Result<Response<ResponseBody>>> + Send>>),
    Reading { body: ResponseBody, silence: Pin<Box<Sleep>> },
    Done,
}

impl Follow {
    pub(crate) fn new(client: Client, session_path: String, options: FollowOptions) -> Self {
        let order = match (options.is_native(), options.is_filtered()) {
            (false, _) => Order::Opaque,
            (true, true) => Order::Rising,
            (true, false) => Order::Dense,
        };
        let machine = Machine::new(order, options.max_attempts);
        let ready = VecDeque::from([Ok(Update::Connection(machine.state))]);
        let parser = SseParser::new(MAX_FRAME_BYTES);
        Self {
            client,
            session_path,
            options,
            machine,
            resume: None,
            given: None,
            parser,
            ready,
            phase: Phase::Start,
            wish: None,
        }
    }

    /// The next update; None once the stream is closed. Safe to drop and call again.
    pub async fn next(&mut self) -> Option<Result<Update>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// Where a later follower goes on: behind the last update that was given out.
    pub fn cursor(&self) -> Option<&str> {
        self.given.as_deref()
    }

    fn open(&mut self) {
        let path = self.options.path(&self.session_path, self.resume.as_deref());
        let client = self.client.clone();
        self.parser = SseParser::new(MAX_FRAME_BYTES);
        self.phase = Phase::Opening(Box::pin(async move {
            client.http().open(Call::new(Method::GET, path).accept(SSE)).await
        }));
    }

    fn opened(&mut self, answer: Result<Response<ResponseBody>>) {
        match answer {
            Ok(response) => {
                self.phase = Phase::Reading { body: response.into_body(), silence: silence() };
                if !self.options.is_native() {
                    // Foreign dialects have no opening frame of ours; the answer's head is the opening.
                    self.apply(Input::Opened { after: None }, None);
                }
            }
            Err(error) => self.failed(error),
        }
    }

    fn failed(&mut self, error: Error) {
        let input = match &error {
            Error::Unreachable { .. } => Input::Unreachable,
            Error::Problem(problem) => {
                self.wish = problem.retry_after;
                Input::Refused { retryable: problem.retryable }
            }
            Error::Cut { .. } => Input::Cut,
            Error::Untrusted { .. }
            | Error::Gap { .. }
            | Error::Malformed(_)
            | Error::Stream(_)
            | Error::Url(_)
            | Error::BadKey => Input::Refused { retryable: false },
        };
        self.lost(input, error);
    }

    /// The connection is gone or of no use; `error` is what the user hears if there is no way on.
    fn lost(&mut self, input: Input, error: Error) {
        let (next, verdict) = self.machine.step(input);
        self.enter(next);
        match verdict {
            Verdict::Reconnect { attempt } => {
                let pause = backoff::delay(attempt, self.wish.take(), backoff::random());
                self.phase = Phase::Waiting(Box::pin(tokio::time::sleep(pause)));
            }
            Verdict::Close => self.phase = Phase::Done,
            Verdict::Fail | Verdict::Gap { .. } | Verdict::Deliver | Verdict::Ignore => {
                self.phase = Phase::Done;
                self.ready.push_back(Err(error));
            }
        }
    }

    /// Runs one input that arrived on a working connection.
    fn apply(&mut self, input: Input, update: Option<Update>) -> Verdict {
        let (next, verdict) = self.machine.step(input);
        match verdict {
            Verdict::Deliver => {
                self.enter(next);
                if let Some(update) = update {
                    self.advance(cursor_of(&update));
                    self.ready.push_back(Ok(update));
                }
            }
            Verdict::Ignore => self.enter(next),
            Verdict::Gap { last, found } => {
                self.enter(next);
                self.phase = Phase::Done;
                self.ready.push_back(Err(Error::Gap { last, found }));
            }
            Verdict::Close | Verdict::Reconnect { .. } | Verdict::Fail => {
                self.enter(next);
                self.phase = Phase::Done;
            }
        }
        verdict
    }

    fn enter(&mut self, next: Machine) {
        if next.state != self.machine.state {
            self.ready.push_back(Ok(Update::Connection(next.state)));
        }
        self.machine = next;
    }

    fn advance(&mut self, cursor: Option<String>) {
        if cursor.is_some() {
            self.resume = cursor;
            self.machine = self.machine.resumable();
        }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        let mut frames = Vec::new();
        let parsed = self.parser.push(bytes, &mut frames);
        for frame in frames {
            if matches!(self.phase, Phase::Done) {
                return;
            }
            if let Err(error) = self.frame(frame) {
                return self.failed(error);
            }
        }
        if let Err(error) = parsed {
            self.failed(Error::Stream(error));
        }
    }

    fn frame(&mut self, frame: SseFrame) -> Result<()> {
        if let Some(pause) = frame.retry {
            self.wish = Some(Duration::from_millis(pause.min(60_000)));
        }
        if frame::is_control(&frame) {
            self.control(frame::read_control(&frame)?);
        } else if !self.options.is_native() {
            self.apply(Input::Frame, Some(Update::Frame(frame)));
        } else {
            let read = frame::read_event(frame)?;
            let of_turn =
                self.options.turn.as_ref().is_some_and(|turn| read.turn.as_deref() == Some(turn.as_str()));
            let terminal = read.ends && of_turn;
            let input = Input::Event { first: read.first, last: read.event.sequence, terminal };
            self.apply(input, Some(Update::Event(read.event)));
        }
        Ok(())
    }

    fn control(&mut self, control: Control) {
        match control {
            Control::Opened(opened) => {
                self.apply(Input::Opened { after: opened.after }, Some(Update::Opened(opened)));
            }
            Control::Snapshot(snapshot) => {
                let input = Input::Snapshot { at: snapshot.sequence, new_log: snapshot.is_of_new_log() };
                self.apply(input, Some(Update::Snapshot(snapshot)));
            }
            Control::Heartbeat(place) => self.placed(Input::Heartbeat { head: place.head }, place.cursor),
            Control::CaughtUp(place) => self.placed(Input::CaughtUp { head: place.head }, place.cursor),
            Control::End(place) => self.placed(Input::End { head: place.head }, place.cursor),
            Control::Draining { retry_millis } => {
                self.wish =
                    retry_millis.map(|millis| Duration::from_millis(millis.min(60_000))).or(self.wish);
                self.apply(Input::Draining, None);
            }
            Control::Unknown => {}
        }
    }

    /// A word that moves the place on: what a filter left out need not be read again.
    fn placed(&mut self, input: Input, cursor: Option<String>) {
        match self.apply(input, None) {
            Verdict::Deliver | Verdict::Ignore | Verdict::Close => self.advance(cursor),
            Verdict::Gap { .. } | Verdict::Reconnect { .. } | Verdict::Fail => {}
        }
    }
}

/// Where a follower that has seen this update goes on.
fn cursor_of(update: &Update) -> Option<String> {
    match update {
        Update::Event(event) => event.cursor.clone().or_else(|| Some(event.sequence.to_string())),
        Update::Snapshot(at) => at.cursor.clone().or_else(|| Some(at.sequence.to_string())),
        Update::Frame(frame) => frame.id.clone(),
        Update::Connection(_) | Update::Opened(_) => None,
    }
}

impl Stream for Follow {
    type Item = Result<Update>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Update>>> {
        let this = &mut *self;
        loop {
            if let Some(update) = this.ready.pop_front() {
                if let Ok(update) = &update {
                    this.given = cursor_of(update).or(this.given.take());
                }
                return Poll::Ready(Some(update));
            }
            this.given.clone_from(&this.resume);
            match &mut this.phase {
                Phase::Done => return Poll::Ready(None),
                Phase::Start => this.open(),
                Phase::Waiting(sleep) => {
                    std::task::ready!(sleep.as_mut().poll(context));
                    this.open();
                }
                Phase::Opening(opening) => {
                    let answer = std::task::ready!(opening.as_mut().poll(context));
                    this.opened(answer);
                }
                Phase::Reading { body, silence } => match Pin::new(body).poll_frame(context) {
                    Poll::Ready(Some(Ok(frame))) => {
                        silence.as_mut().reset(tokio::time::Instant::now() + SILENCE);
                        if let Ok(bytes) = frame.into_data() {
                            this.bytes(&bytes);
                        }
                    }
                    Poll::Ready(Some(Err(error))) => this.lost(Input::Cut, Error::body(error)),
                    Poll::Ready(None) => {
                        this.lost(Input::BodyEnded, Error::cut("the stream ended without its end"))
                    }
                    Poll::Pending => {
                        std::task::ready!(silence.as_mut().poll(context));
                        this.lost(Input::Cut, Error::cut("no heartbeat for 45 s"));
                    }
                },
            }
        }
    }
}

fn silence() -> Pin<Box<Sleep>> {
    Box::pin(tokio::time::sleep(SILENCE))
}
