//! Responses that go on behind an earlier one: a conversation is a tree for its client, and a session is one line.
//!
//! ```text
//!   session     r1 ── r2            r2 names r1, the last of its session: the session goes on
//!   branch      r1' ─ r3            r3 names r1 too: a fork of the session at the end of r1
//! ```
//!
//! A branch has copies of the turns before it, under their names. A name means the original while that is there:
//! `Log::find_turn` has the oldest session first.

use std::collections::HashSet;

use riverrun_dialect::request::RequestFailure;
use riverrun_event::{Decoded, Payload, Sequence, SessionId, TurnId};
use riverrun_log::SessionKey;

use super::Refusal;
use super::turn::{Started, state};
use crate::app::App;
use crate::edge::{Caller, not_found};
use crate::route::forked;

/// The session in which a turn comes right behind `before`. The caller holds the session's `branching`, so that none
/// comes between. A turn with a name that was submitted before is found where it is: a retry makes no second branch.
pub(super) async fn session_behind(
    app: &App,
    caller: &Caller,
    before: &Started,
    named: Option<(SessionId, TurnId)>,
) -> Result<SessionId, Refusal> {
    let own = &before.hub.key;
    let branch = named.as_ref().map(|(session, _)| SessionKey::new(own.tenant.clone(), session.clone()));
    if let (Some((_, turn)), Some(branch)) = (&named, &branch) {
        for key in [own, branch] {
            if app.log().turn(key, turn).await?.is_some() {
                return Ok(key.session.clone());
            }
        }
    }
    let record = app.log().turn(own, &before.turn).await?.ok_or_else(not_found)?;
    let now = state(app, before).await?;
    let thread = now.threads.iter().find(|thread| thread.thread_id == record.fact.thread);
    if thread.is_none_or(|thread| thread.last_turn_id.as_ref() == Some(&before.turn)) {
        return Ok(own.session.clone());
    }
    let turn = app.sessions().turn_at(own, now.sequence, &before.turn).await?.ok_or_else(not_found)?;
    if !turn.status.is_terminal() {
        let message = "the previous response is in progress and another one waits for it; \
                       wait until it has ended to go on from it once more";
        let failure = RequestFailure::new(400, "previous_response_in_progress", message);
        return Err(failure.param("previous_response_id").into());
    }
    caller.require_all_sessions()?;
    if let Some(branch) = &branch {
        // Nobody else can have this id: it is what a crash left of the same request.
        if let Some(left) = app.hubs().get(branch).await? {
            app.sessions().delete(&left).await?;
        }
    }
    let line = Line::to(app, own, record.fact.first, turn.last_sequence).await?;
    let session = branch.map(|branch| branch.session);
    let made = forked(app, caller, &before.hub, turn.last_sequence, session, line.filter()).await?;
    Ok(made.session().clone())
}

/// What stands before a turn: all but the turns that were submitted behind it or were still open at its end. A copy of
/// such a turn would run a second time.
struct Line {
    first: Sequence,
    open: HashSet<TurnId>,
}

impl Line {
    async fn to(app: &App, key: &SessionKey, first: Sequence, end: Sequence) -> Result<Self, Refusal> {
        let then = app.sessions().state_at(key, end).await?;
        let open = then.turns.into_iter().filter(|turn| !turn.status.is_terminal());
        Ok(Self { first, open: open.map(|turn| turn.turn_id).collect() })
    }

    fn filter(self) -> impl FnMut(Sequence, &Decoded) -> bool + Send {
        let mut before = HashSet::new();
        move |sequence, event| {
            // What waits is told with the names of the turns that wait.
            if matches!(event.payload, Payload::QueueChanged(_)) {
                return false;
            }
            let Some(turn) = &event.scope.turn_id else { return true };
            if sequence <= self.first && !self.open.contains(turn) {
                before.insert(turn.clone());
            }
            before.contains(turn)
        }
    }
}
