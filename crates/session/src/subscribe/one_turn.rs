//! Readers of a dialect whose stream is one turn.
//!
//! ```text
//!   log      … [ 41 42 43 44 45 46 47 ] …      the turn begins at 41
//!   no cursor          everything from 41 on
//!   cursor 44          what comes behind 44; where frames have numbers, 41…44 are projected again, unsent
//!   catchup=snapshot   the turn so far in as few frames as the dialect needs, then the tail
//! ```
//!
//! Which turn that is, if the reader does not name one:
//!
//! ```text
//!   turns    [ a · · ] [ b · · ] [ c · · ]
//!   no cursor          the newest that is open, else the newest: c
//!   cursor in b        the rest of b
//!   cursor behind b    c
//!   cursor behind c    the next turn that begins
//! ```

use std::sync::Arc;

use riverrun_dialect::{Coalescer, FrameWriter, Framing, Opening, ReaderOptions};
use riverrun_event::{Cursor, Sequence, TurnId};
use riverrun_log::seeded::{self, Bug};
use riverrun_log::{TurnRecord, WorkProgress};

use super::encoder::{AwaitedTurn, Encoder, Mute, Own};
use super::error::OpenError;
use super::plan::{Plan, opened, opening, place, write_snapshot};
use super::request::Request;
use super::stream_opened::{StreamOpened, StreamScope};
use crate::hubs::{Hub, SharedKey};
use crate::sessions::Sessions;

/// The turn that a stream shows.
#[derive(Default)]
struct Shown {
    /// Its first event; None if no turn has begun and the next one is meant.
    first: Option<Sequence>,
    turn: Option<TurnId>,
    is_over: bool,
}

impl Shown {
    fn of(record: TurnRecord) -> Self {
        let is_over = record.fact.progress == WorkProgress::Terminal;
        Self { first: Some(record.fact.first), turn: Some(record.fact.turn), is_over }
    }
}

pub async fn plan(
    sessions: &Sessions,
    hub: &Arc<Hub>,
    request: &Request,
    framing: Framing,
) -> Result<Plan, OpenError> {
    refuse_filters(request)?;
    let head = hub.head();
    let (after, forced) = place(sessions, hub, request, head).await?;
    let cursor =
        request.after.and(Some(after)).filter(|after| after.sequence > Sequence::ZERO || after.part > 0);
    let shown = shown(sessions, hub, request, cursor.filter(|_| forced.is_none()), head).await?;
    let rules = request.dialect.rules();
    let options = ReaderOptions { turn: shown.first, ..request.options };
    let key = SharedKey { dialect: request.dialect, framing, options };
    let is_numbered = !rules.joins_deltas;
    let opening = match opening(forced, request.catch_up) {
        Opening::Snapshot(_) | Opening::Coalesced if is_numbered && forced.is_none() => Opening::Replayed,
        opening => opening,
    };
    let start = match (shown.first, cursor) {
        (Some(first), _) => first.previous(),
        (None, Some(cursor)) if forced.is_none() => cursor.sequence,
        (None, _) => head,
    };
    let (at, mute, skip) = match (opening, request.after, request.frames_seen) {
        (Opening::Snapshot(_), ..) => (head, Mute::Nothing, 0),
        (_, _, Some(frames)) => (start, Mute::Frames(frames), 0),
        (_, None, None) => (start, Mute::Nothing, 0),
        (_, Some(_), None) if is_numbered => (start, Mute::Through(after.sequence, after.part), 0),
        (_, Some(_), None) if after.sequence < start => (start, Mute::Nothing, 0),
        (_, Some(_), None) => (after.sequence, Mute::Nothing, after.part),
    };
    let state = match rules.shows_past_turns {
        true => sessions.long_state_at(&hub.key, at).await?,
        false => sessions.state_at(&hub.key, at).await?,
    };
    let cursor = Cursor::after(at, hub.origin());
    let scope = StreamScope::Turn(shown.turn.clone());
    let opened = StreamOpened { scope, ..opened(hub, request, framing, opening, after, cursor) };
    let mut first = FrameWriter::new(framing);
    let session = hub.dialect_session();
    let mut own = Own::new(key, request.dialect.projector(&session, state, options));
    own.coalescer = (opening == Opening::Coalesced).then(Coalescer::default);
    (own.mute, own.skip) = (mute, skip);
    if shown.first.is_none() {
        own.awaited = Some(AwaitedTurn::new(&session));
    }
    // A snapshot of a turn that waits has the frame that ends the body, and nothing comes behind it.
    let is_told = matches!(opening, Opening::Snapshot(_)) && own.projector.is_over();
    let encoder = Encoder::Own(Box::new(own));
    if let Opening::Snapshot(reason) = opening
        && shown.first.is_some()
    {
        write_snapshot(&encoder, reason, cursor, "{}", &mut first);
    }
    let turn_over = shown.is_over || is_told;
    Ok(Plan { opened: Some(opened), first: first.into(), at, encoder, turn_over })
}

fn refuse_filters(request: &Request) -> Result<(), OpenError> {
    if request.task.is_none() && request.types.is_empty() {
        return Ok(());
    }
    Err(OpenError::WholeTurnsOnly { dialect: request.dialect.name() })
}

/// The turn that was asked for, else the one that follows from the cursor (see the top of this file).
async fn shown(
    sessions: &Sessions,
    hub: &Hub,
    request: &Request,
    cursor: Option<Cursor>,
    head: Sequence,
) -> Result<Shown, OpenError> {
    if let Some(turn) = &request.turn {
        return Ok(Shown::of(sessions.log().turn(&hub.key, turn).await?.ok_or(OpenError::NoTurn)?));
    }
    let state = sessions.state_at(&hub.key, cursor.map_or(head, |cursor| cursor.sequence)).await?;
    let open = state.turns.iter().rev().find(|turn| !turn.status.is_terminal());
    if let Some(open) = open {
        let record = sessions.log().turn(&hub.key, &open.turn_id).await?;
        let is_over = record.is_some_and(|record| record.fact.progress == WorkProgress::Terminal);
        return Ok(Shown { first: Some(open.first_sequence), turn: Some(open.turn_id.clone()), is_over });
    }
    match cursor {
        Some(cursor) => {
            Ok(first_behind(sessions, hub, cursor.sequence).await?.map(Shown::of).unwrap_or_default())
        }
        None if seeded::is_on(Bug::EmptyWithoutTurn) => Ok(Shown::default()),
        None => Ok(sessions.log().turns(&hub.key, None, 1).await?.pop().map(Shown::of).unwrap_or_default()),
    }
}

/// The first turn that begins behind this event, if one has begun.
async fn first_behind(
    sessions: &Sessions,
    hub: &Hub,
    after: Sequence,
) -> Result<Option<TurnRecord>, OpenError> {
    const PAGE: usize = 64;
    let (mut before, mut found) = (None, None);
    loop {
        let page = sessions.log().turns(&hub.key, before, PAGE).await?;
        let is_last = page.len() < PAGE;
        for record in page {
            if record.fact.first <= after {
                return Ok(found);
            }
            before = Some(record.fact.first);
            found = Some(record);
        }
        if is_last {
            return Ok(found);
        }
    }
}
