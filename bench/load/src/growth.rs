//! Growth: whether the last event of a long session, and its last turn, cost what the first did.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::catchup::to_head;
use crate::connection::ServerConnection;
use crate::error::MeasurementResult;
use crate::process;
use crate::request;
use crate::sample::{median, percentile_ms};
use crate::session::{self, LoadSession};
use crate::target::Target;

/// Deltas in each turn of the session with many turns.
const DELTAS_PER_TURN: u64 = 20;
/// Blocks of appends in which the two sessions take turns.
const BLOCKS: u64 = 10;
/// Reconnects, of which the median counts.
const RECONNECTS: usize = 21;

#[derive(Clone, Copy, Debug)]
pub struct GrowthLoad {
    /// Events that lie between the first and the last appends.
    pub events: u64,
    /// Appends that are timed at each end.
    pub appends: u64,
    pub turns: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Growth {
    pub first_append_p50_ms: f64,
    pub last_append_p50_ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_append_cpu_us: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_append_cpu_us: Option<f64>,
    pub first_turn_reconnect_ms: f64,
    pub last_turn_reconnect_ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_turn_snapshot_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_turn_snapshot_ms: Option<f64>,
}

/// The short and the long session take turns, so that a noisy machine bothers both alike.
pub async fn measure(target: &Target, load: GrowthLoad) -> MeasurementResult<Growth> {
    let short = session::create_single(target).await?;
    let mut long = session::create_single(target).await?;
    long.fill(target, load.events).await?;
    let (first, last) = (Appends::new(target, short).await?, Appends::new(target, long).await?);
    let [first, last] = by_turns(target, [first, last], load.appends).await?;

    let mut short = session::create_single(target).await?;
    short.fill(target, DELTAS_PER_TURN).await?;
    let mut long = session::create_single(target).await?;
    long.fill_turns(target, load.turns, DELTAS_PER_TURN).await?;
    long.fill(target, DELTAS_PER_TURN).await?;
    let replay = reconnects(target, &target.routes.replay, [&short, &long], Missed::LastTurn).await?;
    let snapshot = match &target.routes.snapshot {
        Some(route) => Some(reconnects(target, route, [&short, &long], Missed::All).await?),
        None => None,
    };
    Ok(Growth {
        first_append_p50_ms: first.0,
        last_append_p50_ms: last.0,
        first_append_cpu_us: first.1,
        last_append_cpu_us: last.1,
        first_turn_reconnect_ms: replay[0],
        last_turn_reconnect_ms: replay[1],
        first_turn_snapshot_ms: snapshot.map(|times| times[0]),
        last_turn_snapshot_ms: snapshot.map(|times| times[1]),
    })
}

/// Appends of one event to one session, one after another.
struct Appends {
    connection: ServerConnection,
    session: LoadSession,
    samples: Vec<Duration>,
    cpu: Option<Duration>,
}

impl Appends {
    async fn new(target: &Target, session: LoadSession) -> MeasurementResult<Self> {
        let connection = ServerConnection::open(target).await?;
        Ok(Self { connection, session, samples: Vec::new(), cpu: Some(Duration::ZERO) })
    }

    async fn run(&mut self, target: &Target, count: u64) -> MeasurementResult<()> {
        let before = target.process.and_then(process::cpu);
        for number in 0..count {
            let event = self.session.turn.delta(number);
            let request = request::append(target, &self.session.id, &event);
            let start = Instant::now();
            self.connection.exchange(&request).await?;
            self.samples.push(start.elapsed());
        }
        let used = target.process.and_then(process::cpu).zip(before).map(|(after, before)| after - before);
        self.cpu = self.cpu.zip(used).map(|(sum, used)| sum + used);
        Ok(())
    }

    /// Median milliseconds and the server's CPU, in microseconds, per append.
    fn summed_up(mut self) -> (f64, Option<f64>) {
        let count = self.samples.len() as u64;
        let cpu = process::cpu_per_event(Some(Duration::ZERO), self.cpu, count);
        (percentile_ms(&mut self.samples, 0.5), cpu)
    }
}

async fn by_turns(
    target: &Target,
    mut both: [Appends; 2],
    count: u64,
) -> MeasurementResult<[(f64, Option<f64>); 2]> {
    for _ in 0..BLOCKS {
        for appends in &mut both {
            appends.run(target, count / BLOCKS).await?;
        }
    }
    Ok(both.map(Appends::summed_up))
}

/// What a subscriber that reconnects has not seen.
#[derive(Clone, Copy)]
enum Missed {
    LastTurn,
    All,
}

/// Median milliseconds to the head, for each of two sessions.
async fn reconnects(
    target: &Target,
    route: &str,
    sessions: [&LoadSession; 2],
    missed: Missed,
) -> MeasurementResult<[f64; 2]> {
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..RECONNECTS {
        for (session, times) in sessions.iter().zip(&mut times) {
            let after = match missed {
                Missed::LastTurn => session.head.saturating_sub(DELTAS_PER_TURN),
                Missed::All => 0,
            };
            times.push(to_head(target, route, session, after).await?.0.as_secs_f64() * 1e3);
        }
    }
    Ok(times.map(|times| median(&times).unwrap_or_default()))
}
