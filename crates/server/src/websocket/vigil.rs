//! What every connection is watched for: a peer that names no key, takes nothing or is gone; a key or a server that
//! goes.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, Sleep};

use super::socket::Lost;
use super::{Bounds, Close, Socket};
use crate::edge::{Caller, Edge, Limits};
use crate::metrics::SlowConsumerLabels;

/// Fragments of one message.
const MAX_FRAGMENTS: usize = 1_024;
/// What a peer may send before it has named its key.
const STRANGER_BYTES: usize = 4 * 1024;

/// How a connection ends.
pub enum End {
    Close(Close),
    Lost,
}

impl From<Lost> for End {
    fn from(_: Lost) -> Self {
        End::Lost
    }
}

/// The words that a protocol has for what every connection may meet.
#[derive(Debug, Clone, Copy)]
pub struct Words {
    pub stalled: Close,
    /// None if a peer that is gone is not spoken to.
    pub silent: Option<Close>,
    pub unauthenticated: Close,
    /// When a key must be there; None for the server's limit.
    pub auth_time: Option<Duration>,
}

impl Words {
    fn auth_time(&self, limits: &Limits) -> Duration {
        self.auth_time.unwrap_or(limits.websocket_auth_time)
    }
}

/// Whether the connection reads now what its peer sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listening {
    Yes,
    /// The peer is not heard, so its silence proves nothing.
    No,
}

pub struct Vigil {
    edge: Edge,
    words: Words,
    is_known: bool,
    going: Pin<Box<dyn Future<Output = Close> + Send>>,
    pulse: Pin<Box<Sleep>>,
    opened: Instant,
    pinged: Instant,
}

impl Vigil {
    pub fn new(edge: Edge, caller: Option<&Caller>, words: Words) -> Self {
        let (now, is_known) = (Instant::now(), caller.is_some());
        Self {
            going: Box::pin(going(edge.clone(), caller.cloned(), words.unauthenticated)),
            pulse: Box::pin(tokio::time::sleep(pulse(&edge.limits(), &words, is_known))),
            edge,
            words,
            is_known,
            opened: now,
            pinged: now,
        }
    }

    /// What the peer may send.
    pub fn bounds(&self) -> Bounds {
        let limits = self.edge.limits();
        let most = if self.is_known { usize::MAX } else { STRANGER_BYTES };
        Bounds {
            message_bytes: limits.websocket_message_bytes.min(most),
            frame_bytes: limits.websocket_frame_bytes.min(most),
            fragments: MAX_FRAGMENTS,
        }
    }

    /// The peer may have named its key: from then on it may send more, and goes with it.
    pub fn learn<T: AsyncRead + AsyncWrite + Unpin>(
        &mut self,
        caller: Option<&Caller>,
        socket: &mut Socket<T>,
    ) {
        if let (false, Some(caller)) = (self.is_known, caller) {
            self.is_known = true;
            socket.set_bounds(self.bounds());
            self.count(caller, socket);
            let unauthenticated = self.words.unauthenticated;
            self.going = Box::pin(going(self.edge.clone(), Some(caller.clone()), unauthenticated));
        }
    }

    /// Counts the messages of a peer that is known with the bodies of its tenant.
    pub fn count<T: AsyncRead + AsyncWrite + Unpin>(&self, caller: &Caller, socket: &mut Socket<T>) {
        socket.set_room(self.edge.body_bytes().open(Some(caller.tenant().clone())));
    }

    /// Resolves when the server or the key goes.
    pub fn poll_going(&mut self, context: &mut Context<'_>) -> Poll<Close> {
        self.going.as_mut().poll(context)
    }

    /// Resolves when it is time to look at the clock.
    pub fn poll_pulse(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.pulse.as_mut().poll(context)
    }

    /// Closes on those who named no key, take nothing or are gone, and asks the others whether they live.
    pub fn look_at_the_clock<T: AsyncRead + AsyncWrite + Unpin>(
        &mut self,
        socket: &mut Socket<T>,
        listening: Listening,
    ) -> Result<(), End> {
        let (now, limits) = (Instant::now(), self.edge.limits());
        self.pulse.as_mut().reset(now + pulse(&limits, &self.words, self.is_known));
        if !self.is_known && now >= self.opened + self.words.auth_time(&limits) {
            return Err(End::Close(self.words.unauthenticated));
        }
        if let Some(since) = socket.output.stuck_since() {
            if now >= since + limits.stall_time {
                self.edge.metrics().slow_consumers.get_or_create(&SlowConsumerLabels { action: "cut" }).inc();
                return Err(End::Close(self.words.stalled));
            }
            // It may be reading; that it says nothing proves nothing.
            socket.excuse_silence();
        } else if listening == Listening::No {
            socket.excuse_silence();
        } else if now >= socket.heard() + limits.dead_after {
            return Err(self.words.silent.map_or(End::Lost, End::Close));
        } else if now >= self.pinged + limits.ping_every {
            self.pinged = now;
            socket.output.ping();
        }
        Ok(())
    }
}

async fn going(edge: Edge, caller: Option<Caller>, unauthenticated: Close) -> Close {
    let ended = async {
        match &caller {
            Some(caller) => caller.ended().await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = edge.drain().started() => Close::GoingAway,
        () = ended => unauthenticated,
    }
}

/// How often the clock is looked at.
fn pulse(limits: &Limits, words: &Words, is_known: bool) -> Duration {
    let shortest = limits.ping_every.min(limits.dead_after).min(limits.stall_time) / 3;
    if is_known { shortest } else { shortest.min(words.auth_time(limits)) }
}
