//! From a foreign request to a turn in a log, and from the turn to an answer.

use std::sync::Arc;

use axum::response::Response;
use http::{HeaderMap, HeaderName, HeaderValue};
use riverrun_dialect::request::RequestFailure;
use riverrun_dialect::{Dialect, Frames, Framing, Projector, ReaderOptions, WholeAnswer};
use riverrun_event::{Cursor, ErrorCode, Event, Payload, Record, Sequence, SessionId, TurnId};
use riverrun_fold::State;
use riverrun_log::SessionKey;
use riverrun_runner::{Deltas, Submit, Submitted};

use super::schemas::check_schemas;
use crate::app::App;
use crate::deliver::{access, body, open};
use crate::derived_ids::derived;
use crate::edge::{Caller, Media, Problem, not_found, stream_response};
use crate::route::{NewSessionBody, check_addresses, check_blobs, create};
use riverrun_api::RunnerCommand;
use riverrun_session::Hub;
use riverrun_session::{CatchUp, Request, Subscription};

/// A turn that a foreign request began, or found running.
pub struct Started {
    pub hub: Arc<Hub>,
    pub turn: TurnId,
}

/// Ids that follow from `Idempotency-Key`: the same request again finds its own session and turn.
pub fn ids(
    caller: &Caller,
    route: &str,
    headers: &HeaderMap,
) -> Result<Option<(SessionId, TurnId)>, Problem> {
    const LONGEST: usize = 255;
    let Some(key) = headers.get("idempotency-key") else { return Ok(None) };
    let key = key.to_str().ok().filter(|key| !key.is_empty() && key.len() <= LONGEST);
    let key = key.ok_or_else(|| {
        let detail = format!("`Idempotency-Key` may have 1 to {LONGEST} visible ASCII characters");
        Problem::new(ErrorCode::InvalidField, detail).field("Idempotency-Key").limit(LONGEST as u64)
    })?;
    Ok(Some(derived(caller, &[route, key])))
}

tokio::task_local! {
    /// What the query of the request says of deltas, for the turn that it begins.
    pub(super) static DELTAS: Option<Deltas>;
}

/// Makes or finds the session and submits the turn.
pub async fn start(
    app: &App,
    caller: &Caller,
    session: Option<SessionId>,
    submit: Submit,
) -> Result<(Started, Submitted), Problem> {
    start_with(app, caller, NewSessionBody { session_id: session, ..Default::default() }, submit).await
}

/// The same; a session that is made is made with these words.
pub async fn start_with(
    app: &App,
    caller: &Caller,
    new: NewSessionBody,
    mut submit: Submit,
) -> Result<(Started, Submitted), Problem> {
    if let Ok(Some(deltas)) = DELTAS.try_with(|deltas| *deltas) {
        submit.settings.get_or_insert_default().deltas = Some(deltas);
    }
    if let Some(agent) = &submit.agent {
        app.agents().check(agent)?;
    }
    check_addresses(app.services(), submit.input.as_ref(), &submit.history)?;
    check_blobs(app.services(), caller.tenant(), submit.input.as_ref(), &submit.history).await?;
    check_schemas(app, &submit)?;
    let known = match &new.session_id {
        Some(id) => {
            caller.require_session(id)?;
            app.log().session(&SessionKey::new(caller.tenant().clone(), id.clone())).await?
        }
        None => None,
    };
    let key = match known {
        Some(record) => record.key,
        None => create(app, caller, new).await?.0.key,
    };
    let submitted = app.answered(RunnerCommand::Submit, app.runner().submit(&key, submit).await)?;
    let hub = app.hubs().get(&key).await?.ok_or_else(not_found)?;
    Ok((Started { hub, turn: submitted.turn_id.clone() }, submitted))
}

/// Where a reader of a turn stands.
#[derive(Debug, Clone, Copy, Default)]
pub struct Seen {
    /// Frames of the turn, in a dialect that numbers them.
    pub frames: Option<u64>,
    /// The last event that the reader knows.
    pub event: Option<Sequence>,
    /// How it comes to the live end.
    pub catch_up: CatchUp,
}

/// The same, for dialects whose readers have a cursor of their own.
#[derive(Debug, Clone, Copy)]
pub enum Place {
    Start,
    /// The turn so far in as few frames as the dialect needs, then the tail.
    Now,
    Behind(Cursor),
    /// Behind the pause that ended with decisions, of which this is the last.
    Decided(Cursor, Sequence),
    Frames(u64),
}

/// The turn's stream in a dialect, to its terminal frame.
pub async fn stream(
    app: &App,
    caller: &Caller,
    started: &Started,
    dialect: Dialect,
    seen: Seen,
) -> Result<Response, Problem> {
    let place = match (seen.event, seen.frames) {
        (Some(sequence), _) => Place::Behind(Cursor::after(sequence, started.hub.origin())),
        (None, Some(frames)) => Place::Frames(frames),
        (None, None) if seen.catch_up == CatchUp::Snapshot => Place::Now,
        (None, None) => Place::Start,
    };
    stream_from(app, caller, started, dialect, place).await
}

pub async fn stream_from(
    app: &App,
    caller: &Caller,
    started: &Started,
    dialect: Dialect,
    place: Place,
) -> Result<Response, Problem> {
    let rules = dialect.rules();
    let stream = subscribe(app, caller, started, dialect, rules.framing, place).await?;
    let mut response = stream_response(Media::EventStream, body(stream));
    for (name, value) in rules.headers {
        response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    name_turn(&mut response, started, dialect, rules.framing);
    Ok(response)
}

/// Says where the turn of a foreign stream is, and how its reader goes on after a cut.
pub fn name_turn(response: &mut Response, started: &Started, dialect: Dialect, framing: Framing) {
    let resume = dialect.resume(framing).as_str();
    let words = [
        ("riverrun-session", started.hub.session().as_str()),
        ("riverrun-turn", started.turn.as_str()),
        ("riverrun-resume", resume),
    ];
    for (name, value) in words {
        if let Ok(value) = HeaderValue::from_str(value) {
            response.headers_mut().insert(HeaderName::from_static(name), value);
        }
    }
}

/// The turn's frames in any framing.
pub async fn subscribe(
    app: &App,
    caller: &Caller,
    started: &Started,
    dialect: Dialect,
    framing: Framing,
    place: Place,
) -> Result<Subscription, Problem> {
    let request = request(started, dialect, place);
    let opened = open(app, &started.hub, caller, &request, framing).await?;
    Ok(opened.subscribe(started.hub.clone(), request.follow))
}

/// The same from the start; it is known what the frames amount to.
pub async fn subscribe_weighed(
    app: &App,
    caller: &Caller,
    started: &Started,
    dialect: Dialect,
    framing: Framing,
) -> Result<Subscription, Problem> {
    let request = request(started, dialect, Place::Start);
    let mut opened = open(app, &started.hub, caller, &request, framing).await?;
    opened.plan.weigh();
    Ok(opened.subscribe(started.hub.clone(), request.follow))
}

fn request(started: &Started, dialect: Dialect, place: Place) -> Request {
    let (after, frames_seen) = match place {
        Place::Start | Place::Now => (None, None),
        Place::Behind(cursor) | Place::Decided(cursor, _) => (Some(cursor), None),
        Place::Frames(frames) => (None, Some(frames)),
    };
    let turn = Some(started.turn.clone());
    let catch_up = if matches!(place, Place::Now) { CatchUp::Snapshot } else { CatchUp::Replay };
    let decided = if let Place::Decided(_, last) = place { Some(last) } else { None };
    let options = ReaderOptions { decided, ..ReaderOptions::default() };
    Request { dialect, turn, frames_seen, after, catch_up, options, ..Request::default() }
}

/// Resolves when the turn has its terminal event: the state then.
pub async fn finished(app: &App, caller: &Caller, started: &Started) -> Result<State, Problem> {
    let access = access(app, caller)?;
    app.sessions().wait_for_end(&started.hub, &started.turn, access).await?;
    state(app, started).await
}

/// The state of the turn's session now.
pub async fn state(app: &App, started: &Started) -> Result<State, Problem> {
    Ok(app.sessions().state_at(&started.hub.key, started.hub.head()).await?)
}

/// A turn of this tenant, wherever it is. Forks have copies of it: where it was made comes first.
pub async fn find(app: &App, caller: &Caller, turn: &TurnId) -> Result<Started, Problem> {
    let found = app.log().find_turn(caller.tenant(), turn).await?;
    let mine = |key: &SessionKey| caller.require_session(&key.session).is_ok();
    let record = found.into_iter().find(|record| mine(&record.key)).ok_or_else(not_found)?;
    let hub = app.hubs().get(&record.key).await?.ok_or_else(not_found)?;
    Ok(Started { hub, turn: turn.clone() })
}

/// The turn as one value of the dialect, as it stands now.
pub async fn told(app: &App, started: &Started, dialect: Dialect) -> Result<WholeAnswer, Problem> {
    let mut retry_after = None;
    let projector = project(app, started, dialect, |event, _| {
        if let (Ok(Payload::RateLimitHit(hit)), true) =
            (&event.payload, event.scope.turn_id.as_ref() == Some(&started.turn))
        {
            retry_after = hit.retry_after_ms;
        }
    });
    Ok(match projector.await?.answer() {
        // The turn's error has no word for it; the event before it has.
        WholeAnswer::Failed(failure) if failure.status == 429 => WholeAnswer::Failed(RequestFailure {
            retry_after_seconds: failure
                .retry_after_seconds
                .or(retry_after.map(|millis| millis.div_ceil(1000))),
            ..failure
        }),
        answer => answer,
    })
}

/// Projects the turn from its beginning to its end, or to where it stands now.
pub async fn project(
    app: &App,
    started: &Started,
    dialect: Dialect,
    mut see: impl FnMut(&Event, &Frames) + Send,
) -> Result<Box<dyn Projector>, Problem> {
    let record = app.log().turn(&started.hub.key, &started.turn).await?.ok_or_else(not_found)?;
    let first = record.fact.first;
    // Begun before the turn, so that what it tells is numbered and placed as every reader sees it.
    let mut state = app.sessions().state_at(&started.hub.key, first.previous()).await?;
    let options = ReaderOptions { turn: Some(first), ..ReaderOptions::default() };
    let session = started.hub.dialect_session();
    let mut at = state.sequence;
    let mut projector = dialect.projector(&session, std::mem::take(&mut state), options);
    let (head, mut frames) = (started.hub.head(), Frames::default());
    // A pause is no end: what came behind it belongs to the turn too.
    let has_ended = |projector: &dyn Projector| {
        let ended = |state: &State| {
            let turn = state.turns.iter().find(|turn| turn.turn_id == started.turn);
            turn.is_none_or(|turn| turn.status.is_terminal())
        };
        projector.is_over() && projector.state().is_none_or(ended)
    };
    let mut end = None;
    'log: while at < head {
        let chunks = app.log().read(&started.hub.key, at, riverrun_session::READ_BYTES).await?;
        let Some(last) = chunks.last() else { break };
        at = last.last();
        for chunk in &chunks {
            for (sequence, bytes) in chunk.records_after(projector.sequence()) {
                let Ok(record) = Record::read(bytes) else { continue };
                let Ok(event) = record.to_event(sequence) else { continue };
                let is_own = event.scope.turn_id.as_ref() == Some(&started.turn);
                if !is_own && end.is_none() && has_ended(&*projector) {
                    end = Some(end_of(app, started, head).await?);
                }
                if end.is_some_and(|end| sequence > end) {
                    break 'log;
                }
                frames.clear();
                projector.event(&record, &event, &mut frames);
                see(&event, &frames);
            }
        }
    }
    Ok(projector)
}

/// The turn's last event. Behind it other turns come, and the state that holds them lets this one go; before it may
/// stand an end that a retry took back.
async fn end_of(app: &App, started: &Started, head: Sequence) -> Result<Sequence, Problem> {
    let turn = app.sessions().turn_at(&started.hub.key, head, &started.turn).await?;
    Ok(turn.map_or(Sequence::ZERO, |turn| turn.last_sequence))
}
