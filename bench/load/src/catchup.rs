//! M4: how fast a subscriber that comes late reaches the head.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::error::{MeasurementError, MeasurementResult};
use crate::request;
use crate::sample::median;
use crate::session::{self, LoadSession};
use crate::stream::{StreamFrame, StreamReader};
use crate::target::Target;

/// A catch-up that takes longer has failed.
const LIMIT: Duration = Duration::from_secs(60);
/// Says that everything up to the head of the log has been sent.
const CAUGHT_UP: &[u8] = b"stream.caught_up";

#[derive(Clone, Copy, Debug)]
pub struct CatchupLoad {
    pub events: u64,
    /// Subscribers one after another, of which the median counts.
    pub repeats: usize,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CaughtUp {
    pub replay_events_per_second: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coalesce_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot_ms: Option<f64>,
}

pub async fn measure(target: &Target, load: CatchupLoad) -> MeasurementResult<CaughtUp> {
    let mut session = session::create_single(target).await?;
    session.fill(target, load.events).await?;
    let routes = &target.routes;
    let replay = median_to_head(target, &routes.replay, &session, load.repeats).await?;
    Ok(CaughtUp {
        replay_events_per_second: session.head as f64 / replay.as_secs_f64(),
        coalesce_ms: optional(target, &routes.coalesce, &session, load.repeats).await?,
        snapshot_ms: optional(target, &routes.snapshot, &session, load.repeats).await?,
    })
}

/// Time from the request until the subscriber is at the head, and how many events came
/// right after the one before.
pub async fn to_head(
    target: &Target,
    route: &str,
    session: &LoadSession,
    after: u64,
) -> MeasurementResult<(Duration, u64)> {
    let start = Instant::now();
    let request = request::subscribe(target, route, &session.id, after);
    let read = async {
        let mut subscription = StreamReader::open(target, &request, None).await?;
        let (mut in_order, mut last) = (0, after);
        let mut is_live = after >= session.head;
        while !is_live {
            let each = |frame: StreamFrame<'_>| match frame {
                StreamFrame::Event(_) => {
                    let sequence = frame.sequence().unwrap_or_default();
                    in_order += u64::from(sequence == last + 1);
                    last = sequence;
                    is_live |= sequence >= session.head;
                }
                StreamFrame::Control(bytes) => is_live |= memchr::memmem::find(bytes, CAUGHT_UP).is_some(),
            };
            subscription.frames(each).await?;
        }
        Ok((start.elapsed(), in_order))
    };
    let late = MeasurementError::Timeout { what: "catching up", seconds: LIMIT.as_secs() };
    tokio::time::timeout(LIMIT, read).await.unwrap_or(Err(late))
}

async fn median_to_head(
    target: &Target,
    route: &str,
    session: &LoadSession,
    repeats: usize,
) -> MeasurementResult<Duration> {
    let is_replay = route == target.routes.replay;
    let mut times = Vec::with_capacity(repeats);
    for _ in 0..repeats {
        let (time, got) = to_head(target, route, session, 0).await?;
        if is_replay && got != session.head {
            return Err(MeasurementError::Missing { expected: session.head, got });
        }
        times.push(time.as_secs_f64());
    }
    Ok(Duration::from_secs_f64(median(&times).unwrap_or_default()))
}

async fn optional(
    target: &Target,
    route: &Option<String>,
    session: &LoadSession,
    repeats: usize,
) -> MeasurementResult<Option<f64>> {
    let Some(route) = route else { return Ok(None) };
    let time = median_to_head(target, route, session, repeats).await?;
    Ok(Some(time.as_secs_f64() * 1e3))
}
