//! `riverrun play FILE`: sends a recording through ingest and keeps its time.

mod recording;

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use riverrun_client::operations::{CreateSessionRequest, GetSessionRequest};
use riverrun_client::{Appended, Client, Producer};
use riverrun_event::{ErrorCode, ProducerId, SessionId};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::connect::session_id;
use super::exit::{Exit, Failure, Outcome};
use super::{Context, duration, import};
use recording::{Line, Recording};

#[derive(Debug, Args)]
pub struct PlayArgs {
    /// A recording: one event per line, with timestamps; `-` reads stdin.
    file: PathBuf,
    /// How fast: 1x, 4x, 0.5x, or max for no pauses.
    #[arg(long, default_value = "1x", value_parser = parse_speed)]
    speed: Speed,
    /// Into this session; it is made if it does not exist.
    #[arg(long, value_name = "ID")]
    session: Option<SessionId>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Speed {
    Times(f64),
    Max,
}

/// At most so many events in one request.
const BATCH: usize = 100;
/// Pauses beyond this are cut: nobody waits an hour for a demonstration.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

pub async fn run(args: PlayArgs, context: &Context) -> Outcome {
    let bytes = import::read(&args.file)?;
    let recording = Recording::read(&bytes).map_err(|e| {
        Failure::new(Exit::Usage, format_args!("{}: {e}", args.file.display()))
            .hint("a recording has one JSON event per line; examples/recordings has some")
    })?;
    let client = context.connect.client()?;
    let session = open_session(&client, &recording, args.session).await?;
    context.output.note(&format!("playing into {session}; watch it with `riverrun tail {session}`"));
    let last = play(&client, &session, recording.lines, args.speed, context).await?;
    if context.output.json {
        return context.output.document(&json!({
            "sessionId": session, "last": last.as_ref().and_then(|last| last.last), "cursor": last.map(|last| last.cursor),
        }));
    }
    context.output.line(session.as_str())
}

async fn open_session(
    client: &Client,
    recording: &Recording,
    wanted: Option<SessionId>,
) -> Outcome<SessionId> {
    if let Some(id) = &wanted {
        match client.get_session(&GetSessionRequest::new(id.as_str())).await {
            Ok(session) => return session_id(&session.session_id),
            Err(error) if error.code() == Some(ErrorCode::NotFound) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let opening = &recording.opening;
    let word = |name: &str| opening[name].as_str().map(str::to_owned);
    let new = CreateSessionRequest {
        session_id: wanted.map(|id| id.to_string()),
        agent: word("agent"),
        title: word("title"),
        metadata: Some(opening["metadata"].clone()).filter(Value::is_object),
        ..CreateSessionRequest::new()
    };
    session_id(&client.create_session(&new).await?.session_id)
}

async fn play(
    client: &Client,
    session: &SessionId,
    lines: Vec<Line>,
    speed: Speed,
    context: &Context,
) -> Outcome<Option<Appended>> {
    // The epoch is the time: a later play of the same session shuts out one that hangs.
    let epoch = u64::try_from(duration::now_millis()).unwrap_or_default();
    let id = ProducerId::new("prod_riverrun-play").map_err(|e| Failure::new(Exit::Failed, e))?;
    let mut producer = Producer::new(client.clone(), session.clone(), id, epoch);
    let mut progress = Progress::new(lines.len(), context);
    let dues = due_times(&lines, speed);
    let started = Instant::now();
    let (mut sent, mut last) = (0, None);
    while sent < lines.len() {
        tokio::time::sleep_until(started + dues[sent]).await;
        let now = started.elapsed();
        let count = dues[sent..].iter().take(BATCH).take_while(|due| **due <= now).count().max(1);
        let batch: Vec<&Value> = lines[sent..sent + count].iter().map(|line| &line.raw_event).collect();
        last = Some(producer.append(&batch).await.inspect_err(|_| progress.clear())?);
        sent += count;
        progress.show(sent);
    }
    progress.clear();
    Ok(last)
}

/// When each line is due, counted from the start.
fn due_times(lines: &[Line], speed: Speed) -> Vec<Duration> {
    let mut due = Duration::ZERO;
    let mut before = None;
    let mut dues = Vec::with_capacity(lines.len());
    for line in lines {
        if let (Speed::Times(times), Some(from), Some(at)) = (speed, before, line.time) {
            let gap = u64::try_from(at - from).unwrap_or(0);
            due += Duration::from_millis(gap).div_f64(times).min(LONGEST_PAUSE);
        }
        before = line.time.or(before);
        dues.push(due);
    }
    dues
}

fn parse_speed(text: &str) -> Result<Speed, String> {
    if text == "max" {
        return Ok(Speed::Max);
    }
    let times: Option<f64> = text.strip_suffix('x').unwrap_or(text).parse().ok();
    times
        .filter(|times| times.is_finite() && (0.01..=1000.0).contains(times))
        .map(Speed::Times)
        .ok_or_else(|| format!("`{text}` is not a speed such as 4x, 0.5x or max"))
}

/// A bar on stderr, only for a person who watches.
struct Progress {
    total: usize,
    shown: bool,
}

impl Progress {
    fn new(total: usize, context: &Context) -> Self {
        let shown = std::io::stderr().is_terminal() && !context.output.quiet;
        Self { total, shown }
    }

    fn show(&mut self, sent: usize) {
        if self.shown {
            const CELLS: usize = 30;
            let full = CELLS * sent / self.total.max(1);
            let bar: String = (0..CELLS).map(|cell| if cell < full { '=' } else { ' ' }).collect();
            write!(std::io::stderr(), "\r[{bar}] {sent}/{} events", self.total).ok();
        }
    }

    fn clear(&mut self) {
        if self.shown {
            write!(std::io::stderr(), "\r{:60}\r", "").ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_those_of_the_recording_divided_by_the_speed() {
        let line = |time| Line { time, raw_event: Value::Null };
        let lines = [line(Some(0)), line(Some(400)), line(None), line(Some(500)), line(Some(99_000_000))];
        let millis = |speed| due_times(&lines, speed).iter().map(|due| due.as_millis()).collect::<Vec<_>>();
        assert_eq!(millis(Speed::Times(4.0)), [0, 100, 100, 125, 10_125]);
        assert_eq!(millis(Speed::Max), [0; 5]);
    }

    #[test]
    fn a_speed_is_a_factor_or_max() {
        assert_eq!(parse_speed("4x"), Ok(Speed::Times(4.0)));
        assert_eq!(parse_speed("max"), Ok(Speed::Max));
        for bad in ["0x", "-1x", "fast", "NaNx", "infx"] {
            assert!(parse_speed(bad).is_err(), "{bad}");
        }
    }
}
