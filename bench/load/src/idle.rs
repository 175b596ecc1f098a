//! M5: memory that a subscriber costs while nothing happens.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

use crate::error::MeasurementResult;
use crate::process;
use crate::request;
use crate::session::{self, LoadSession};
use crate::stream::StreamReader;
use crate::target::Target;

/// Subscriptions that one source address opens, well below its ephemeral ports.
const PER_SOURCE: usize = 4000;
/// Tasks that open subscriptions side by side.
const OPENERS: usize = 16;
/// Time for buffers of the handshake to be given back.
const SETTLE: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug)]
pub struct IdleLoad {
    pub subscribers: usize,
    /// Sessions that the subscribers are spread over.
    pub sessions: usize,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Idle {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kib_per_subscriber: Option<f64>,
}

pub async fn measure(target: &Target, load: IdleLoad) -> MeasurementResult<Idle> {
    let sessions = session::create(target, load.sessions).await?;
    // One subscriber first: what the first one loads is not the price of each.
    let first = open(target.clone(), sessions.clone(), 0..1).await?;
    tokio::time::sleep(SETTLE).await;
    let before = target.process.and_then(process::resident_kib);
    let mut openers = JoinSet::new();
    let share = load.subscribers.div_ceil(OPENERS);
    for opener in 0..OPENERS {
        let numbers = opener * share..((opener + 1) * share).min(load.subscribers);
        openers.spawn(open(target.clone(), sessions.clone(), numbers));
    }
    let subscriptions = session::join(openers, Duration::from_secs(120), "opening subscriptions").await?;
    tokio::time::sleep(SETTLE).await;
    let after = target.process.and_then(process::resident_kib);
    let kib = before.zip(after).map(|(before, after)| after.saturating_sub(before) as f64);
    drop((first, subscriptions));
    Ok(Idle { kib_per_subscriber: kib.map(|kib| kib / load.subscribers as f64) })
}

async fn open(
    target: Target,
    sessions: Vec<LoadSession>,
    numbers: std::ops::Range<usize>,
) -> MeasurementResult<Vec<StreamReader>> {
    let mut subscriptions = Vec::with_capacity(numbers.len());
    for number in numbers {
        let session = &sessions[number % sessions.len()];
        let request = request::subscribe(&target, &target.routes.replay, &session.id, session.head);
        let source = source(&target, number / PER_SOURCE);
        subscriptions.push(StreamReader::open(&target, &request, source).await?);
    }
    Ok(subscriptions)
}

/// A further loopback address; Linux answers on all of 127.0.0.0/8.
fn source(target: &Target, group: usize) -> Option<IpAddr> {
    match target.address.ip() {
        IpAddr::V4(address) if address.is_loopback() => {
            Some(Ipv4Addr::new(127, 0, 0, 2 + (group % 250) as u8).into())
        }
        IpAddr::V4(_) | IpAddr::V6(_) => None,
    }
}
