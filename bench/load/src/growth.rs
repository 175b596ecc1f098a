//! Growth: whether the last event of a long session, and its last turn, cost what the first did.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::catchup::to_head;
use crate::connection::Connection;
use crate::error::Result;
use crate::process;
use crate::request;
use crate::sample::{median, percentile_ms};
use crate::session::{self, Session};
use crate::target::Target;

/// Deltas in each turn of the session with many turns.
const DELTAS_PER_TURN: u64 = 20;
/// Reconnects, of which the median counts.
const RECONNECTS: usize = 21;

#[derive(Clone, Copy, Debug)]
pub struct Load {
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

pub async fn measure(target: &Target, load: Load) -> Result<Growth> {
    let mut long = session::create_single(target).await?;
    let first = appends(target, &mut long, load.appends).await?;
    long.fill(target, load.events).await?;
    let last = appends(target, &mut long, load.appends).await?;

    let mut turns = session::create_single(target).await?;
    turns.fill(target, DELTAS_PER_TURN).await?;
    let first_turn = reconnects(target, &turns).await?;
    turns.fill_turns(target, load.turns, DELTAS_PER_TURN).await?;
    turns.fill(target, DELTAS_PER_TURN).await?;
    let last_turn = reconnects(target, &turns).await?;
    Ok(Growth {
        first_append_p50_ms: first.0,
        last_append_p50_ms: last.0,
        first_append_cpu_us: first.1,
        last_append_cpu_us: last.1,
        first_turn_reconnect_ms: first_turn.0,
        last_turn_reconnect_ms: last_turn.0,
        first_turn_snapshot_ms: first_turn.1,
        last_turn_snapshot_ms: last_turn.1,
    })
}

/// Median time and the server's CPU per append of one event, one after another.
async fn appends(target: &Target, session: &mut Session, count: u64) -> Result<(f64, Option<f64>)> {
    let mut connection = Connection::open(target).await?;
    let before = target.process.and_then(process::cpu);
    let mut samples: Vec<Duration> = Vec::with_capacity(count as usize);
    for number in 0..count {
        let request = request::append(target, &session.id, &session.turn.delta(number));
        let start = Instant::now();
        connection.exchange(&request).await?;
        samples.push(start.elapsed());
    }
    session.head += count;
    let after = target.process.and_then(process::cpu);
    Ok((percentile_ms(&mut samples, 0.5), process::cpu_per_event(before, after, count)))
}

/// Median times to the head for a subscriber that missed the last turn, and for one with nothing.
async fn reconnects(target: &Target, session: &Session) -> Result<(f64, Option<f64>)> {
    let missed = session.head.saturating_sub(DELTAS_PER_TURN);
    let replay = reconnect(target, &target.routes.replay, session, missed).await?;
    let snapshot = match &target.routes.snapshot {
        Some(route) => Some(reconnect(target, route, session, 0).await?),
        None => None,
    };
    Ok((replay, snapshot))
}

async fn reconnect(target: &Target, route: &str, session: &Session, after: u64) -> Result<f64> {
    let mut times = Vec::with_capacity(RECONNECTS);
    for _ in 0..RECONNECTS {
        times.push(to_head(target, route, session, after).await?.0.as_secs_f64() * 1e3);
    }
    Ok(median(&times).unwrap_or_default())
}
