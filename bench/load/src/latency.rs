//! M2: how long an event takes from the append's first byte to a subscriber.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

use crate::connection::ServerConnection;
use crate::error::MeasurementResult;
use crate::event;
use crate::request;
use crate::sample::percentile_ms;
use crate::session::{self, LoadSession};
use crate::stream::{StreamFrame, StreamReader};
use crate::target::Target;

/// Each session has one producer at a fixed pace and one subscriber.
#[derive(Clone, Copy, Debug)]
pub struct LatencyLoad {
    pub sessions: usize,
    pub events_per_second: u32,
    pub window: Duration,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Delivered {
    pub p50_ms: f64,
    pub p99_ms: f64,
}

pub async fn measure(target: &Target, load: LatencyLoad) -> MeasurementResult<Delivered> {
    let sessions = session::create(target, load.sessions).await?;
    let origin = Instant::now();
    let interval = Duration::from_secs(1) / load.events_per_second;
    let count = (load.window.as_secs_f64() * f64::from(load.events_per_second)) as u64;
    let mut tasks = JoinSet::new();
    for (number, session) in sessions.into_iter().enumerate() {
        // Spread over one interval, as independent producers would be.
        let delay = Duration::from_millis(500) + interval * number as u32 / load.sessions as u32;
        let pace = Pace { origin, delay, interval, count };
        tasks.spawn(follow(target.clone(), session.clone(), pace));
        tasks.spawn(produce(target.clone(), session, pace));
    }
    let mut samples =
        session::join(tasks, load.window * 4 + Duration::from_secs(30), "pacing").await?.concat();
    Ok(Delivered { p50_ms: percentile_ms(&mut samples, 0.5), p99_ms: percentile_ms(&mut samples, 0.99) })
}

#[derive(Clone, Copy)]
struct Pace {
    origin: Instant,
    delay: Duration,
    interval: Duration,
    count: u64,
}

async fn produce(target: Target, session: LoadSession, pace: Pace) -> MeasurementResult<Vec<Duration>> {
    let mut connection = ServerConnection::open(&target).await?;
    let mut request = request::append(&target, &session.id, &session.turn.stamped_delta(0));
    tokio::time::sleep(pace.delay).await;
    let mut ticks = tokio::time::interval(pace.interval);
    for _ in 0..pace.count {
        ticks.tick().await;
        event::stamp(&mut request, pace.origin.elapsed().as_nanos() as u64);
        connection.exchange(&request).await?;
    }
    Ok(Vec::new())
}

async fn follow(target: Target, session: LoadSession, pace: Pace) -> MeasurementResult<Vec<Duration>> {
    let request = request::subscribe(&target, &target.routes.replay, &session.id, session.head);
    let mut subscription = StreamReader::open(&target, &request, None).await?;
    let mut samples = Vec::with_capacity(pace.count as usize);
    while (samples.len() as u64) < pace.count {
        subscription
            .frames(|frame| {
                let StreamFrame::Event(bytes) = frame else { return };
                let sent = event::stamp_of(bytes).map(Duration::from_nanos);
                samples.extend(sent.map(|sent| pace.origin.elapsed().saturating_sub(sent)));
            })
            .await?;
    }
    Ok(samples)
}
