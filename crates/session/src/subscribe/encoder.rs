//! Turns chunks into a reader's bytes: shared with other readers where it can be, by its own projector otherwise.

use riverrun_dialect::registry::ProjectedSession;
use riverrun_dialect::{Coalescer, Dialect, Frame, FrameWriter, Frames, Framing, Joined, Projector, Weight};
use riverrun_event::{CursorOrigin, Event, IdOrigin, Payload, Sequence, SessionId};
use riverrun_fold::State;
use riverrun_log::Chunk;

use super::filter::Filter;
use crate::frame_batch::FrameBatch;
use crate::hubs::{Hub, Projected, Recent, SharedKey};

pub enum Encoder {
    /// The reader gets what every reader of its kind gets.
    Shared(SharedKey),
    Own(Box<Own>),
}

/// A reader with a filter, one that is behind in a dialect with state, or one that joins deltas.
pub struct Own {
    pub key: SharedKey,
    pub projector: Box<dyn Projector>,
    pub filter: Option<Filter>,
    pub coalescer: Option<Coalescer>,
    /// Frames of the next event that the reader has seen.
    pub skip: u32,
    /// Frames that the reader has seen and that are made again only to stand where it stands.
    pub mute: Mute,
    /// Its reader began with an opening whose numbers no other reader knows: what it gets is its own.
    pub is_alone: bool,
    /// What the frames so far amount to, for a reader that wants to know how the stream begins.
    pub weight: Option<Weight>,
    /// The turn that is shown has not been seen yet.
    pub awaited: Option<AwaitedTurn>,
    pub over: Option<Sequence>,
    frames: Frames,
    joined: Vec<Joined>,
}

/// The next turn that begins. A dialect that shows one turn gets its projector once it is known which: it then ends
/// with that turn, and shares with readers who named it.
#[derive(Debug, Clone)]
pub struct AwaitedTurn {
    session: SessionId,
    incarnation: u32,
    origins: Vec<IdOrigin>,
}

impl AwaitedTurn {
    pub fn new(session: &ProjectedSession<'_>) -> Self {
        Self {
            session: session.id.clone(),
            incarnation: session.incarnation,
            origins: session.origins.to_vec(),
        }
    }

    fn session(&self) -> ProjectedSession<'_> {
        ProjectedSession { id: &self.session, incarnation: self.incarnation, origins: &self.origins }
    }
}

/// The first event of the turn that begins, or begins again, with `event`.
fn begun(state: &State, event: &Event) -> Option<Sequence> {
    let id = event.scope.turn_id.as_ref()?;
    let starts = matches!(event.payload, Ok(Payload::TurnSubmitted(_) | Payload::TurnStarted(_)));
    match state.turns.iter().rev().find(|turn| turn.turn_id == *id) {
        Some(known) => (starts || !known.status.is_terminal()).then_some(known.first_sequence),
        None => (!event.kind.is_turn_terminal()).then_some(event.sequence),
    }
}

/// What a reader of a numbered dialect has seen of the turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mute {
    #[default]
    Nothing,
    /// So many frames from the turn's beginning.
    Frames(u64),
    /// Everything up to this event, and so many frames of the next.
    Through(Sequence, u32),
}

impl Mute {
    /// True if the reader has seen all frames of this event.
    fn has_seen(&self, event: Sequence) -> bool {
        matches!(self, Mute::Through(sequence, _) if event <= *sequence)
    }

    fn hides(&mut self, frame: &Frame<'_>) -> bool {
        match self {
            Mute::Nothing => false,
            Mute::Frames(0) => {
                *self = Mute::Nothing;
                false
            }
            Mute::Frames(left) => {
                *left -= 1;
                true
            }
            Mute::Through(sequence, part) => {
                frame.sequence <= *sequence || sequence.next() == Some(frame.sequence) && frame.part < *part
            }
        }
    }
}

impl Own {
    pub fn new(key: SharedKey, projector: Box<dyn Projector>) -> Self {
        Self {
            key,
            projector,
            filter: None,
            coalescer: None,
            skip: 0,
            mute: Mute::default(),
            is_alone: false,
            weight: None,
            awaited: None,
            over: None,
            frames: Frames::default(),
            joined: Vec::new(),
        }
    }

    /// Encodes the events of a chunk behind `after`.
    pub fn chunk(&mut self, chunk: &Chunk, after: Sequence, origin: CursorOrigin, out: &mut FrameWriter) {
        for (sequence, bytes) in chunk.records_after(after) {
            if self.over.is_some() {
                return;
            }
            self.record(sequence, bytes, origin, out);
        }
    }

    /// Encodes one event, or holds it back to join it with the next.
    pub fn record(&mut self, sequence: Sequence, bytes: &[u8], origin: CursorOrigin, out: &mut FrameWriter) {
        match &mut self.coalescer {
            Some(coalescer) => coalescer.push(sequence, bytes, &mut self.joined),
            None => self.joined.push(Joined { first: sequence, last: sequence, record: bytes.to_vec() }),
        }
        self.write_joined(origin, out);
    }

    /// The reader has caught up: what was held back goes out, and from now on every event goes alone.
    pub fn caught_up(&mut self, origin: CursorOrigin, out: &mut FrameWriter) {
        if let Some(mut coalescer) = self.coalescer.take() {
            coalescer.flush(&mut self.joined);
            self.write_joined(origin, out);
        }
    }

    /// Shows the awaited turn from here on, if it begins with this event.
    fn find_turn(&mut self, event: &Event) {
        let Some(awaited) = &self.awaited else { return };
        let Some(state) = self.projector.state() else { return };
        let Some(first) = begun(state, event) else { return };
        self.key.options.turn = Some(first);
        self.projector = self.key.dialect.projector(&awaited.session(), state.clone(), self.key.options);
        self.awaited = None;
    }

    fn write_joined(&mut self, origin: CursorOrigin, out: &mut FrameWriter) {
        for joined in std::mem::take(&mut self.joined) {
            let Some((record, event)) = joined.parts() else { continue };
            self.find_turn(&event);
            self.frames.clear();
            self.projector.event(&record, &event, &mut self.frames);
            let skip = std::mem::take(&mut self.skip);
            if self.filter.as_mut().is_some_and(|filter| !filter.admits(&event)) {
                continue;
            }
            for frame in self.frames.iter().filter(|frame| frame.part >= skip) {
                if !self.mute.hides(&frame) {
                    if self.weight == Some(Weight::Opening) {
                        self.weight = Some(self.key.dialect.weigh(frame.name, frame.json));
                    }
                    out.frame(origin, &frame);
                }
            }
            // A pause that the reader has seen ended its last body, not this one.
            if self.projector.is_over() && !self.mute.has_seen(joined.last) {
                self.over = Some(joined.last);
                return;
            }
            if self.filter.as_ref().is_some_and(|filter| filter.is_over(&event)) {
                self.over = Some(joined.last);
                return;
            }
        }
    }
}

impl Encoder {
    /// Encodes chunks from the store that follow each other.
    pub fn stored(&mut self, hub: &Hub, chunks: &[Chunk], after: Sequence) -> FrameBatch {
        match self {
            Encoder::Shared(key) => hub.native_frames(key.framing, chunks, after),
            Encoder::Own(own) => {
                let mut out = FrameWriter::new(own.key.framing);
                for chunk in chunks {
                    own.chunk(chunk, after, hub.origin(), &mut out);
                }
                out.into()
            }
        }
    }

    /// Encodes a recent chunk, together with all readers of the same kind. None if the reader must first get a
    /// projector of its own.
    pub fn recent(&mut self, hub: &Hub, recent: &Recent, after: Sequence) -> Option<Projected> {
        let alone = |batch| Projected { batch, is_over: false };
        match self {
            Encoder::Shared(key) if after.next() == Some(recent.chunk.first()) => {
                hub.shared_frames(key, recent)
            }
            Encoder::Shared(key) if key.dialect.is_verbatim() => {
                Some(alone(hub.native_frames(key.framing, std::slice::from_ref(&recent.chunk), after)))
            }
            Encoder::Shared(_) => None,
            Encoder::Own(own) => {
                let mut out = FrameWriter::new(own.key.framing);
                own.chunk(&recent.chunk, after, hub.origin(), &mut out);
                Some(alone(out.into()))
            }
        }
    }

    /// A reader at the live end without a filter shares from here on.
    pub fn settle(&mut self, hub: &Hub) {
        let Encoder::Own(own) = self else { return };
        let is_muted = matches!(own.mute, Mute::Frames(left) if left > 0);
        if own.is_alone
            || own.weight == Some(Weight::Opening)
            || own.awaited.is_some()
            || own.filter.is_some()
            || own.coalescer.is_some()
            || own.skip > 0
            || is_muted
        {
            return;
        }
        let key = own.key;
        if hub.shares_at(&key, own.projector.sequence()) {
            *self = Encoder::Shared(key);
            return;
        }
        let Encoder::Own(own) = std::mem::replace(self, Encoder::Shared(key)) else { return };
        // A projector that came first is as good as ours.
        let _ = hub.share(key, own.projector);
    }

    pub fn over(&self) -> Option<Sequence> {
        match self {
            Encoder::Shared(_) => None,
            Encoder::Own(own) => own.over,
        }
    }

    /// Notes from here on what the frames amount to.
    pub fn weigh(&mut self) {
        if let Encoder::Own(own) = self {
            own.weight = Some(Weight::Opening);
        }
    }

    pub fn weight(&self) -> Option<Weight> {
        match self {
            Encoder::Shared(_) => None,
            Encoder::Own(own) => own.weight,
        }
    }

    fn key(&self) -> &SharedKey {
        match self {
            Encoder::Shared(key) => key,
            Encoder::Own(own) => &own.key,
        }
    }

    pub fn framing(&self) -> Framing {
        self.key().framing
    }

    pub fn dialect(&self) -> Dialect {
        self.key().dialect
    }

    pub fn transport(&self) -> &'static str {
        match self.framing() {
            Framing::Sse | Framing::ForeignSse | Framing::ForeignSseWithIds => "sse",
            Framing::Ndjson => "ndjson",
            Framing::Messages => "websocket",
        }
    }

    /// The first event of the turn from which frames are numbered, in a dialect that numbers them.
    pub fn numbered_from(&self) -> Option<Sequence> {
        self.key().options.turn.filter(|_| !self.dialect().rules().joins_deltas)
    }

    /// True if it can encode only what others of its kind encode too.
    pub fn needs_projector(&self) -> bool {
        matches!(self, Encoder::Shared(key) if !key.dialect.is_verbatim())
    }

    pub fn caught_up(&mut self, hub: &Hub) -> FrameBatch {
        let mut out = FrameWriter::new(self.framing());
        if let Encoder::Own(own) = self {
            own.caught_up(hub.origin(), &mut out);
        }
        out.into()
    }
}
