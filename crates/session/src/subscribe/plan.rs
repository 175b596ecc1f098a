//! What a reader gets when it comes: exactly one of replayed, coalesced, snapshot, or refused.

use std::sync::Arc;

use riverrun_dialect::{Coalescer, ControlMessage, FrameWriter, Frames, Framing, Opening, SnapshotReason};
use riverrun_event::{Cursor, Sequence, TurnId};
use riverrun_fold::State;
use riverrun_log::WorkProgress;

use super::encoder::{Encoder, Mute, Own};
use super::error::OpenError;
use super::filter::Filter;
use super::request::{CatchUp, Request};
use super::snapshot_event::write_snapshot_event;
use super::stream_opened::{StreamOpened, StreamScope};
use crate::frame_batch::FrameBatch;
use crate::hubs::{Hub, SharedKey};
use crate::sessions::Sessions;

/// Where a reader begins, and how it is brought there.
pub struct Plan {
    /// Sent first. A transport that says it in its own words takes it out.
    pub opened: Option<StreamOpened>,
    /// What goes before the events: the state, if the reader gets a snapshot.
    pub first: FrameBatch,
    pub(super) at: Sequence,
    pub(super) encoder: Encoder,
    /// The turn that the reader asked for has ended: there is nothing to wait for behind the head.
    pub(super) turn_over: bool,
}

impl Plan {
    /// The last event that the frames in `first` hold, or behind which the stream begins.
    pub fn at(&self) -> Sequence {
        self.at
    }

    /// Notes from here on what the frames amount to, for [`super::Subscription::weight`].
    pub fn weigh(&mut self) {
        self.encoder.weigh();
    }
}

/// Decides how the reader of a stream is served, or refuses.
pub async fn open(
    sessions: &Sessions,
    hub: &Arc<Hub>,
    request: &Request,
    framing: Framing,
) -> Result<Plan, OpenError> {
    let plan = plan(sessions, hub, request, framing).await?;
    if request.after.is_some() {
        let metrics = sessions.metrics();
        let outcome = plan.opened.as_ref().map_or("none", |opened| opened.outcome.as_str());
        metrics.resumes.with(&[request.dialect.name(), outcome]).increment();
        metrics.resume_gap.observe(hub.head().get().saturating_sub(plan.at.get()) as f64);
    }
    Ok(plan)
}

/// Decides, or refuses. Nothing was sent yet, so a refusal is an ordinary error answer.
pub async fn plan(
    sessions: &Sessions,
    hub: &Arc<Hub>,
    request: &Request,
    framing: Framing,
) -> Result<Plan, OpenError> {
    if request.dialect.shows_one_turn() {
        return super::one_turn::plan(sessions, hub, request, framing).await;
    }
    let head = hub.head();
    let (after, forced) = place(sessions, hub, request, head).await?;
    let opening = opening(forced, request.catch_up);
    let key = SharedKey { dialect: request.dialect, framing, options: request.options };
    let mut filter = Filter::new(request);
    let mut at = if matches!(opening, Opening::Snapshot(_)) { head } else { after.sequence };
    let mute = if request.dialect.numbers_within_turns() && opening == Opening::Replayed {
        at = before_open_turns(sessions, hub, at).await?;
        Mute::Through(after.sequence, after.part)
    } else {
        Mute::Nothing
    };
    let needs_state = !request.dialect.is_stateless() || filter.as_ref().is_some_and(Filter::needs_state);
    let state = if needs_state { sessions.state_at(&hub.key, at).await? } else { unread(hub, at) };
    if let Some(filter) = &mut filter {
        filter.learn(&state);
    }
    let is_filtered = filter.is_some();
    let filter_json = filter.as_ref().map_or_else(|| "{}".to_owned(), Filter::to_json);
    let cursor = Cursor::after(at, hub.origin());
    let scope = match &request.turn {
        Some(turn) => StreamScope::Turn(Some(turn.clone())),
        None => StreamScope::Session,
    };
    let opened = StreamOpened { filter_json, scope, ..opened(hub, request, framing, opening, after, cursor) };
    let mut first = FrameWriter::new(framing);
    let snapshot = match opening {
        Opening::Snapshot(reason) if needs_state => Some((reason, state.to_json())),
        Opening::Snapshot(reason) => Some((reason, sessions.state_json_at(hub, at).await?)),
        Opening::Replayed | Opening::Coalesced => None,
    };
    let part = if mute == Mute::Nothing { after.part } else { 0 };
    let mut encoder = encoder(hub, key, state, filter, opening, part);
    if let Encoder::Own(own) = &mut encoder {
        own.mute = mute;
    }
    if let Some((reason, state_json)) = snapshot {
        write_snapshot(&encoder, reason, cursor, &state_json, &mut first);
        if request.dialect.is_stateless() && !is_filtered {
            write_snapshot_event(hub, request.dialect, reason, cursor, &state_json, &mut first);
        }
    }
    let turn_over = turn_is_over(sessions, hub, request.turn.as_ref()).await?;
    Ok(Plan { opened: Some(opened), first: first.into(), at, encoder, turn_over })
}

pub(super) fn opening(forced: Option<SnapshotReason>, catch_up: CatchUp) -> Opening {
    match (forced, catch_up) {
        (Some(reason), _) => Opening::Snapshot(reason),
        (None, CatchUp::Replay) => Opening::Replayed,
        (None, CatchUp::Coalesce) => Opening::Coalesced,
        (None, CatchUp::Snapshot) => Opening::Snapshot(SnapshotReason::Asked),
    }
}

/// What a stream of a whole session without a filter begins with.
pub(super) fn opened(
    hub: &Hub,
    request: &Request,
    framing: Framing,
    outcome: Opening,
    after: Cursor,
    cursor: Cursor,
) -> StreamOpened {
    StreamOpened {
        outcome,
        after: after.sequence,
        head: hub.head(),
        cursor,
        dialect: request.dialect,
        index_unit: request.options.index_unit,
        filter_json: "{}".to_owned(),
        scope: StreamScope::Session,
        resume: request.dialect.resume(framing),
        retry_millis: retry_millis(hub),
    }
}

/// The place before the turns that are open at `at`: blocks are numbered from the beginning of their turn.
async fn before_open_turns(sessions: &Sessions, hub: &Hub, at: Sequence) -> Result<Sequence, OpenError> {
    let state = sessions.state_at(&hub.key, at).await?;
    let open = state.turns.iter().filter(|turn| !turn.status.is_terminal());
    Ok(open.map(|turn| turn.first_sequence.previous()).min().unwrap_or(at))
}

/// A state that is only a place, for dialects that need no more.
fn unread(hub: &Hub, at: Sequence) -> State {
    let mut state = State::new(hub.session().clone());
    state.sequence = at;
    state
}

/// Where the reader says it stands, and whether the log can go on from there.
pub(super) async fn place(
    sessions: &Sessions,
    hub: &Hub,
    request: &Request,
    head: Sequence,
) -> Result<(Cursor, Option<SnapshotReason>), OpenError> {
    let start = Cursor::after(Sequence::ZERO, hub.origin());
    let after = request.after.unwrap_or(start);
    if check_origin(&after, hub, "after")? == History::Another {
        return Ok((start, Some(SnapshotReason::EpochChanged)));
    }
    if after.sequence > head {
        return Err(OpenError::CursorAhead { at: after.sequence, head });
    }
    let kept_from = sessions.log().head(&hub.key).await?.map_or(Sequence::ZERO, |head| head.first_available);
    let expired = after.sequence.next().is_some_and(|next| next < kept_from);
    Ok((after, expired.then_some(SnapshotReason::Expired)))
}

/// Which history of a session a cursor points into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum History {
    /// The log that is there now.
    This,
    /// The log was replaced: the session was deleted and made again, or restored from a backup.
    Another,
}

/// 400 if the cursor was made for another session.
pub fn check_origin(cursor: &Cursor, hub: &Hub, field: &'static str) -> Result<History, OpenError> {
    match cursor.origin {
        Some(origin) if !origin.is_of_session(hub.origin()) => {
            Err(OpenError::CursorOfAnotherSession { field })
        }
        Some(origin) if origin != hub.origin() => Ok(History::Another),
        Some(_) | None => Ok(History::This),
    }
}

fn encoder(
    hub: &Hub,
    key: SharedKey,
    state: State,
    filter: Option<Filter>,
    opening: Opening,
    part: u32,
) -> Encoder {
    let coalesces = opening == Opening::Coalesced;
    let resumes_inside = part > 0 && !matches!(opening, Opening::Snapshot(_));
    if key.dialect.is_verbatim() && filter.is_none() && !coalesces {
        return Encoder::Shared(key);
    }
    let session = hub.dialect_session();
    let mut own = Own::new(key, key.dialect.projector(&session, state, key.options));
    own.filter = filter;
    own.is_alone = key.dialect.numbers_within_turns() && matches!(opening, Opening::Snapshot(_));
    own.coalescer = coalesces.then(Coalescer::default);
    own.skip = if resumes_inside { part } else { 0 };
    Encoder::Own(Box::new(own))
}

/// The state first: as itself in the native dialect, as opening frames in one that has its own way to say it.
/// A reader that is cut among the opening frames still stands where it stood: half of them are no state.
pub(super) fn write_snapshot(
    encoder: &Encoder,
    reason: SnapshotReason,
    to: Cursor,
    state_json: &str,
    out: &mut FrameWriter,
) {
    match encoder {
        Encoder::Own(own) if !encoder.dialect().is_stateless() => {
            let mut frames = Frames::default();
            own.projector.opening(&mut frames);
            out.opening(&frames, to);
        }
        Encoder::Own(_) | Encoder::Shared(_) => {
            out.control(&ControlMessage::Snapshot { reason, sequence: to.sequence, cursor: to, state_json });
        }
    }
}

async fn turn_is_over(sessions: &Sessions, hub: &Hub, turn: Option<&TurnId>) -> Result<bool, OpenError> {
    let Some(turn) = turn else { return Ok(false) };
    let record = sessions.log().turn(&hub.key, turn).await?;
    Ok(record.is_some_and(|record| record.fact.progress == WorkProgress::Terminal))
}

/// Readers that were cut together do not come back together: between half a second and two.
fn retry_millis(hub: &Hub) -> u64 {
    500 + (hub.followers() as u64).wrapping_mul(7919) % 1500
}
