//! What a reader gets when it comes: exactly one of replayed, coalesced, snapshot, or refused.

use std::sync::Arc;

use http::{HeaderMap, HeaderValue};
use riverrun_dialect::{
    Coalescer, Control, Dialect, Frames, Framing, Opening, Shows, SnapshotReason, write_control,
    write_opening,
};
use riverrun_event::{Cursor, ErrorCode, Sequence, TurnId};
use riverrun_fold::State;
use riverrun_log::Progress;

use super::encoder::{Encoder, Mute, Own};
use super::filter::Filter;
use super::request::{CatchUp, Request};
use super::snapshot_event::write_snapshot_event;
use crate::app::App;
use crate::edge::{Caller, Problem, StreamPermit};
use crate::session::{Hub, SharedKey};

/// A reader's place and how it is brought there.
pub struct Plan {
    pub opening: Opening,
    pub at: Sequence,
    pub encoder: Encoder,
    /// The bytes that go first.
    pub first: String,
    /// The turn that the reader asked for has ended: there is nothing to wait for behind the head.
    pub turn_over: bool,
    /// The stream is one turn, and not the session.
    pub is_one_turn: bool,
    /// That turn, if it has begun.
    pub turn: Option<TurnId>,
}

impl Plan {
    pub fn shows(&self) -> Shows<'_> {
        match self.is_one_turn {
            true => Shows::Turn(self.turn.as_ref().map(TurnId::as_str)),
            false => Shows::Session,
        }
    }

    /// What `stream.opened` says, for framings that have no room for it.
    pub fn write_headers(&self, headers: &mut HeaderMap) {
        let shows = self.shows();
        let resume = self.encoder.dialect().resume(self.encoder.framing());
        headers.insert("riverrun-outcome", HeaderValue::from_static(self.opening.as_str()));
        headers.insert("riverrun-scope", HeaderValue::from_static(shows.scope()));
        headers.insert("riverrun-resume", HeaderValue::from_static(resume.as_str()));
        if let Some(turn) = shows.turn().and_then(|turn| HeaderValue::from_str(turn).ok()) {
            headers.insert("riverrun-turn", turn);
        }
    }
}

/// Takes one of the tenant's places for streams and decides how the reader is served, or refuses.
pub async fn open(
    app: &App,
    hub: &Arc<Hub>,
    caller: &Caller,
    request: &Request,
    framing: Framing,
) -> Result<(StreamPermit, Plan), Problem> {
    let permit = app.edge().open_stream(caller)?;
    let plan = plan(app, hub, request, framing).await?;
    if request.after.is_some() {
        let metrics = app.edge().metrics();
        metrics.resumes.with(&[request.dialect.name(), plan.opening.as_str()]).increment();
        metrics.resume_gap.observe(hub.head().get().saturating_sub(plan.at.get()) as f64);
    }
    Ok((permit, plan))
}

/// Decides, or refuses. Nothing was sent yet, so a refusal is an ordinary error answer.
pub async fn plan(app: &App, hub: &Arc<Hub>, request: &Request, framing: Framing) -> Result<Plan, Problem> {
    if request.dialect.shows_one_turn() {
        return super::one_turn::plan(app, hub, request, framing).await;
    }
    let head = hub.head();
    let (after, forced) = place(app, hub, request, head).await?;
    let opening = opening(forced, request.catch_up);
    let key = SharedKey { dialect: request.dialect, framing, options: request.options };
    let mut filter = Filter::new(request);
    let mut at = if matches!(opening, Opening::Snapshot(_)) { head } else { after.sequence };
    let mute = match (request.dialect, opening) {
        (Dialect::Blocks, Opening::Replayed) => {
            at = before_open_turns(app, hub, at).await?;
            Mute::Through(after.sequence, after.part)
        }
        _ => Mute::Nothing,
    };
    let needs_state = !request.dialect.is_stateless() || filter.as_ref().is_some_and(Filter::needs_state);
    let state = if needs_state { app.state_at(&hub.key, at).await? } else { unread(hub, at) };
    if let Some(filter) = &mut filter {
        filter.learn(&state);
    }
    let is_filtered = filter.is_some();
    let filter_json = filter.as_ref().map_or_else(|| "{}".to_owned(), Filter::to_json);
    let cursor = Cursor::after(at, hub.origin());
    let shows = match &request.turn {
        Some(turn) => Shows::Turn(Some(turn.as_str())),
        None => Shows::Session,
    };
    let mut first = opened(hub, request, framing, opening, after.sequence, cursor, &filter_json, shows);
    let snapshot = match opening {
        Opening::Snapshot(reason) if needs_state => Some((reason, state.to_json())),
        Opening::Snapshot(reason) => Some((reason, app.state_json_at(hub, at).await?)),
        Opening::Replayed | Opening::Coalesced => None,
    };
    let part = if mute == Mute::Nothing { after.part } else { 0 };
    let mut encoder = encoder(hub, key, state, filter, opening, part);
    if let Encoder::Own(own) = &mut encoder {
        own.mute = mute;
    }
    if let Some((reason, state_json)) = snapshot {
        write_snapshot(&encoder, reason, cursor, &state_json, &mut first);
        let is_native =
            matches!(request.dialect, Dialect::Native | Dialect::NativeStrict | Dialect::NativeLime);
        if is_native && !is_filtered {
            write_snapshot_event(hub, request.dialect, framing, reason, cursor, &state_json, &mut first);
        }
    }
    let turn_over = turn_is_over(app, hub, request.turn.as_ref()).await?;
    let (is_one_turn, turn) = (request.turn.is_some(), request.turn.clone());
    Ok(Plan { opening, at, encoder, first, turn_over, is_one_turn, turn })
}

pub(super) fn opening(forced: Option<SnapshotReason>, catch_up: CatchUp) -> Opening {
    match (forced, catch_up) {
        (Some(reason), _) => Opening::Snapshot(reason),
        (None, CatchUp::Replay) => Opening::Replayed,
        (None, CatchUp::Coalesce) => Opening::Coalesced,
        (None, CatchUp::Snapshot) => Opening::Snapshot(SnapshotReason::Asked),
    }
}

/// The first word on a stream.
#[allow(clippy::too_many_arguments, reason = "each is a member of `stream.opened`")]
pub(super) fn opened(
    hub: &Hub,
    request: &Request,
    framing: Framing,
    outcome: Opening,
    after: Sequence,
    cursor: Cursor,
    filter_json: &str,
    shows: Shows<'_>,
) -> String {
    let mut out = String::new();
    let control = Control::Opened {
        outcome,
        after,
        head: hub.head(),
        cursor,
        dialect: request.dialect.name(),
        index_unit: request.options.index_unit.as_str(),
        filter_json,
        shows,
        resume: request.dialect.resume(framing),
        retry_millis: retry_millis(hub),
    };
    write_control(framing, &control, &mut out);
    out
}

/// The place before the turns that are open at `at`: blocks are numbered from the beginning of their turn.
async fn before_open_turns(app: &App, hub: &Hub, at: Sequence) -> Result<Sequence, Problem> {
    let state = app.state_at(&hub.key, at).await?;
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
    app: &App,
    hub: &Hub,
    request: &Request,
    head: Sequence,
) -> Result<(Cursor, Option<SnapshotReason>), Problem> {
    let start = Cursor::after(Sequence::ZERO, hub.origin());
    let after = request.after.unwrap_or(start);
    if check_origin(&after, hub, "after")? == History::Another {
        return Ok((start, Some(SnapshotReason::EpochChanged)));
    }
    if after.sequence > head {
        let detail = format!("the cursor is at {}, the log ends at {head}", after.sequence);
        return Err(Problem::new(ErrorCode::CursorAhead, detail).field("after").head(head.get()));
    }
    let kept_from = app.log().head(&hub.key).await?.map_or(Sequence::ZERO, |head| head.first_available);
    let expired = after.sequence.next().is_some_and(|next| next < kept_from);
    Ok((after, expired.then_some(SnapshotReason::Expired)))
}

/// Which history of a session a cursor points into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum History {
    This,
    /// The log was replaced: the session was deleted and made again, or restored from a backup.
    Another,
}

/// 400 if the cursor was made for another session.
pub fn check_origin(cursor: &Cursor, hub: &Hub, field: &'static str) -> Result<History, Problem> {
    match cursor.origin {
        Some(origin) if !origin.is_of_session(hub.origin()) => {
            let detail = "this cursor was made for another session; leave it out to start from the beginning";
            Err(Problem::new(ErrorCode::CursorWrongSession, detail).field(field))
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
    if key.dialect == Dialect::Native && filter.is_none() && !coalesces {
        return Encoder::Shared(key);
    }
    let session = hub.dialect_session();
    let mut own = Own::new(key, key.dialect.projector(&session, state, key.options));
    own.filter = filter;
    own.is_alone = key.dialect == Dialect::Blocks && matches!(opening, Opening::Snapshot(_));
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
    out: &mut String,
) {
    match (encoder.dialect(), encoder) {
        (Dialect::Native | Dialect::NativeStrict | Dialect::NativeLime, _) | (_, Encoder::Shared(_)) => {
            let control = Control::Snapshot { reason, sequence: to.sequence, cursor: to, state_json };
            write_control(encoder.framing(), &control, out);
        }
        (_, Encoder::Own(own)) => {
            let mut frames = Frames::default();
            own.projector.opening(&mut frames);
            write_opening(own.key.framing, &frames, to, out);
        }
    }
}

async fn turn_is_over(app: &App, hub: &Hub, turn: Option<&TurnId>) -> Result<bool, Problem> {
    let Some(turn) = turn else { return Ok(false) };
    let record = app.log().turn(&hub.key, turn).await?;
    Ok(record.is_some_and(|record| record.fact.progress == Progress::Terminal))
}

/// Readers that were cut together do not come back together: between half a second and two.
fn retry_millis(hub: &Hub) -> u64 {
    500 + (hub.followers() as u64).wrapping_mul(7919) % 1500
}
