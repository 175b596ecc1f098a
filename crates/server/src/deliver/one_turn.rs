//! Readers of a dialect whose stream is one turn.
//!
//! ```text
//!   log      … [ 41 42 43 44 45 46 47 ] …      the turn begins at 41
//!   no cursor          everything from 41 on
//!   cursor 44          what comes behind 44; where frames have numbers, 41…44 are projected again, unsent
//!   catchup=snapshot   the turn so far in as few frames as the dialect needs, then the tail
//! ```

use std::sync::Arc;

use riverrun_dialect::{Coalescer, Framing, Opening, Options};
use riverrun_event::{Cursor, ErrorCode, Sequence};
use riverrun_log::Progress;

use super::encoder::{Encoder, Mute, Own};
use super::open::{Plan, opened, opening, place, write_snapshot};
use super::request::Request;
use crate::app::App;
use crate::edge::{Problem, not_found};
use crate::session::{Hub, SharedKey};

/// The turn that a stream shows.
struct Shown {
    /// Its first event; None if the next turn that begins is meant.
    first: Option<Sequence>,
    is_over: bool,
}

pub async fn plan(app: &App, hub: &Arc<Hub>, request: &Request, framing: Framing) -> Result<Plan, Problem> {
    refuse_filters(request)?;
    let head = hub.head();
    let (after, forced) = place(app, hub, request, head).await?;
    let shown = shown(app, hub, request, head).await?;
    let rules = request.dialect.rules();
    let options = Options { turn: shown.first, ..request.options };
    let key = SharedKey { dialect: request.dialect, framing, options };
    let is_numbered = !rules.joins_deltas;
    let opening = match opening(forced, request.catch_up) {
        Opening::Snapshot(_) | Opening::Coalesced if is_numbered && forced.is_none() => Opening::Replayed,
        opening => opening,
    };
    let start = shown.first.map_or(head, Sequence::previous);
    let (at, mute, skip) = match (opening, request.after, request.frames_seen) {
        (Opening::Snapshot(_), ..) => (head, Mute::Nothing, 0),
        (_, _, Some(frames)) => (start, Mute::Frames(frames), 0),
        (_, None, None) => (start, Mute::Nothing, 0),
        (_, Some(_), None) if is_numbered => (start, Mute::Through(after.sequence, after.part), 0),
        (_, Some(_), None) if after.sequence < start => (start, Mute::Nothing, 0),
        (_, Some(_), None) => (after.sequence, Mute::Nothing, after.part),
    };
    let state = match rules.tells_the_past {
        true => app.long_state_at(&hub.key, at).await?,
        false => app.state_at(&hub.key, at).await?,
    };
    let cursor = Cursor::after(at, hub.origin());
    let mut first = opened(hub, request, framing, opening, after.sequence, cursor, "{}");
    let session = hub.dialect_session();
    let mut own = Own::new(key, request.dialect.projector(&session, state, options));
    own.coalescer = (opening == Opening::Coalesced).then(Coalescer::default);
    (own.mute, own.skip) = (mute, skip);
    // A snapshot of a turn that waits has the frame that ends the body, and nothing comes behind it.
    let is_told = matches!(opening, Opening::Snapshot(_)) && own.projector.is_over();
    let encoder = Encoder::Own(Box::new(own));
    if let Opening::Snapshot(reason) = opening {
        write_snapshot(&encoder, reason, cursor, "{}", &mut first);
    }
    Ok(Plan { opening, at, encoder, first, turn_over: shown.is_over || is_told })
}

fn refuse_filters(request: &Request) -> Result<(), Problem> {
    if request.task.is_none() && request.types.is_empty() {
        return Ok(());
    }
    let detail = format!(
        "dialect `{}` shows whole turns; leave out `task` and `types`, or use `native`",
        request.dialect.name()
    );
    Err(Problem::new(ErrorCode::InvalidField, detail).field("dialect"))
}

/// The turn that was asked for; without one the newest that has not ended, else the next that begins.
async fn shown(app: &App, hub: &Hub, request: &Request, head: Sequence) -> Result<Shown, Problem> {
    if let Some(turn) = &request.turn {
        let record = app.log().turn(&hub.key, turn).await?.ok_or_else(not_found)?;
        let is_over = record.fact.progress == Progress::Terminal;
        return Ok(Shown { first: Some(record.fact.first), is_over });
    }
    let state = app.state_at(&hub.key, head).await?;
    let open = state.turns.iter().rev().find(|turn| !turn.status.is_terminal());
    Ok(Shown { first: open.map(|turn| turn.first_sequence), is_over: false })
}
