//! A run as JSON: carried to another process and taken up there.

use riverrun_event::{Author, Decoded, Record, Sequence, SessionId, TurnId, decode};
use riverrun_log::SessionSpec;
use riverrun_session::{Batch, Hub, Source, log_time};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::runtime::key;
use super::{Error, Riverrun, RunStream};

/// The version that `to_state` writes, and the only one that `from_state` reads.
pub const STATE_VERSION: &str = "riverrun-run/1";

const READ_BYTES: usize = 256 * 1024;
const GROUP: usize = 500;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Saved {
    #[serde(rename = "$schemaVersion")]
    version: String,
    session_id: SessionId,
    turn_id: TurnId,
    /// The run's first event.
    first: Sequence,
    /// The last event that was handed out.
    seen: Sequence,
    /// The session's whole log, as it goes over a wire.
    events: Vec<Box<RawValue>>,
}

impl RunStream {
    /// The run as JSON: the session's log, and how far it was read. Take it at a pause or at the end; a run that is
    /// saved in the middle is taken up as after a crash, and goes on here as well.
    pub async fn to_state(&self) -> Result<String, Error> {
        let shared = self.shared();
        let hub = shared.hub().await?;
        let log = shared.home().sessions().log();
        let absent =
            || Error::NoRun { session: self.session_id().to_string(), turn: self.turn_id().to_string() };
        let head = log.head(self.key()).await?.ok_or_else(absent)?;
        let (mut at, mut events) = (head.first_available.previous(), Vec::new());
        while at < head.last {
            for chunk in log.read(self.key(), at, READ_BYTES).await? {
                for (sequence, bytes) in chunk.records_after(at) {
                    events.push(wire(&hub, sequence, bytes)?);
                }
                at = chunk.last();
            }
        }
        let saved = Saved {
            version: STATE_VERSION.to_owned(),
            session_id: self.session_id().clone(),
            turn_id: self.turn_id().clone(),
            first: shared.first(),
            seen: shared.seen(),
            events,
        };
        serde_json::to_string(&saved).map_err(|error| Error::State(error.to_string()))
    }
}

fn wire(hub: &Hub, sequence: Sequence, bytes: &[u8]) -> Result<Box<RawValue>, Error> {
    let damaged = || Error::Store(format!("event {sequence} cannot be read"));
    let record = Record::read(bytes).map_err(|_| damaged())?;
    let mut text = String::new();
    hub.composer().write(&record, sequence, &mut text);
    RawValue::from_string(text).map_err(|_| damaged())
}

impl Riverrun {
    /// Takes up a run that was saved, here or in another process. If the session is in this store already, with the
    /// same history, nothing is written.
    pub async fn from_state(&self, state: &str) -> Result<RunStream, Error> {
        let saved = read(state)?;
        let events = saved.decoded()?;
        let key = key(&saved.session_id);
        let head = self.sessions().log().head(&key).await?;
        match head {
            Some(_) => self.same_history(&saved).await?,
            None => self.take_in(&saved, events).await?,
        }
        let run = self.run(&saved.session_id, &saved.turn_id).await?;
        run.shared().note_seen(saved.seen);
        self.runner().wake(&key);
        Ok(run)
    }

    /// The last event of the state must be in the session, at its place.
    async fn same_history(&self, saved: &Saved) -> Result<(), Error> {
        let conflict = || Error::StateConflict(saved.session_id.to_string());
        let key = key(&saved.session_id);
        let hub = self.sessions().hubs().get(&key).await?.ok_or_else(conflict)?;
        let last = saved.events.last().map(|raw| raw.get()).unwrap_or_default();
        let place = decode(last).ok().and_then(|event| event.sequence).ok_or_else(conflict)?;
        let chunks = self.sessions().log().read(&key, place.previous(), 1).await?;
        let mut records = chunks.iter().flat_map(|chunk| chunk.records_after(place.previous()));
        let (sequence, bytes) = records.next().ok_or_else(conflict)?;
        if wire(&hub, sequence, bytes)?.get() == last { Ok(()) } else { Err(conflict()) }
    }

    async fn take_in(&self, saved: &Saved, events: Vec<Decoded>) -> Result<(), Error> {
        let key = key(&saved.session_id);
        let first = events.first().and_then(|event| event.sequence);
        let new = SessionSpec {
            status: "idle".to_owned(),
            created_at: log_time(self.sessions().now()),
            start_after: first.map_or(Sequence::ZERO, Sequence::previous),
            ..SessionSpec::default()
        };
        self.sessions().log().create_session(&key, new).await?;
        let hub = self.sessions().hubs().get(&key).await?.ok_or(Error::Closed)?;
        for group in events.chunks(GROUP) {
            let batch = Batch { events: group.to_vec(), ..Batch::default() };
            if let Err(error) = self.sessions().append(Source::Ingest, &hub, &batch).await {
                // Half a session would look like a whole one.
                self.sessions().delete(&hub).await?;
                return Err(error.into());
            }
        }
        Ok(())
    }
}

fn read(state: &str) -> Result<Saved, Error> {
    let wrong = |error: serde_json::Error| Error::State(error.to_string());
    // The version is read first: another one may have other members.
    let any: Value = serde_json::from_str(state).map_err(wrong)?;
    match any.get("$schemaVersion").and_then(Value::as_str) {
        Some(STATE_VERSION) => serde_json::from_str(state).map_err(wrong),
        Some(other) => Err(Error::StateVersion { found: other.chars().take(64).collect() }),
        None => Err(Error::State("it has no `$schemaVersion`".to_owned())),
    }
}

impl Saved {
    /// The events, dense and of one session.
    fn decoded(&self) -> Result<Vec<Decoded>, Error> {
        let mut place: Option<Sequence> = None;
        let mut events = Vec::with_capacity(self.events.len());
        for (number, raw) in self.events.iter().enumerate() {
            let wrong = |what: String| Error::State(format!("events[{number}]: {what}"));
            // The program that embeds the runner vouches for what it saved, as for its own code.
            let event = decode(raw.get()).map_err(|error| wrong(error.to_string()))?.by(Author::Runner);
            let found = event.sequence.ok_or_else(|| wrong("it has no sequence".to_owned()))?;
            if place.is_some_and(|before| before.next() != Some(found)) {
                return Err(wrong(format!("a hole is before sequence {found}")));
            }
            if event.session_id.as_ref() != Some(&self.session_id) {
                return Err(wrong("it is of another session".to_owned()));
            }
            place = Some(found);
            events.push(event);
        }
        if events.is_empty() { Err(Error::State("it has no events".to_owned())) } else { Ok(events) }
    }
}
