//! M3: one session, many subscribers: deliveries per second and what one costs the server.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

use crate::connection::ServerConnection;
use crate::error::{MeasurementError, MeasurementResult};
use crate::process;
use crate::request;
use crate::session::{self, LoadSession};
use crate::stream::StreamReader;
use crate::target::Target;

/// One producer, one event per request; `interval` none means as fast as the answers come.
#[derive(Clone, Copy, Debug)]
pub struct FanoutLoad {
    pub subscribers: usize,
    pub events: u64,
    pub interval: Option<Duration>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FannedOut {
    pub deliveries_per_second: f64,
    /// CPU of the whole server, appends included, per delivered event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_us_per_delivery: Option<f64>,
}

pub async fn measure(target: &Target, load: FanoutLoad) -> MeasurementResult<FannedOut> {
    let session = session::create_single(target).await?;
    let request = request::subscribe(target, &target.routes.replay, &session.id, session.head);
    let mut tasks = JoinSet::new();
    for _ in 0..load.subscribers {
        let subscription = StreamReader::open(target, &request, None).await?;
        tasks.spawn(count(subscription, session.head, load.events));
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    let before = target.process.and_then(process::cpu);
    let start = Instant::now();
    tasks.spawn(produce(target.clone(), session, load));
    let ends = session::join(tasks, Duration::from_secs(120), "fanning out").await?;
    let after = target.process.and_then(process::cpu);
    let elapsed = ends.into_iter().max().unwrap_or(start) - start;
    let deliveries = load.events * load.subscribers as u64;
    Ok(FannedOut {
        deliveries_per_second: deliveries as f64 / elapsed.as_secs_f64(),
        cpu_us_per_delivery: process::cpu_per_event(before, after, deliveries),
    })
}

/// Reads until the last event is there, and checks that every event came once and in order.
async fn count(mut subscription: StreamReader, head: u64, events: u64) -> MeasurementResult<Instant> {
    let (mut in_order, mut last) = (0, head);
    while last < head + events {
        subscription
            .frames(|frame| {
                if let Some(sequence) = frame.sequence() {
                    in_order += u64::from(sequence == last + 1);
                    last = sequence;
                }
            })
            .await?;
    }
    match in_order == events {
        true => Ok(Instant::now()),
        false => Err(MeasurementError::Missing { expected: events, got: in_order }),
    }
}

async fn produce(target: Target, session: LoadSession, load: FanoutLoad) -> MeasurementResult<Instant> {
    let mut connection = ServerConnection::open(&target).await?;
    let mut ticks = load.interval.map(tokio::time::interval);
    for number in 0..load.events {
        if let Some(ticks) = &mut ticks {
            ticks.tick().await;
        }
        connection.exchange(&request::append(&target, &session.id, &session.turn.delta(number))).await?;
    }
    Ok(Instant::now())
}
