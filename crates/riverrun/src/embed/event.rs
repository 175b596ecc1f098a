//! The native events of a run.

use std::ops::Deref;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::stream::{self, BoxStream};
use futures_util::{Stream, StreamExt};
use riverrun_event::{Event, Payload};

use super::Error;
use super::follow::Follow;

/// One event at its place in the log. It was durable before it came here.
#[derive(Debug, Clone)]
pub struct RunEvent {
    /// The event as it is in the log.
    pub event: Event,
    /// The event as it goes over a wire.
    pub json: String,
}

impl Deref for RunEvent {
    type Target = Event;

    fn deref(&self) -> &Event {
        &self.event
    }
}

impl RunEvent {
    /// The new text of a message, if this is what the event brings.
    pub fn text_delta(&self) -> Option<&str> {
        match &self.event.payload {
            Ok(Payload::ModelDelta(delta)) => Some(&delta.delta),
            Ok(_) | Err(_) => None,
        }
    }
}

/// The events of a run, each once and in order, until it ends or waits for a decision.
pub struct EventStream(BoxStream<'static, Result<RunEvent, Error>>);

impl EventStream {
    pub(super) fn new(follow: Follow) -> Self {
        let next = async |mut follow: Follow| {
            Ok(follow.next().await?.map(|taken| {
                follow.note_seen(taken.event.sequence);
                (RunEvent { event: taken.event, json: taken.json }, follow)
            }))
        };
        Self(stream::try_unfold(follow, next).boxed())
    }

    /// The next event; None at the end and at a pause.
    pub async fn next(&mut self) -> Option<Result<RunEvent, Error>> {
        self.0.next().await
    }
}

impl Stream for EventStream {
    type Item = Result<RunEvent, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next_unpin(context)
    }
}
