//! M1: how many events per second become durable, and how long one append takes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::connection::ServerConnection;
use crate::error::{MeasurementError, MeasurementResult};
use crate::process;
use crate::request;
use crate::sample::percentile_ms;
use crate::session::{self, LoadSession};
use crate::target::Target;

/// Requests that each connection sends in turn, so that the text varies.
const REQUESTS: u64 = 8;
/// Most requests of one connection.
const MOST: usize = 10_000_000;

/// One connection per session; each sends its next request when the last one is answered.
#[derive(Clone, Copy, Debug)]
pub struct AppendLoad {
    pub sessions: usize,
    /// Events per request.
    pub batch: u64,
    /// Time before the measured window.
    pub warm_up: Duration,
    pub window: Duration,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AppendFigures {
    pub events_per_second: f64,
    pub p50_ms: f64,
    pub p99_ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_us_per_event: Option<f64>,
}

pub async fn measure(target: &Target, load: AppendLoad) -> MeasurementResult<AppendFigures> {
    let sessions = session::create(target, load.sessions).await?;
    let ready = Arc::new(Barrier::new(load.sessions + 1));
    let mut tasks = JoinSet::new();
    for session in sessions {
        tasks.spawn(append(target.clone(), session, load, ready.clone()));
    }
    ready.wait().await;
    tokio::time::sleep(load.warm_up).await;
    let before = target.process.and_then(process::cpu);
    tokio::time::sleep(load.window).await;
    let after = target.process.and_then(process::cpu);
    let mut samples = session::join(tasks, Duration::from_secs(60), "appending").await?.concat();
    let events = samples.len() as u64 * load.batch;
    Ok(AppendFigures {
        events_per_second: events as f64 / load.window.as_secs_f64(),
        p50_ms: percentile_ms(&mut samples, 0.5),
        p99_ms: percentile_ms(&mut samples, 0.99),
        cpu_us_per_event: process::cpu_per_event(before, after, events),
    })
}

/// Appends until the window ends; returns how long each request took that ended inside it.
async fn append(
    target: Target,
    session: LoadSession,
    load: AppendLoad,
    ready: Arc<Barrier>,
) -> MeasurementResult<Vec<Duration>> {
    let requests: Vec<_> = (0..REQUESTS).map(|number| render(&target, &session, load, number)).collect();
    let connection = ServerConnection::open(&target).await;
    // Waits before the error leaves, so that a refused connection does not stall the others.
    ready.wait().await;
    let mut connection = connection?;
    let opens = Instant::now() + load.warm_up;
    let closes = opens + load.window;
    let mut samples = Vec::new();
    let (mut head, mut expected) = (session.head, session.head);
    for request in requests.iter().cycle().take(MOST) {
        let start = Instant::now();
        let answer = connection.exchange(request).await?;
        let end = Instant::now();
        expected += load.batch;
        if end > closes {
            head = session::last(answer)?;
            break;
        }
        if end > opens {
            samples.push(end - start);
        }
    }
    // Only this connection appends here, so a head that differs means an event lost or stored twice.
    match head == expected {
        true => Ok(samples),
        false => Err(MeasurementError::Missing { expected, got: head }),
    }
}

fn render(target: &Target, session: &LoadSession, load: AppendLoad, number: u64) -> Vec<u8> {
    match load.batch {
        1 => request::append(target, &session.id, &session.turn.delta(number)),
        batch => request::append_lines(target, &session.id, &session.turn.deltas(number * batch, batch)),
    }
}
