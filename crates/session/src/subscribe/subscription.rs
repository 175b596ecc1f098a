//! One open stream.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::Stream;
use riverrun_dialect::{ControlMessage, FrameWriter, Heartbeat, Weight};
use riverrun_event::{Cursor, Sequence};
use riverrun_fold::State;
use riverrun_log::seeded::{self, Bug};
use riverrun_log::{Chunk, LogTicket};
use tokio::time::{Instant, Sleep};

use super::encoder::{Encoder, Mute, Own};
use super::plan::Plan;
use super::request::Follow;
use crate::READ_BYTES;
use crate::frame_batch::FrameBatch;
use crate::hubs::{Found, Hub, Slot};
use crate::metrics::Held;
use crate::sessions::Sessions;

/// How often an idle stream looks whether its key still holds.
const CHECK_EVERY: std::time::Duration = std::time::Duration::from_secs(5);
/// What a stream takes from the ring at once.
const RING_READ: usize = 64 * 1024;

/// Why a stream is cut: its reader sees an error, never a clean end, and resumes with its cursor.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Cut(&'static str);

/// The right of a reader to its stream.
pub trait Access: Send + Sync {
    /// False from the moment the reader may read no more: its stream is cut.
    fn is_valid(&self) -> bool;

    /// The stream is over: by itself, cut, or because the reader went away before its end.
    fn closed(&mut self, _hub: &Arc<Hub>, _went_away: bool) {}
}

/// One open stream: a cursor over the log, an encoder and a small output buffer.
pub struct Subscription {
    sessions: Sessions,
    hub: Arc<Hub>,
    access: Box<dyn Access>,
    _gauge: Held,
    encoder: Encoder,
    /// The last event that was encoded.
    at: Sequence,
    /// Where a stream that does not follow ends.
    until: Option<Sequence>,
    turn_over: bool,
    ready: VecDeque<FrameBatch>,
    waiting: Waiting,
    is_live: bool,
    /// What the reader has seen, while a projector of its own is made from the turn's beginning.
    seen: Option<Sequence>,
    phase: Phase,
    slot: Slot,
    timer: Pin<Box<Sleep>>,
    heartbeat_at: Instant,
}

/// What the stream waits for besides news and time.
enum Waiting {
    Nothing,
    Chunks(LogTicket<Vec<Chunk>>),
    /// A reader that shared and fell behind needs a projector of its own again.
    State(Pin<Box<dyn Future<Output = Result<State, riverrun_log::LogError>> + Send>>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    /// Everything was said; the body ends cleanly.
    Complete,
    /// The connection is cut after what is ready was sent.
    Cutting(&'static str),
}

impl Subscription {
    /// Follows the session from where the plan begins.
    pub fn new(
        sessions: Sessions,
        hub: Arc<Hub>,
        access: Box<dyn Access>,
        plan: Plan,
        follow: Follow,
    ) -> Self {
        hub.follower_came();
        let gauge =
            sessions.metrics().streams.with(&[plan.encoder.dialect().name(), plan.encoder.transport()]);
        let now = Instant::now();
        let mut subscription = Self {
            until: (follow == Follow::UntilCaughtUp).then(|| hub.head()),
            heartbeat_at: now + sessions.settings().ping_every,
            timer: Box::pin(tokio::time::sleep(CHECK_EVERY)),
            sessions,
            hub,
            access,
            _gauge: Held::new(gauge),
            encoder: plan.encoder,
            at: plan.at,
            turn_over: plan.turn_over,
            ready: VecDeque::new(),
            waiting: Waiting::Nothing,
            is_live: false,
            seen: None,
            phase: Phase::Running,
            slot: Slot::default(),
        };
        if let Some(opened) = &plan.opened {
            subscription.control(&opened.control());
        }
        subscription.push(plan.first);
        subscription
    }

    /// What the frames so far amount to, if [`Plan::weigh`] asked for it.
    pub fn weight(&self) -> Option<Weight> {
        self.encoder.weight()
    }

    /// True if the next bytes are there without another look at the log.
    pub fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Moves on until bytes are ready, the stream is over, or there is nothing to do.
    fn advance(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while self.ready.is_empty() && self.phase == Phase::Running {
            match &mut self.waiting {
                Waiting::Chunks(ticket) => {
                    let Poll::Ready(read) = Pin::new(ticket).poll(context) else { return Poll::Pending };
                    self.waiting = Waiting::Nothing;
                    self.take_stored(read);
                }
                Waiting::State(future) => {
                    let Poll::Ready(state) = future.as_mut().poll(context) else { return Poll::Pending };
                    self.waiting = Waiting::Nothing;
                    self.take_state(state);
                }
                Waiting::Nothing => {
                    if !self.must_stop() && !self.take_recent() && self.idle(context).is_pending() {
                        return Poll::Pending;
                    }
                }
            }
        }
        Poll::Ready(())
    }

    /// Goes on alone from `at`, with a projector made from the state there. Where frames have numbers, they are counted
    /// from the beginning of the turn.
    fn go_alone(&mut self) {
        if let Some(first) = self.encoder.numbered_from() {
            self.seen = Some(self.at);
            self.at = first.previous();
        }
        let (sessions, key, at) = (self.sessions.clone(), self.hub.key.clone(), self.at);
        self.is_live = false;
        self.waiting = Waiting::State(Box::pin(async move { sessions.state_at(&key, at).await }));
    }

    fn take_state(&mut self, state: Result<State, riverrun_log::LogError>) {
        let (Ok(state), Encoder::Shared(key)) = (state, &self.encoder) else {
            self.phase = Phase::Cutting("the state could not be read");
            return;
        };
        let session = self.hub.dialect_session();
        let projector = key.dialect.projector(&session, state, key.options);
        let mut own = Own::new(*key, projector);
        if let Some(seen) = self.seen.take() {
            own.mute = Mute::Through(seen, 0);
        }
        self.encoder = Encoder::Own(Box::new(own));
    }

    fn push(&mut self, batch: FrameBatch) {
        if !batch.is_empty() {
            self.ready.push_back(batch);
        }
    }

    fn control(&mut self, control: &ControlMessage<'_>) {
        let mut out = FrameWriter::new(self.encoder.framing());
        out.control(control);
        self.push(out.into());
    }

    fn cursor(&self) -> Cursor {
        Cursor::after(self.at, self.hub.origin())
    }

    fn take_stored(&mut self, read: Result<Vec<Chunk>, riverrun_log::LogError>) {
        match read {
            Ok(chunks) if chunks.is_empty() => self.phase = Phase::Cutting("the log ends before its head"),
            Ok(chunks) => {
                let count = chunks.iter().take_while(|chunk| self.take_until(chunk.first())).count();
                if let Some(last) = chunks[..count].last() {
                    let batch = self.encoder.stored(&self.hub, &chunks[..count], self.at);
                    self.took(last.last(), batch);
                }
                self.read_ahead();
            }
            Err(error) => {
                tracing::warn!(code = %error.code(), session = %self.hub.session(), "a stream could not read on");
                self.phase = Phase::Cutting("the log could not be read");
            }
        }
    }

    /// A reader that is far behind: the store is read while what it gave goes out.
    fn read_ahead(&mut self) {
        let goes_on = self.phase == Phase::Running && self.until.is_none_or(|until| self.at < until);
        if goes_on && self.hub.is_behind(self.at) {
            self.waiting = Waiting::Chunks(self.sessions.log().read(&self.hub.key, self.at, READ_BYTES));
        }
    }

    /// False if the chunk is behind the end of a stream that does not follow, or the filter has seen its end.
    fn take_until(&self, first: Sequence) -> bool {
        self.phase == Phase::Running && self.until.is_none_or(|until| first <= until)
    }

    fn took(&mut self, last: Sequence, batch: FrameBatch) {
        self.push(batch);
        self.at = last;
        if let Some(over) = self.encoder.over() {
            self.at = over;
            self.end("turn_ended");
        }
    }

    /// Takes what the ring has. True if that moved the stream on.
    fn take_recent(&mut self) -> bool {
        if self.until.is_some_and(|until| self.at >= until) {
            return false;
        }
        match self.hub.recent_after(self.at, RING_READ) {
            Found::Nothing => false,
            Found::Behind => {
                if seeded::is_on(Bug::LiveBeforeReplay) {
                    self.show_newest();
                }
                if self.encoder.needs_projector() {
                    self.go_alone();
                } else {
                    self.waiting =
                        Waiting::Chunks(self.sessions.log().read(&self.hub.key, self.at, READ_BYTES));
                }
                true
            }
            Found::Chunks(chunks) => {
                for recent in chunks {
                    if !self.take_until(recent.chunk.first()) {
                        break;
                    }
                    let Some(frames) = self.encoder.recent(&self.hub, &recent, self.at) else {
                        self.go_alone();
                        break;
                    };
                    self.took(recent.chunk.last(), frames.batch);
                    if frames.is_over && self.phase == Phase::Running {
                        self.end("turn_ended");
                    }
                }
                true
            }
        }
    }

    /// The seeded bug: what is newest, although what lies before it was not shown.
    fn show_newest(&mut self) {
        let Found::Chunks(chunks) = self.hub.recent_after(self.hub.head().previous(), 1) else { return };
        for recent in chunks {
            let frames = self.encoder.recent(&self.hub, &recent, self.at);
            self.push(frames.map(|frames| frames.batch).unwrap_or_default());
        }
    }

    /// The reader has everything. Says so once, then waits.
    fn idle(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if !self.is_live {
            self.caught_up();
            return Poll::Ready(());
        }
        self.hub.wait(&mut self.slot, context.waker());
        if self.hub.head() > self.at || self.must_stop() {
            return Poll::Ready(());
        }
        if self.timer.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        let now = Instant::now();
        self.timer.as_mut().reset(now + CHECK_EVERY);
        if now >= self.heartbeat_at {
            self.heartbeat_at = now + self.sessions.settings().ping_every;
            self.heartbeat();
        }
        Poll::Ready(())
    }

    /// Keeps a silent stream open, in a way that the dialect's clients take.
    fn heartbeat(&mut self) {
        let heartbeat = self.encoder.dialect().rules().heartbeat;
        match heartbeat.on(self.encoder.framing()) {
            Heartbeat::Control => {
                self.control(&ControlMessage::Heartbeat { head: self.at, cursor: self.cursor() });
            }
            Heartbeat::Bytes(bytes) => {
                let mut out = FrameWriter::new(self.encoder.framing());
                out.keep_alive(bytes);
                self.push(out.into());
            }
            Heartbeat::Never => {}
        }
    }

    fn caught_up(&mut self) {
        self.is_live = true;
        let held_back = self.encoder.caught_up(&self.hub);
        self.push(held_back);
        if let Some(over) = self.encoder.over() {
            self.at = over;
            return self.end("turn_ended");
        }
        if self.turn_over {
            return self.end("turn_ended");
        }
        if self.until.is_some() {
            return self.end("caught_up");
        }
        self.control(&ControlMessage::CaughtUp { head: self.at, cursor: self.cursor() });
        self.encoder.settle(&self.hub);
    }

    fn end(&mut self, reason: &'static str) {
        self.control(&ControlMessage::End { reason, head: self.at, cursor: self.cursor() });
        self.phase = Phase::Complete;
    }

    /// Cuts the stream when the server goes, the key was revoked, or the session was deleted.
    fn must_stop(&mut self) -> bool {
        if self.sessions.drain().is_started() {
            self.control(&ControlMessage::Draining { retry_millis: 1000 });
            self.phase = Phase::Cutting("the server is shutting down");
        } else if !self.access.is_valid() {
            self.phase = Phase::Cutting("the key was revoked");
        } else if self.hub.is_gone() {
            self.phase = Phase::Cutting("the session was deleted");
        }
        self.phase != Phase::Running
    }
}

impl Stream for Subscription {
    type Item = Result<FrameBatch, Cut>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if this.advance(context).is_pending() {
            return Poll::Pending;
        }
        if let Some(batch) = this.ready.pop_front() {
            return Poll::Ready(Some(Ok(batch)));
        }
        match this.phase {
            Phase::Complete | Phase::Running => Poll::Ready(None),
            Phase::Cutting(_) if seeded::is_on(Bug::CleanEndWithoutTerminal) => Poll::Ready(None),
            Phase::Cutting(why) => Poll::Ready(Some(Err(Cut(why)))),
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.hub.stop_waiting(&mut self.slot);
        self.hub.follower_left();
        self.access.closed(&self.hub, self.phase == Phase::Running);
    }
}
