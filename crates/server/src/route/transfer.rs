//! Sessions as files: exported, imported, forked.

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use http::StatusCode;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use riverrun_event::{Decoded, ErrorCode, Record, Sequence, SessionId, decode};
use riverrun_log::SessionKey;
use serde::{Deserialize, Serialize};

use super::json;
use super::sessions::{NewSessionBody, create};
use crate::app::{App, READ_BYTES};
use crate::edge::{Caller, Lines, Problem, Scope, StrictJson, StrictQuery, body_kind, not_found};
use crate::session::{Batch, Hub};
use std::sync::Arc;

/// Events that are stored together while a file is taken in.
const GROUP: usize = 1_000;

/// The whole log, one event a line. The body is cut, not ended, if the log cannot be read to its head.
pub async fn export(
    State(app): State<App>,
    caller: Caller,
    Path(session): Path<String>,
    StrictQuery(()): StrictQuery<()>,
) -> Result<Response, Problem> {
    caller.require(Scope::Read)?;
    let hub = app.hub(&caller, &session).await?;
    let head = app.log().head(&hub.key).await?.ok_or_else(not_found)?;
    let place = (app, hub.clone(), head.first_available.previous(), head.last);
    let pieces = stream::try_unfold(place, async |(app, hub, at, until)| {
        if at >= until {
            return Ok(None);
        }
        let chunks = app.log().read(&hub.key, at, READ_BYTES).await?;
        let (mut out, mut last) = (String::new(), at);
        for chunk in &chunks {
            for (sequence, bytes) in chunk.records_after(at).take_while(|(sequence, _)| *sequence <= until) {
                let record = Record::read(bytes).map_err(|_| riverrun_log::Error::Closed)?;
                hub.composer().write(&record, sequence, &mut out);
                out.push('\n');
                last = sequence;
            }
        }
        if last == at { Err(riverrun_log::Error::Closed) } else { Ok(Some((out, (app, hub, last, until)))) }
    });
    let name = format!("attachment; filename=\"{}.ndjson\"", hub.session());
    let headers = [(CONTENT_TYPE, "application/x-ndjson".to_owned()), (CONTENT_DISPOSITION, name)];
    Ok((headers, Body::from_stream(pieces)).into_response())
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Imported {
    session_id: SessionId,
    events: u64,
    cursor: String,
}

/// Makes a session from an export. Its id is the file's; a session that is there is not touched.
pub async fn import(
    State(app): State<App>,
    caller: Caller,
    StrictQuery(()): StrictQuery<()>,
    request: Request,
) -> Result<Response, Problem> {
    caller.require(Scope::Write)?;
    let (parts, body) = request.into_parts();
    body_kind(&parts.headers)?;
    let mut lines = Lines::new(body, app.edge());
    let Some(first) = next(&mut lines).await? else {
        return Err(Problem::new(ErrorCode::BodyEmpty, "the file has no events"));
    };
    let hub = new_session(&app, &caller, first.session_id.clone()).await?;
    let imported = fill(&app, &hub, first, &mut lines).await;
    if imported.is_err() {
        // Half a session would look like a whole one.
        app.log().delete_session(&hub.key).await?;
        app.hubs().forget(&hub.key);
    }
    let events = imported?;
    let cursor = riverrun_event::Cursor::after(hub.head(), hub.origin()).to_string();
    Ok(json(StatusCode::CREATED, &Imported { session_id: hub.session().clone(), events, cursor }))
}

async fn next(lines: &mut Lines) -> Result<Option<Decoded>, Problem> {
    let Some(line) = lines.next().await? else { return Ok(None) };
    let number = lines.number();
    let decoded =
        decode(&line).map_err(|error| Problem::new(error.code(), error.to_string()).with("line", number));
    decoded.map(Some)
}

async fn new_session(app: &App, caller: &Caller, wanted: Option<SessionId>) -> Result<Arc<Hub>, Problem> {
    if let Some(id) = &wanted {
        let key = SessionKey::new(caller.tenant().clone(), id.clone());
        if app.log().head(&key).await?.is_some() {
            let detail =
                format!("session `{id}` is here already; delete it first, or change the file's sessionId");
            return Err(Problem::new(ErrorCode::SessionExists, detail).field("sessionId"));
        }
    }
    let body = NewSessionBody { session_id: wanted, ..NewSessionBody::default() };
    let (record, _) = create(app, caller, body).await?;
    app.hubs().get(&record.key).await?.ok_or_else(not_found)
}

/// Appends the file's events in order; their sequences must be dense.
async fn fill(app: &App, hub: &Arc<Hub>, first: Decoded, lines: &mut Lines) -> Result<u64, Problem> {
    let offset = first.sequence.map_or(0, |sequence| sequence.get().saturating_sub(1));
    let (mut group, mut count) = (vec![first], 0_u64);
    loop {
        let line = next(lines).await?;
        let at_end = line.is_none();
        if let Some(event) = line {
            let expected = offset + count + group.len() as u64 + 1;
            if event.sequence.is_some_and(|sequence| sequence.get() != expected) {
                let detail = format!("line {}: the file has a hole before this event", lines.number());
                return Err(Problem::new(ErrorCode::InvalidEvent, detail).field("sequence"));
            }
            group.push(event);
        }
        if group.len() >= GROUP || at_end {
            count += group.len() as u64;
            app.append(hub, &Batch { events: std::mem::take(&mut group), ..Batch::default() }).await?;
        }
        if at_end {
            return Ok(count);
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ForkBody {
    at: u64,
    session_id: Option<SessionId>,
}

/// A new session with the first `at` events of this one. What was paid for is not paid again.
pub async fn fork(
    State(app): State<App>,
    caller: Caller,
    Path(session): Path<String>,
    StrictJson(body): StrictJson<ForkBody>,
) -> Result<Response, Problem> {
    caller.require(Scope::Write)?;
    let hub = app.hub(&caller, &session).await?;
    let at = Sequence::new(body.at).filter(|at| *at <= hub.head() && at.get() > 0).ok_or_else(|| {
        let detail = format!("`at` is {}; it may be 1 to {}", body.at, hub.head());
        Problem::new(ErrorCode::CursorAhead, detail).field("at").head(hub.head().get())
    })?;
    let target = new_session(&app, &caller, body.session_id).await?;
    let mut from = Sequence::ZERO;
    while from < at {
        let mut batch = Batch::default();
        for chunk in app.log().read(&hub.key, from, READ_BYTES).await? {
            for (sequence, bytes) in chunk.records_after(from).take_while(|(sequence, _)| *sequence <= at) {
                batch.events.push(decoded(&hub, sequence, bytes)?);
            }
            from = chunk.last();
        }
        app.append(&target, &batch).await?;
    }
    let record = app.log().session(&target.key).await?.ok_or_else(not_found)?;
    Ok(json(StatusCode::CREATED, &super::SessionView::new(record)))
}

fn decoded(hub: &Hub, sequence: Sequence, bytes: &[u8]) -> Result<Decoded, Problem> {
    let damaged = || Problem::new(ErrorCode::LogCorrupt, format!("event {sequence} cannot be read"));
    let record = Record::read(bytes).map_err(|_| damaged())?;
    let mut wire = String::new();
    hub.composer().write(&record, sequence, &mut wire);
    let mut decoded = decode(&wire).map_err(|_| damaged())?;
    // The copy is another event of another log.
    decoded.draft.event_id = None;
    Ok(decoded)
}
