//! What Riverrun aims at, figure by figure.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A bound for Riverrun's median, or for its ratio to the ceiling.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Aim {
    AtLeast(f64),
    AtMost(f64),
    RatioAtLeast(f64),
}

/// A cost that is called flat may differ by this much from run to run.
const FLAT: Aim = Aim::AtMost(1.25);

impl Aim {
    /// The aim for the figure `name`, where there is one.
    pub fn of(name: &str) -> Option<Self> {
        Some(match name {
            "m1.append.1.rate" | "m1.append.100.rate" | "m1.append.1000.rate" => Self::RatioAtLeast(0.8),
            "m1.append.1000.p99" => Self::AtMost(35.0),
            "m1.append.10x100.rate" => Self::AtLeast(400e3),
            "m2.latency.p50" => Self::AtMost(1.0),
            "m2.latency.p99" => Self::AtMost(5.0),
            "m3.fanout.1000.rate" => Self::AtLeast(500e3),
            "m3.fanout.1000.cpu" => Self::AtMost(2.5),
            "m3.paced.1000.cpu" => Self::AtMost(6.0),
            "m4.catchup.replay" => Self::AtLeast(2e6),
            "m4.catchup.coalesce" | "m4.catchup.snapshot" => Self::AtMost(50.0),
            "m5.idle.memory" => Self::AtMost(10.0),
            "m6.storage.live" => Self::AtMost(240.0),
            "m6.storage.sealed" => Self::AtMost(80.0),
            "growth.append" | "growth.append.cpu" | "growth.reconnect" | "growth.snapshot" => FLAT,
            _ => return None,
        })
    }

    /// Whether the aim is met; none while its number is missing.
    pub fn is_met(self, value: Option<f64>, ratio: Option<f64>) -> Option<bool> {
        match self {
            Self::AtLeast(bound) => value.map(|value| value >= bound),
            Self::AtMost(bound) => value.map(|value| value <= bound),
            Self::RatioAtLeast(bound) => ratio.map(|ratio| ratio >= bound),
        }
    }
}

impl fmt::Display for Aim {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(bound) => write!(out, "≥ {bound}"),
            Self::AtMost(bound) => write!(out, "≤ {bound}"),
            Self::RatioAtLeast(bound) => write!(out, "ratio ≥ {bound}"),
        }
    }
}
