//! Sessions as files: exported, imported, forked.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, StatusCode};
use riverrun_event::{Author, Cursor, Decoded, ErrorCode, Record, Sequence, SessionId, TurnId, decode};
use riverrun_log::seeded::{self, Bug};
use riverrun_log::{Digest, SessionKey};
use riverrun_runner::CopyReason;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::idempotency::{self, Attempt, stored_answer};
use super::ingest::{refuse_stream_type, store_once};
use super::json;
use super::sessions::create_empty;
use crate::app::App;
use crate::edge::{
    Caller, CompactJson, FromParams, Lines, Media, Params, PathId, Problem, Scope, StrictQuery, body_kind,
    decode_text, negotiate, not_found, stream_response,
};
use riverrun_session::READ_BYTES;
use riverrun_session::{Batch, Hub};
use riverrun_session::{Job, JobFailure};

/// Events, and about as many bytes of them, that are stored together while a file is taken in.
const GROUP: usize = 1_000;
const GROUP_BYTES: usize = 1 << 20;
/// An export of more events is recorded as a job.
const LONG_EXPORT: u64 = 1_000;

/// The whole log, one event a line. The body is cut, not ended, if the log cannot be read to its head.
pub async fn export(
    State(app): State<App>,
    caller: Caller,
    PathId(session): PathId,
    StrictQuery(()): StrictQuery<()>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    caller.require(Scope::Read)?;
    negotiate(&headers, &[Media::Ndjson])?;
    let hub = app.hub(&caller, &session).await?;
    let head = app.log().head(&hub.key).await?.ok_or_else(not_found)?;
    let first = head.first_available.previous();
    let count = head.last.get().saturating_sub(first.get());
    let job = match count > LONG_EXPORT {
        true => Some(
            Job::begin(app.sessions(), caller.tenant(), &format!("export of {}", hub.session()), Some(count))
                .await,
        ),
        false => None,
    };
    let place = (app, hub.clone(), first, head.last, job);
    let pieces = stream::try_unfold(
        place,
        async |(app, hub, at, until, mut job): (App, Arc<Hub>, Sequence, Sequence, Option<Job>)| {
            if at >= until {
                if let Some(job) = job {
                    job.complete().await;
                }
                return Ok(None);
            }
            let chunks = app.log().read(&hub.key, at, READ_BYTES).await?;
            let (mut out, mut last) = (String::new(), at);
            for chunk in &chunks {
                for (sequence, bytes) in
                    chunk.records_after(at).take_while(|(sequence, _)| *sequence <= until)
                {
                    let record = Record::read(bytes).map_err(|_| riverrun_log::LogError::Closed)?;
                    hub.composer().write(&record, sequence, &mut out);
                    out.push('\n');
                    last = sequence;
                }
            }
            if let Some(job) = &mut job {
                job.add(last.get().saturating_sub(at.get())).await;
            }
            if last == at {
                Err(riverrun_log::LogError::Closed)
            } else {
                Ok(Some((out, (app, hub, last, until, job))))
            }
        },
    );
    let name = format!("attachment; filename=\"{}.ndjson\"", hub.session());
    // Written as a stream, so that an export that is cut is never announced as a connection that ends with it.
    let mut response = stream_response(Media::Ndjson, Body::from_stream(pieces));
    if let Ok(name) = HeaderValue::from_str(&name) {
        response.headers_mut().insert(CONTENT_DISPOSITION, name);
    }
    Ok(response)
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Imported {
    session_id: SessionId,
    /// Those of the file.
    events: u64,
    /// Behind the last event of the file.
    cursor: String,
    /// Turns that were open in the file. What ends them stands behind its events.
    ended_turns: Vec<TurnId>,
}

/// Under which id a file is imported, if not under its own.
#[derive(Debug)]
pub struct ImportQuery {
    session: Option<SessionId>,
}

impl FromParams for ImportQuery {
    const NAMES: &'static [&'static str] = &["session"];
    fn from_params(params: &Params) -> Result<Self, Problem> {
        Ok(Self { session: params.parsed("session")? })
    }
}

/// Makes a session from an export. A session that is there is not touched.
pub async fn import(
    State(app): State<App>,
    caller: Caller,
    StrictQuery(query): StrictQuery<ImportQuery>,
    request: Request,
) -> Result<Response, Problem> {
    caller.require(Scope::Write)?;
    let (parts, body) = request.into_parts();
    body_kind(&parts.headers)?;
    let route = match &query.session {
        Some(session) => format!("POST /v1/import?session={session}"),
        None => "POST /v1/import".to_owned(),
    };
    let attempt = idempotency::begin(&app, &caller, &parts.headers, &route).await?;
    let lines = Lines::new(body, app.edge(), Some(caller.tenant().clone()));
    let mut file = File { lines, read: Sha256::new() };
    if let Some(attempt) = attempt.as_ref().filter(|attempt| attempt.is_known()) {
        while file.line().await?.is_some() {}
        if let Some(again) = idempotency::repeated_attempt(attempt, &file.digest())? {
            return Ok(again);
        }
    }
    let Some(first) = file.event().await? else {
        return Err(Problem::new(ErrorCode::BodyEmpty, "the file has no events"));
    };
    if !seeded::is_on(Bug::QuotaBlindImport) {
        app.edge().take_events(&caller, 1)?;
    }
    // The places of an export are kept, also of one whose beginning was retired.
    let start_after = first.sequence.map_or(Sequence::ZERO, Sequence::previous);
    let wanted = query.session.or_else(|| first.session_id.clone());
    let hub = new_session(&app, &caller, wanted, start_after).await?;
    let mut job =
        Job::begin(app.sessions(), caller.tenant(), &format!("import of {}", hub.session()), None).await;
    job.begin_item(hub.session().as_str()).await;
    match fill(&app, &hub, first, &mut file, attempt.as_ref(), &mut job).await {
        Ok(imported) => {
            job.end_item(None).await;
            job.advance(imported.events).await;
            job.complete().await;
            if !seeded::is_on(Bug::QuotaBlindImport) {
                app.edge().charge_events(&caller, imported.events.saturating_sub(1));
            }
            Ok(json(StatusCode::CREATED, &imported))
        }
        Err(problem) => {
            if file.lines.is_cut() {
                job.cancel("the file broke off").await;
            } else {
                job.fail(&JobFailure::from(&problem)).await;
            }
            discard(&app, &hub).await?;
            Err(problem)
        }
    }
}

/// Half a session would look like a whole one.
async fn discard(app: &App, hub: &Arc<Hub>) -> Result<(), Problem> {
    app.sessions().delete(hub).await?;
    Ok(())
}

/// The events of a file, while it arrives.
struct File {
    lines: Lines,
    read: Sha256,
}

impl File {
    async fn line(&mut self) -> Result<Option<String>, Problem> {
        let line = self.lines.next().await?;
        if let Some(line) = &line {
            self.read.update(line.as_bytes());
            self.read.update(b"\n");
        }
        Ok(line)
    }

    async fn event(&mut self) -> Result<Option<Decoded>, Problem> {
        let Some(line) = self.line().await? else { return Ok(None) };
        let author = if seeded::is_on(Bug::ImportGrantsRules) { Author::Runner } else { Author::Copied };
        let decoded = decode(&line).map(|event| event.by(author)).map_err(|error| {
            let problem = Problem::new(error.code(), error.to_string()).with("line", self.lines.number());
            match error.field() {
                Some(field) => problem.field(field),
                None => problem,
            }
        })?;
        refuse_stream_type(&decoded).map_err(|problem| problem.with("line", self.lines.number()))?;
        Ok(Some(decoded))
    }

    /// Of everything that was read.
    fn digest(&self) -> Digest {
        self.read.clone().finalize().into()
    }

    fn refuse(&self, field: &'static str, what: &str) -> Problem {
        let number = self.lines.number();
        Problem::new(ErrorCode::InvalidEvent, format!("line {number}: {what}"))
            .field(field)
            .with("line", number)
    }
}

/// A session that nobody had before, with an empty log behind `start_after`.
async fn new_session(
    app: &App,
    caller: &Caller,
    wanted: Option<SessionId>,
    start_after: Sequence,
) -> Result<Arc<Hub>, Problem> {
    let made = create_empty(app, caller, wanted, start_after).await?;
    if !made.new {
        let id = &made.record.key.session;
        let detail = format!("session `{id}` is here already; delete it first, or give another id");
        return Err(Problem::new(ErrorCode::SessionExists, detail).field("sessionId"));
    }
    app.hubs().get(&made.record.key).await?.ok_or_else(not_found)
}

/// Appends the file's events in order; their sequences must be dense. The answer is stored with the last of them, and
/// so is what ends the turns that are open: there is no moment at which they could be run here.
async fn fill(
    app: &App,
    hub: &Arc<Hub>,
    first: Decoded,
    file: &mut File,
    attempt: Option<&Attempt>,
    job: &mut Job,
) -> Result<Imported, Problem> {
    let mut place = first.sequence.unwrap_or(Sequence::new(1).unwrap_or_default());
    let of = first.session_id.clone().unwrap_or_else(|| hub.session().clone());
    let mut open = app.runner().copied_turns(CopyReason::Imported);
    open.follow(&first, place);
    let (mut group, mut bytes, mut events) = (vec![first], 0, 1_u64);
    loop {
        let next = file.event().await?;
        if let Some(event) = &next {
            place = place
                .next()
                .ok_or_else(|| file.refuse("sequence", "there is no sequence behind the last one"))?;
            events += 1;
            if event.sequence.is_some_and(|sequence| sequence != place) {
                return Err(file.refuse("sequence", "the file has a hole before this event"));
            }
            if event.session_id.as_ref().is_some_and(|session| *session != of) {
                return Err(file.refuse("sessionId", "the event is of another session than the first"));
            }
            open.follow(event, place);
            bytes += event.draft.size();
        }
        let full = group.len() >= GROUP || bytes >= GROUP_BYTES;
        if let (Some(event), false) = (&next, full) {
            group.push(event.clone());
            continue;
        }
        if let Some(event) = next {
            store_once(app, hub, std::mem::take(&mut group), None, None).await?;
            job.advance(events).await;
            bytes = event.draft.size();
            group.push(event);
            continue;
        }
        let (endings, ended_turns) = open.end();
        group.extend(endings);
        let cursor = Cursor::after(place, hub.origin()).to_string();
        let imported = Imported { session_id: hub.session().clone(), events, cursor, ended_turns };
        let record = attempt.map(|attempt| {
            let body = serde_json::to_string(&imported).expect("a view has string keys");
            attempt.record(file.digest(), stored_answer(201, &body))
        });
        store_once(app, hub, group, None, record).await?;
        return Ok(imported);
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ForkBody {
    at: u64,
    session_id: Option<SessionId>,
}

/// A new session with the first `at` events of this one. What was paid for is not paid again, and what was decided there
/// is decided anew: the copy of a rule or of a decision authorises nothing.
pub async fn fork(
    State(app): State<App>,
    caller: Caller,
    PathId(session): PathId,
    StrictQuery(()): StrictQuery<()>,
    headers: HeaderMap,
    CompactJson(text): CompactJson,
) -> Result<Response, Problem> {
    caller.require(Scope::Write)?;
    let hub = app.hub(&caller, &session).await?;
    let attempt =
        idempotency::begin(&app, &caller, &headers, &format!("POST /v1/sessions/{session}/fork")).await?;
    let digest = idempotency::digest(text.as_bytes());
    if let Some(again) =
        attempt.as_ref().map(|attempt| idempotency::repeated_attempt(attempt, &digest)).transpose()?.flatten()
    {
        return Ok(again);
    }
    let body: ForkBody = decode_text(&text)?;
    let at = fork_place(&hub, body.at)?;
    app.edge().take_events(&caller, 1)?;
    let mut wanted = body.session_id;
    if let (None, Some(attempt)) = (&wanted, &attempt) {
        let id = SessionId::from_bytes(attempt.id(&digest));
        // Nobody else can have this id: it is what a crash left of the same request.
        let key = SessionKey::new(caller.tenant().clone(), id.clone());
        if let Some(left) = app.hubs().get(&key).await? {
            app.sessions().delete(&left).await?;
        }
        wanted = Some(id);
    }
    let target = forked(&app, &caller, &hub, at, wanted, |_, _| true).await?;
    app.edge().charge_events(&caller, at.get().saturating_sub(1));
    let record = app.log().session(&target.key).await?.ok_or_else(not_found)?;
    let view = serde_json::to_string(&super::SessionView::new(record)).expect("a view has string keys");
    if let Some(attempt) = &attempt {
        attempt.remember(app.services(), digest, 201, &view).await?;
    }
    Ok((StatusCode::CREATED, [(CONTENT_TYPE, "application/json")], view).into_response())
}

/// A new session with those of the first `at` events of this one that are wanted.
pub(crate) async fn forked(
    app: &App,
    caller: &Caller,
    hub: &Hub,
    at: Sequence,
    session: Option<SessionId>,
    is_wanted: impl FnMut(Sequence, &Decoded) -> bool + Send,
) -> Result<Arc<Hub>, Problem> {
    let target = new_session(app, caller, session, Sequence::ZERO).await?;
    if let Err(problem) = copy(app, hub, at, &target, is_wanted).await {
        discard(app, &target).await?;
        return Err(problem);
    }
    Ok(target)
}

fn fork_place(hub: &Hub, at: u64) -> Result<Sequence, Problem> {
    let head = hub.head();
    match Sequence::new(at) {
        Some(Sequence::ZERO) | None => {
            let detail = format!("`at` is {at}; a fork has at least one event, so it may be 1 to {head}");
            Err(Problem::new(ErrorCode::InvalidField, detail).field("at"))
        }
        Some(at) if at > head => {
            let detail = format!("`at` is {at}, the log ends at {head}");
            Err(Problem::new(ErrorCode::CursorAhead, detail).field("at").head(head.get()))
        }
        Some(at) => Ok(at),
    }
}

/// Appends those of the first `at` events of one log that are wanted to another.
async fn copy(
    app: &App,
    hub: &Hub,
    at: Sequence,
    target: &Hub,
    mut is_wanted: impl FnMut(Sequence, &Decoded) -> bool + Send,
) -> Result<(), Problem> {
    let (mut from, mut place) = (Sequence::ZERO, Sequence::ZERO);
    let mut open = app.runner().copied_turns(CopyReason::Forked);
    while from < at {
        let (mut batch, before) = (Batch::default(), from);
        for chunk in app.log().read(&hub.key, from, READ_BYTES).await? {
            for (sequence, bytes) in chunk.records_after(from).take_while(|(sequence, _)| *sequence <= at) {
                let event = decoded(hub, sequence, bytes)?;
                if is_wanted(sequence, &event) {
                    place = place.next().unwrap_or(Sequence::MAX);
                    open.follow(&event, place);
                    batch.events.push(event);
                }
            }
            from = chunk.last();
        }
        if from == before {
            return Err(Problem::new(
                ErrorCode::LogCorrupt,
                format!("the log cannot be read behind event {from}"),
            ));
        }
        if !batch.events.is_empty() {
            app.append(target, &batch).await?;
        }
    }
    let (events, _) = open.end();
    if !events.is_empty() {
        app.append(target, &Batch { events, ..Batch::default() }).await?;
    }
    Ok(())
}

fn decoded(hub: &Hub, sequence: Sequence, bytes: &[u8]) -> Result<Decoded, Problem> {
    let damaged = || Problem::new(ErrorCode::LogCorrupt, format!("event {sequence} cannot be read"));
    let record = Record::read(bytes).map_err(|_| damaged())?;
    let mut wire = String::new();
    hub.composer().write(&record, sequence, &mut wire);
    let mut decoded = decode(&wire).map_err(|_| damaged())?;
    // The copy is another event of another log.
    decoded.draft.event_id = None;
    Ok(decoded.by(if seeded::is_on(Bug::ForkRevivesRules) { record.author } else { Author::Copied }))
}
