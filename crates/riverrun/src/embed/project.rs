//! A run in the words of another protocol.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::stream::{self, BoxStream};
use futures_util::{Stream, StreamExt};
use riverrun_dialect::{Dialect, Frames, Projector, ReaderOptions};
use riverrun_event::{Record, Sequence};
use serde_json::{Value, json};

use super::Error;
use super::follow::{Follow, Taken};
use super::standing::turn;

/// The frames of a dialect, as JSON, until the run ends or waits for a decision.
pub struct ProjectedStream(BoxStream<'static, Result<Value, Error>>);

struct Projection {
    follow: Follow,
    dialect: Dialect,
    /// Made with the first event, when the session's incarnation is known.
    projector: Option<Box<dyn Projector>>,
    /// What streams before this one handed out is taken in silently, and so is what other runs do.
    silent: Sequence,
    ready: VecDeque<Value>,
    /// The agent that the reader was told of.
    agent: Option<Value>,
}

impl ProjectedStream {
    pub(super) fn new(follow: Follow, dialect: Dialect) -> Self {
        let silent = follow.shared().seen();
        let projection =
            Projection { follow, dialect, projector: None, silent, ready: VecDeque::new(), agent: None };
        let next = async |mut projection: Projection| {
            let frame = projection.next().await?;
            Ok(frame.map(|frame| (frame, projection)))
        };
        Self(stream::try_unfold(projection, next).boxed())
    }

    /// The next frame; None at the end and at a pause.
    pub async fn next(&mut self) -> Option<Result<Value, Error>> {
        self.0.next().await
    }
}

impl Stream for ProjectedStream {
    type Item = Result<Value, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next_unpin(context)
    }
}

impl Projection {
    async fn next(&mut self) -> Result<Option<Value>, Error> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Ok(Some(frame));
            }
            match self.follow.next_of_any().await? {
                Some(taken) => self.project(&taken).await?,
                None if self.dialect == Dialect::AgentsSdk && self.agent.is_none() => self.greet(),
                None => return Ok(None),
            }
        }
    }

    async fn project(&mut self, taken: &Taken) -> Result<(), Error> {
        let mut frames = Frames::default();
        let damaged = |_| Error::Store(format!("event {} cannot be read", taken.event.sequence));
        let record = Record::read(&taken.record).map_err(damaged)?;
        let is_silent = taken.event.sequence <= self.silent || !taken.is_ours;
        self.projector().await?.event(&record, &taken.event, &mut frames);
        self.follow.note_seen(taken.event.sequence);
        for frame in frames.iter().filter(|frame| !frame.is_marker) {
            let value: Value = serde_json::from_str(frame.json)
                .map_err(|error| Error::Store(format!("a frame is not JSON: {error}")))?;
            match self.dialect == Dialect::AgentsSdk {
                _ if is_silent => {}
                true => self.as_the_sdk_does(value),
                false => self.ready.push_back(value),
            }
        }
        Ok(())
    }

    /// In one process the iterator's end says what `run_complete_event` says on a wire, and the agent is told at the
    /// start of each stream and when it changes.
    fn as_the_sdk_does(&mut self, frame: Value) {
        match frame["type"].as_str() {
            Some("run_complete_event") => {}
            Some("agent_updated_stream_event") => {
                if self.agent.as_ref() != Some(&frame["new_agent"]) {
                    self.agent = Some(frame["new_agent"].clone());
                    self.ready.push_back(frame);
                }
            }
            Some(_) | None => {
                if self.agent.is_none() {
                    self.greet();
                }
                self.ready.push_back(frame);
            }
        }
    }

    fn greet(&mut self) {
        let state = self.follow.state();
        let of_turn = turn(state, self.follow.shared().turn()).and_then(|turn| turn.agent.as_deref());
        let name = state.agent.as_deref().or(of_turn).unwrap_or("agent");
        let agent = json!({"name": name});
        self.ready.push_back(json!({"type": "agent_updated_stream_event", "new_agent": agent}));
        self.agent = Some(agent);
    }

    async fn projector(&mut self) -> Result<&mut Box<dyn Projector>, Error> {
        if self.projector.is_none() {
            let shared = self.follow.shared();
            let hub = shared.hub().await?;
            let session = hub.dialect_session();
            let options = ReaderOptions { turn: Some(shared.first()), ..ReaderOptions::default() };
            self.projector = Some(self.dialect.projector(&session, shared.blank(), options));
        }
        Ok(self.projector.as_mut().expect("it was made above"))
    }
}
