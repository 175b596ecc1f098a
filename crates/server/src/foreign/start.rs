//! From a foreign request to a turn in a log, and from the turn to an answer.

use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use http::{HeaderMap, HeaderName, HeaderValue};
use http_body_util::BodyExt;
use riverrun_dialect::registry::Session;
use riverrun_dialect::{Answer, Dialect, Frames, Framing, Options};
use riverrun_event::{ErrorCode, Record, Sequence, SessionId, TurnId};
use riverrun_fold::State;
use riverrun_log::SessionKey;
use riverrun_runner::{Submit, Submitted};
use sha2::{Digest, Sha256};

use crate::app::App;
use crate::deliver::{CatchUp, Request, Subscription, TypePattern, open};
use crate::edge::{Caller, Media, Problem, not_found, stream_response};
use crate::route::{NewSessionBody, create};
use crate::runner::Asked;
use crate::session::Hub;

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
    let mut hash = Sha256::new();
    for part in [caller.tenant().as_str(), route, key] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let hash: [u8; 32] = hash.finalize().into();
    let (session, turn) = hash.split_at(16);
    let sixteen = |bytes: &[u8]| <[u8; 16]>::try_from(bytes).expect("half of thirty-two bytes");
    Ok(Some((SessionId::from_bytes(sixteen(session)), TurnId::from_bytes(sixteen(turn)))))
}

/// Makes or finds the session and submits the turn.
pub async fn start(
    app: &App,
    caller: &Caller,
    session: Option<SessionId>,
    submit: Submit,
) -> Result<(Started, Submitted), Problem> {
    if let Some(agent) = &submit.agent {
        app.agents().check(agent)?;
    }
    let known = match &session {
        Some(id) => {
            caller.require_session(id)?;
            app.log().session(&SessionKey::new(caller.tenant().clone(), id.clone())).await?
        }
        None => None,
    };
    let key = match known {
        Some(record) => record.key,
        None => {
            create(app, caller, NewSessionBody { session_id: session, ..Default::default() }).await?.0.key
        }
    };
    let submitted = app.answered(Asked::Submit, app.runner().submit(&key, submit).await)?;
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

/// The turn's stream in a dialect, to its terminal frame.
pub async fn stream(
    app: &App,
    caller: &Caller,
    started: &Started,
    dialect: Dialect,
    seen: Seen,
) -> Result<Response, Problem> {
    let after = seen.event.map(|sequence| riverrun_event::Cursor::after(sequence, started.hub.origin()));
    let request = Request {
        dialect,
        turn: Some(started.turn.clone()),
        frames_seen: seen.frames,
        after,
        catch_up: seen.catch_up,
        ..Request::default()
    };
    let rules = dialect.rules();
    let (permit, plan) = open(app, &started.hub, caller, &request, rules.framing).await?;
    let hub = started.hub.clone();
    let body = Subscription::new(app.clone(), hub, caller.clone(), permit, plan, request.follow);
    let mut response = stream_response(Media::EventStream, Body::new(body));
    for (name, value) in rules.headers {
        response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    Ok(response)
}

/// Resolves when the turn has its terminal event: the state then.
pub async fn finished(app: &App, caller: &Caller, started: &Started) -> Result<State, Problem> {
    let request = Request {
        turn: Some(started.turn.clone()),
        types: vec![TypePattern::new("turn.*")?],
        ..Request::default()
    };
    let (permit, plan) = open(app, &started.hub, caller, &request, Framing::Ndjson).await?;
    let hub = started.hub.clone();
    let body = Subscription::new(app.clone(), hub, caller.clone(), permit, plan, request.follow);
    let mut body = Body::new(body);
    while let Some(frame) = body.frame().await {
        if frame.is_err() {
            let detail = "the server goes down; the run goes on, ask for it again";
            return Err(Problem::new(ErrorCode::Draining, detail));
        }
    }
    state(app, started).await
}

/// The state of the turn's session now.
pub async fn state(app: &App, started: &Started) -> Result<State, Problem> {
    app.state_at(&started.hub.key, started.hub.head()).await
}

/// A turn of this tenant, wherever it is.
pub async fn find(app: &App, caller: &Caller, turn: &TurnId) -> Result<Started, Problem> {
    let found = app.log().find_turn(caller.tenant(), turn).await?;
    let record = found.into_iter().next().ok_or_else(not_found)?;
    caller.require_session(&record.key.session)?;
    let hub = app.hubs().get(&record.key).await?.ok_or_else(not_found)?;
    Ok(Started { hub, turn: turn.clone() })
}

/// The turn as one value of the dialect, as it stands now.
pub async fn told(app: &App, started: &Started, dialect: Dialect) -> Result<Answer, Problem> {
    let record = app.log().turn(&started.hub.key, &started.turn).await?.ok_or_else(not_found)?;
    let first = record.fact.first;
    // Begun before the turn, so that what it tells is numbered and placed as every reader sees it.
    let mut state = app.state_at(&started.hub.key, first.previous()).await?;
    let options = Options { turn: Some(first), ..Options::default() };
    let session = Session { id: started.hub.session(), incarnation: started.hub.incarnation() };
    let mut at = state.sequence;
    let mut projector = dialect.projector(&session, std::mem::take(&mut state), options);
    let (head, mut frames) = (started.hub.head(), Frames::default());
    while at < head && !projector.is_over() {
        let chunks = app.log().read(&started.hub.key, at, crate::app::READ_BYTES).await?;
        let Some(last) = chunks.last() else { break };
        at = last.last();
        for chunk in &chunks {
            for (sequence, bytes) in chunk.records_after(projector.sequence()) {
                let Ok(record) = Record::read(bytes) else { continue };
                let Ok(event) = record.to_event(sequence) else { continue };
                frames.clear();
                projector.event(&record, &event, &mut frames);
            }
        }
    }
    Ok(projector.answer())
}
