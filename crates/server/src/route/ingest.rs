//! Events from other frameworks, recordings and producers of one's own. Acknowledged only when durable.

use std::borrow::Cow;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use riverrun_dialect::task::FrameReader;
use riverrun_event::{Author, Cursor, Decoded, ErrorCode, EventType, ProducerId, decode};
use riverrun_log::seeded::{self, Bug};
use riverrun_log::{AppendStamp, IdempotencyRecord};
use serde_json::value::RawValue;

use super::idempotency;
use crate::app::App;
use crate::deliver::one_of;
use crate::edge::{
    BodyKind, Caller, FromParams, Lines, Media, Params, PathId, Problem, Scope, StrictQuery, body_kind,
    compact, negotiate, read_all,
};
use riverrun_session::{Batch, Hub, Landed, StoredAnswer, spill_large};

/// Events in one request, or in one group of lines that is acknowledged together.
const MAX_EVENTS: usize = 10_000;
const MAX_GROUP: usize = 1_000;

/// The words of what is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Published {
    Native,
    /// AgentLin's `task.*` frames.
    Task,
}

impl FromParams for Published {
    const NAMES: &'static [&'static str] = &["dialect"];
    fn from_params(params: &Params) -> Result<Self, Problem> {
        match params.get("dialect") {
            None | Some("native") => Ok(Published::Native),
            Some("task") => Ok(Published::Task),
            Some(other) => Err(one_of("dialect", other, "native, task")),
        }
    }
}

/// Reads what is published, in its order.
pub(crate) enum EventReader {
    Native,
    Task(Box<FrameReader>),
}

impl EventReader {
    async fn new(published: Published, app: &App, hub: &Hub) -> Result<Self, Problem> {
        Ok(match published {
            Published::Native => Self::Native,
            Published::Task => {
                let state = app.sessions().state_at(&hub.key, hub.head()).await?;
                Self::Task(Box::new(FrameReader::new(&state)))
            }
        })
    }
}

pub async fn ingest(
    State(app): State<App>,
    caller: Caller,
    PathId(session): PathId,
    StrictQuery(published): StrictQuery<Published>,
    request: Request,
) -> Result<Response, Problem> {
    caller.require(Scope::Write)?;
    let (parts, body) = request.into_parts();
    let kind = body_kind(&parts.headers)?;
    let answers = match kind {
        BodyKind::Json => Media::Json,
        BodyKind::Ndjson => Media::Ndjson,
    };
    negotiate(&parts.headers, &[answers])?;
    let producer = producer(&parts.headers)?;
    let hub = app.hub(&caller, &session).await?;
    let reader = EventReader::new(published, &app, &hub).await?;
    match kind {
        BodyKind::Json => {
            let limits = app.edge().limits();
            let bytes = read_all(app.edge(), &parts, body).await?;
            let text = compact(&bytes, &limits.json)?;
            whole(&app, &caller, &hub, &parts.headers, (&text, reader), producer).await
        }
        BodyKind::Ndjson if parts.headers.contains_key("idempotency-key") => {
            let detail = "lines are stored while they arrive; number them with `Producer-Id` and `Producer-Seq` instead";
            Err(Problem::new(ErrorCode::InvalidRequest, detail).field("Idempotency-Key"))
        }
        BodyKind::Ndjson => {
            let lines = Lines::new(body, app.edge(), Some(caller.tenant().clone()));
            follow_lines(Producing { app, caller, hub, lines, reader, producer, failed: None }).await
        }
    }
}

/// Stores a body that came whole, all of it or nothing.
async fn whole(
    app: &App,
    caller: &Caller,
    hub: &Hub,
    headers: &HeaderMap,
    (text, mut reader): (&str, EventReader),
    producer: Option<AppendStamp>,
) -> Result<Response, Problem> {
    let mut attempt = None;
    if idempotency::has_key(headers) {
        let route = format!("POST /v1/sessions/{}/events", hub.session());
        attempt = idempotency::begin(app, caller, headers, &route).await?;
    }
    let mut record = None;
    if let Some(attempt) = &attempt {
        let digest = idempotency::digest(text.as_bytes());
        if let Some(again) = idempotency::repeated_attempt(attempt, &digest)? {
            return Ok(again);
        }
        record = Some(attempt.record(digest, Bytes::new()));
    }
    let events = decode_all(caller, hub, text, &mut reader)?;
    app.edge().take_events(caller, events.len())?;
    let landed = store_once(app, hub, events, producer, record).await?;
    let status = if landed.duplicate { StatusCode::OK } else { StatusCode::CREATED };
    Ok((status, [(CONTENT_TYPE, "application/json")], answer(hub, &landed)).into_response())
}

/// `Producer-Id`, `Producer-Epoch` and `Producer-Seq` come together or not at all.
fn producer(headers: &HeaderMap) -> Result<Option<AppendStamp>, Problem> {
    let text = |name: &'static str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let (id, epoch, sequence) = (text("producer-id"), text("producer-epoch"), text("producer-seq"));
    let (id, epoch, sequence) = match (id, epoch, sequence) {
        (None, None, None) => return Ok(None),
        (Some(id), epoch, Some(sequence)) => (id, epoch.unwrap_or("0"), sequence),
        (Some(_), _, None) => {
            return Err(bad_producer("Producer-Seq", "it is missing: number the appends 0, 1, 2, …"));
        }
        (None, _, _) => {
            return Err(bad_producer("Producer-Id", "it is missing beside the other producer headers"));
        }
    };
    let id = ProducerId::new(id).map_err(|error| bad_producer("Producer-Id", &error.to_string()))?;
    let number = |name: &'static str, text: &str| {
        let plain = text.bytes().all(|b| b.is_ascii_digit());
        let number = text.parse::<u64>().ok().filter(|number| plain && *number < 1 << 53);
        number.ok_or_else(|| bad_producer(name, "it must be a whole number from 0 on"))
    };
    Ok(Some(AppendStamp {
        id,
        epoch: number("Producer-Epoch", epoch)?,
        sequence: number("Producer-Seq", sequence)?,
    }))
}

fn bad_producer(field: &'static str, reason: &str) -> Problem {
    Problem::new(ErrorCode::InvalidField, format!("`{field}`: {reason}")).field(field)
}

/// One event, or an array of them. All are checked before any is stored.
pub(crate) fn decode_all(
    caller: &Caller,
    hub: &Hub,
    text: &str,
    reader: &mut EventReader,
) -> Result<Vec<Decoded>, Problem> {
    if !text.starts_with('[') {
        return Ok(vec![decode_one(caller, hub, text, reader).map_err(|problem| problem.with("index", 0))?]);
    }
    let parts: Vec<&RawValue> = serde_json::from_str(text).map_err(|error| {
        Problem::new(ErrorCode::InvalidRequest, format!("not an array of events: {error}"))
    })?;
    if parts.is_empty() {
        return Err(Problem::new(ErrorCode::BodyEmpty, "the array has no events; send at least one"));
    }
    if parts.len() > MAX_EVENTS {
        let detail = format!("{} events in one request; send at most {MAX_EVENTS}", parts.len());
        return Err(Problem::new(ErrorCode::BodyTooLarge, detail).limit(MAX_EVENTS as u64));
    }
    let one = |(index, part): (usize, &&RawValue)| {
        decode_one(caller, hub, part.get(), reader).map_err(|problem| problem.with("index", index))
    };
    parts.iter().enumerate().map(one).collect()
}

fn decode_one(caller: &Caller, hub: &Hub, text: &str, reader: &mut EventReader) -> Result<Decoded, Problem> {
    let native = match reader {
        EventReader::Native => Cow::Borrowed(text),
        EventReader::Task(frames) => Cow::Owned(frames.event(text).map_err(|error| {
            let problem = Problem::new(ErrorCode::InvalidEvent, error.to_string());
            match error.field() {
                Some(field) => problem.field(field),
                None => problem,
            }
        })?),
    };
    let decoded = decode(&native).map_err(|error| {
        let problem = Problem::new(error.code(), error.to_string());
        match error.field() {
            Some(field) => problem.field(field),
            None => problem,
        }
    })?;
    if let Some(other) = decoded.session_id.as_ref().filter(|id| *id != hub.session()) {
        let detail = format!("the event says session `{other}`, the path says `{}`", hub.session());
        return Err(Problem::new(ErrorCode::InvalidEvent, detail).field("sessionId"));
    }
    may_decide(caller, &decoded)?;
    refuse_stream_type(&decoded)?;
    Ok(decoded.by(author(caller, text)))
}

/// By the caller's key alone: nothing that an event says makes it the word of somebody else.
fn author(caller: &Caller, text: &str) -> Author {
    if seeded::is_on(Bug::TrustAuthorInPayload) && text.contains("\"author\":\"runner\"") {
        return Author::Runner;
    }
    if caller.has(Scope::Approve) { Author::Approver } else { Author::Writer }
}

/// `stream.*` are the server's own words about a connection. In the log they would reach readers as if the server had
/// said them.
pub(crate) fn refuse_stream_type(decoded: &Decoded) -> Result<(), Problem> {
    let kind = decoded.draft.kind.as_str();
    if !kind.starts_with("stream.") || seeded::is_on(Bug::StoreStreamTypes) {
        return Ok(());
    }
    let shown: String = kind.chars().take(64).collect();
    let detail = format!(
        "`{shown}`: types that begin with `stream.` are written by the server about a connection and are never \
         stored; give a type of your own the prefix `x.`"
    );
    Err(Problem::new(ErrorCode::InvalidEvent, detail).field("type"))
}

/// Whoever writes a decision into the log decides: that takes the scope that a decision takes.
fn may_decide(caller: &Caller, decoded: &Decoded) -> Result<(), Problem> {
    let kind = &decoded.draft.kind;
    let is_decision = matches!(kind, EventType::ActionResolved | EventType::PolicyChanged);
    if !is_decision || caller.has(Scope::Approve) {
        return Ok(());
    }
    let detail = format!("`{}` is a decision: this needs a key with scope `approve` too", kind.as_str());
    Err(Problem::new(ErrorCode::Forbidden, detail).field("type").with("scope", Scope::Approve.as_str()))
}

/// Puts large strings into the blob store, then appends.
pub async fn store(
    app: &App,
    hub: &Hub,
    events: Vec<Decoded>,
    producer: Option<AppendStamp>,
) -> Result<Landed, Problem> {
    store_once(app, hub, events, producer, None).await
}

pub(super) async fn store_once(
    app: &App,
    hub: &Hub,
    mut events: Vec<Decoded>,
    producer: Option<AppendStamp>,
    idempotency: Option<IdempotencyRecord>,
) -> Result<Landed, Problem> {
    let facts = spill_large(app.sessions(), hub, &mut events).await?;
    let (idempotency, answer) = (idempotency.into_iter().collect(), Some(stored as StoredAnswer));
    app.append(hub, &Batch { events, producer, idempotency, answer, facts, ..Batch::default() }).await
}

/// The answer as it is stored beside the events.
fn stored(hub: &Hub, landed: &Landed) -> Bytes {
    idempotency::stored_answer(201, &answer(hub, landed))
}

pub fn answer(hub: &Hub, landed: &Landed) -> String {
    // Whatever its place is, it is at or before the head.
    let cursor = Cursor::after(landed.place.map_or_else(|| hub.head(), |(_, last)| last), hub.origin());
    let duplicate = if landed.duplicate { ",\"duplicate\":true" } else { "" };
    match landed.place {
        Some((first, last)) => {
            format!("{{\"first\":{first},\"last\":{last},\"cursor\":\"{cursor}\"{duplicate}}}")
        }
        None => format!("{{\"cursor\":\"{cursor}\"{duplicate}}}"),
    }
}

/// A body of lines that is stored while it arrives.
struct Producing {
    app: App,
    caller: Caller,
    hub: Arc<Hub>,
    lines: Lines,
    reader: EventReader,
    producer: Option<AppendStamp>,
    /// Why the last group was not stored whole; told behind the answers for what was.
    failed: Option<Problem>,
}

impl Producing {
    /// Stores the lines that are at hand, and answers for them. None at the end of the body.
    async fn group(&mut self) -> Result<Option<String>, Problem> {
        if let Some(problem) = self.failed.take() {
            return Err(problem);
        }
        let events = self.gather().await?;
        if events.is_empty() {
            return Ok(None);
        }
        self.app.edge().take_events(&self.caller, events.len())?;
        if let Some(producer) = self.producer.clone() {
            return self.numbered(producer, events).await.map(Some);
        }
        let landed = store(&self.app, &self.hub, events, None).await?;
        Ok(Some(answer(&self.hub, &landed)))
    }

    /// A producer's lines are numbered one by one: how they arrive together is chance, and a retry must find the
    /// same numbers on the same lines.
    async fn numbered(&mut self, mut stamp: AppendStamp, events: Vec<Decoded>) -> Result<String, Problem> {
        let mut batches = Vec::with_capacity(events.len());
        for event in events {
            let mut events = vec![event];
            let facts = spill_large(self.app.sessions(), &self.hub, &mut events).await?;
            batches.push(Batch { events, producer: Some(stamp.clone()), facts, ..Batch::default() });
            stamp.sequence += 1;
        }
        let (landed, problem) = self.app.append_run(&self.hub, &batches).await;
        if let Some(producer) = &mut self.producer {
            producer.sequence += landed.len() as u64;
        }
        let answers: Vec<_> = landed.iter().map(|landed| answer(&self.hub, landed)).collect();
        match problem {
            Some(problem) if answers.is_empty() => return Err(problem),
            // It comes before whatever was wrong with a line behind it.
            Some(problem) => self.failed = Some(problem),
            None => {}
        }
        Ok(answers.join("\n"))
    }

    /// Decodes the lines that are at hand.
    async fn gather(&mut self) -> Result<Vec<Decoded>, Problem> {
        let mut events = Vec::with_capacity(self.lines.guess().min(MAX_GROUP));
        while events.len() < MAX_GROUP {
            if !events.is_empty() && !self.lines.has_more().await {
                break;
            }
            let (caller, hub, reader) = (&self.caller, &self.hub, &mut self.reader);
            let line = self.lines.read_next(|line| decode_one(caller, hub, line, reader)).await;
            let number = self.lines.number();
            let line = line.and_then(|line| line.transpose().map_err(|problem| problem.with("line", number)));
            match line {
                Ok(Some(event)) => events.push(event),
                Ok(None) => break,
                // Numbered lines stand each for itself: those before a bad one are stored.
                Err(problem) if self.producer.is_some() && !events.is_empty() => {
                    self.failed = Some(problem);
                    break;
                }
                Err(problem) => return Err(problem),
            }
        }
        Ok(events)
    }
}

/// Answers one line for each group, when it is durable. What was acknowledged before a bad line stays stored.
async fn follow_lines(mut producing: Producing) -> Result<Response, Problem> {
    let Some(first) = producing.group().await? else {
        return Err(Problem::new(ErrorCode::BodyEmpty, "the body has no lines; send one event per line"));
    };
    if producing.lines.is_over() && producing.failed.is_none() {
        return Ok((StatusCode::OK, [(CONTENT_TYPE, "application/x-ndjson")], first + "\n").into_response());
    }
    let (sender, receiver) = tokio::sync::mpsc::channel(16);
    tokio::spawn(produce(producing, first, sender));
    let lines = stream::unfold(receiver, async |mut receiver| {
        let line: Option<String> = receiver.recv().await;
        line.map(|line| (Ok::<_, std::convert::Infallible>(line), receiver))
    });
    let body = Body::from_stream(lines);
    Ok((StatusCode::OK, [(CONTENT_TYPE, "application/x-ndjson")], body).into_response())
}

/// Goes on with the body, whether or not the producer reads the answers: what it sent is stored.
async fn produce(mut producing: Producing, first: String, answers: tokio::sync::mpsc::Sender<String>) {
    let mut line = first;
    loop {
        // A producer that no longer listens still gets its lines stored; it asks again with its sequence.
        let _ = answers.send(line + "\n").await;
        match producing.group().await {
            Ok(Some(next)) => line = next,
            Ok(None) => return,
            Err(problem) => {
                let _ = answers.send(format!("{}\n", problem.to_json(None))).await;
                return;
            }
        }
    }
}
