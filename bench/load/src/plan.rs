//! What is measured, and how much of it.

use std::time::Duration;

use crate::error::MeasurementResult;
use crate::report::{RoundValue, Unit};
use crate::target::Target;
use crate::{append, catchup, fanout, growth, idle, latency, storage};

/// A list of measurements and how often each is repeated.
#[derive(Clone, Debug)]
pub struct MeasurementPlan {
    pub name: &'static str,
    /// Rounds of which the median is reported.
    pub rounds: usize,
    pub measurements: Vec<Measurement>,
}

#[derive(Clone, Copy, Debug)]
pub enum Measurement {
    Append(append::AppendLoad),
    Latency(latency::LatencyLoad),
    FanOut(fanout::FanoutLoad),
    CatchUp(catchup::CatchupLoad),
    Idle(idle::IdleLoad),
    /// Needs a server that can be stopped, so it runs only on servers started by the generator.
    Storage(storage::StorageLoad),
    Growth(growth::GrowthLoad),
}

impl MeasurementPlan {
    /// The figures that are published.
    pub fn full() -> Self {
        Self { name: "full", rounds: 5, measurements: measurements(Duration::from_secs(2), 1) }
    }

    /// The same figures from less load: enough to see a regression, not to publish.
    pub fn quick() -> Self {
        Self { name: "quick", rounds: 1, measurements: measurements(Duration::from_secs(1), 5) }
    }

    /// Keeps the measurements whose name contains `part`.
    pub fn only(mut self, part: &str) -> Self {
        self.measurements.retain(|measurement| measurement.name().contains(part));
        self
    }
}

/// All measurements, with every count divided by `share`.
fn measurements(window: Duration, share: u64) -> Vec<Measurement> {
    let warm_up = window / 3;
    let append =
        |sessions, batch| Measurement::Append(append::AppendLoad { sessions, batch, warm_up, window });
    let flat_out = |subscribers, events| {
        Measurement::FanOut(fanout::FanoutLoad { subscribers, events: events / share, interval: None })
    };
    let paced = |subscribers| {
        let interval = Some(Duration::from_millis(20));
        Measurement::FanOut(fanout::FanoutLoad { subscribers, events: window.as_secs() * 100, interval })
    };
    let subscribers = 10_000 / share as usize;
    vec![
        append(1, 1),
        append(100, 1),
        append(1000, 1),
        append(10, 100),
        Measurement::Latency(latency::LatencyLoad {
            sessions: 100,
            events_per_second: 50,
            window: window * 2,
        }),
        flat_out(1, 5_000),
        flat_out(100, 2_500),
        flat_out(1000, 500),
        paced(1),
        paced(100),
        paced(1000),
        Measurement::CatchUp(catchup::CatchupLoad { events: 100_000, repeats: 5 }),
        Measurement::Idle(idle::IdleLoad { subscribers, sessions: 100 }),
        Measurement::Storage(storage::StorageLoad { sessions: 20, events_per_session: 5_000 / share }),
        Measurement::Growth(growth::GrowthLoad { events: 100_000, appends: 2_000, turns: 500 }),
    ]
}

impl Measurement {
    pub fn name(&self) -> String {
        match self {
            Self::Append(append::AppendLoad { sessions, batch: 1, .. }) => format!("m1.append.{sessions}"),
            Self::Append(append::AppendLoad { sessions, batch, .. }) => {
                format!("m1.append.{sessions}x{batch}")
            }
            Self::Latency(_) => "m2.latency".into(),
            Self::FanOut(fanout::FanoutLoad { subscribers, interval: None, .. }) => {
                format!("m3.fanout.{subscribers}")
            }
            Self::FanOut(fanout::FanoutLoad { subscribers, .. }) => format!("m3.paced.{subscribers}"),
            Self::CatchUp(_) => "m4.catchup".into(),
            Self::Idle(_) => "m5.idle".into(),
            Self::Storage(_) => "m6.storage".into(),
            Self::Growth(_) => "growth".into(),
        }
    }

    /// Rounds that are worth their time: sizes hardly vary from one to the next.
    pub fn rounds(&self, plan: &MeasurementPlan) -> usize {
        match self {
            Self::Storage(_) => 1,
            Self::Idle(_) => plan.rounds.min(3),
            Self::Append(_) | Self::Latency(_) | Self::FanOut(_) | Self::CatchUp(_) | Self::Growth(_) => {
                plan.rounds
            }
        }
    }

    /// Runs the measurement once; none where it needs a server that can be stopped.
    pub async fn run(&self, target: &Target) -> MeasurementResult<Vec<RoundValue>> {
        let readings = match *self {
            Self::Append(load) => append_readings(append::measure(target, load).await?),
            Self::Latency(load) => latency_readings(latency::measure(target, load).await?),
            Self::FanOut(load) => fan_out_readings(fanout::measure(target, load).await?, load),
            Self::CatchUp(load) => catch_up_readings(catchup::measure(target, load).await?),
            Self::Idle(load) => idle_readings(idle::measure(target, load).await?),
            Self::Storage(_) => Vec::new(),
            Self::Growth(load) => growth_readings(growth::measure(target, load).await?),
        };
        Ok(self.named(readings))
    }

    /// Readings under the measurement's name.
    pub fn named(&self, readings: impl IntoIterator<Item = MeasuredPart>) -> Vec<RoundValue> {
        let name = self.name();
        let reading = |(part, unit, value): MeasuredPart| {
            value.map(|value| RoundValue { name: format!("{name}.{part}"), unit, value })
        };
        readings.into_iter().filter_map(reading).collect()
    }
}

/// One value of a measurement; none where the server does not offer it.
pub type MeasuredPart = (&'static str, Unit, Option<f64>);

fn append_readings(appended: append::AppendFigures) -> Vec<MeasuredPart> {
    vec![
        ("rate", Unit::EventsPerSecond, Some(appended.events_per_second)),
        ("p50", Unit::Milliseconds, Some(appended.p50_ms)),
        ("p99", Unit::Milliseconds, Some(appended.p99_ms)),
        ("cpu", Unit::Microseconds, appended.cpu_us_per_event),
    ]
}

fn latency_readings(delivered: latency::Delivered) -> Vec<MeasuredPart> {
    let (p50, p99) = (delivered.p50_ms, delivered.p99_ms);
    vec![("p50", Unit::Milliseconds, Some(p50)), ("p99", Unit::Milliseconds, Some(p99))]
}

fn fan_out_readings(fanned_out: fanout::FannedOut, load: fanout::FanoutLoad) -> Vec<MeasuredPart> {
    // At a fixed pace the rate says nothing.
    let rate = load.interval.is_none().then_some(fanned_out.deliveries_per_second);
    let cpu = fanned_out.cpu_us_per_delivery;
    vec![("rate", Unit::EventsPerSecond, rate), ("cpu", Unit::Microseconds, cpu)]
}

fn catch_up_readings(caught_up: catchup::CaughtUp) -> Vec<MeasuredPart> {
    vec![
        ("replay", Unit::EventsPerSecond, Some(caught_up.replay_events_per_second)),
        ("coalesce", Unit::Milliseconds, caught_up.coalesce_ms),
        ("snapshot", Unit::Milliseconds, caught_up.snapshot_ms),
    ]
}

fn idle_readings(idle: idle::Idle) -> Vec<MeasuredPart> {
    vec![("memory", Unit::Kibibytes, idle.kib_per_subscriber)]
}

fn growth_readings(growth: growth::Growth) -> Vec<MeasuredPart> {
    let times = |last: Option<f64>, first: Option<f64>| {
        last.zip(first).filter(|(_, first)| *first > 0.0).map(|(last, first)| last / first)
    };
    let append = times(Some(growth.last_append_p50_ms), Some(growth.first_append_p50_ms));
    let reconnect = times(Some(growth.last_turn_reconnect_ms), Some(growth.first_turn_reconnect_ms));
    let snapshot = times(growth.last_turn_snapshot_ms, growth.first_turn_snapshot_ms);
    vec![
        ("append.first", Unit::Milliseconds, Some(growth.first_append_p50_ms)),
        ("append.last", Unit::Milliseconds, Some(growth.last_append_p50_ms)),
        ("append", Unit::Times, append),
        ("append.cpu", Unit::Times, times(growth.last_append_cpu_us, growth.first_append_cpu_us)),
        ("reconnect.first", Unit::Milliseconds, Some(growth.first_turn_reconnect_ms)),
        ("reconnect.last", Unit::Milliseconds, Some(growth.last_turn_reconnect_ms)),
        ("reconnect", Unit::Times, reconnect),
        ("snapshot.first", Unit::Milliseconds, growth.first_turn_snapshot_ms),
        ("snapshot.last", Unit::Milliseconds, growth.last_turn_snapshot_ms),
        ("snapshot", Unit::Times, snapshot),
    ]
}
