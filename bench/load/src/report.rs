//! Readings of both servers, joined to figures: the ratio first, then the medians behind it.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::{Deserialize, Serialize};

use crate::aim::Aim;
use crate::sample::median;

/// One value of one round.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundValue {
    pub name: String,
    pub unit: Unit,
    pub value: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Unit {
    EventsPerSecond,
    Milliseconds,
    Microseconds,
    Kibibytes,
    Bytes,
    /// The last value over the first.
    Times,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Server {
    Riverrun,
    Ceiling,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The plan's name; figures of different plans do not compare.
    pub plan: String,
    pub cores: usize,
    pub rounds: usize,
    pub figures: Vec<Figure>,
    pub failures: Vec<FailedRound>,
}

/// One figure over all rounds. `ratio` is the median of the rounds' ratios of Riverrun to the ceiling:
/// the two runs of a round are neighbours in time, so what bothers the machine bothers both.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Figure {
    pub name: String,
    pub unit: Unit,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub riverrun: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aim: Option<Aim>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meets_aim: Option<bool>,
    pub riverrun_rounds: Vec<f64>,
    pub ceiling_rounds: Vec<f64>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FailedRound {
    pub measurement: String,
    pub server: Server,
    pub error: String,
}

impl Report {
    pub fn new(plan: &str, rounds: usize) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self { plan: plan.to_owned(), cores, rounds, ..Self::default() }
    }

    /// Adds the readings of all rounds of one measurement.
    pub fn add(&mut self, readings: Vec<(Server, RoundValue)>) {
        let mut figures: BTreeMap<String, Figure> = BTreeMap::new();
        let mut order = Vec::new();
        for (server, reading) in readings {
            let figure = figures.entry(reading.name.clone()).or_insert_with(|| {
                order.push(reading.name.clone());
                Figure::new(reading.name, reading.unit)
            });
            match server {
                Server::Riverrun => figure.riverrun_rounds.push(reading.value),
                Server::Ceiling => figure.ceiling_rounds.push(reading.value),
            }
        }
        self.figures.extend(order.iter().filter_map(|name| figures.remove(name)).map(Figure::summed_up));
    }

    pub fn markdown(&self) -> String {
        let mut text =
            format!("Plan {}, {} cores, median of {} rounds.\n\n", self.plan, self.cores, self.rounds);
        text.push_str(
            "| figure | ratio | Riverrun | ceiling | unit | aim | met |\n|---|---|---|---|---|---|---|\n",
        );
        for figure in &self.figures {
            text.push_str(&figure.row());
        }
        for FailedRound { measurement, server, error } in &self.failures {
            write!(text, "\n{measurement} failed on {server:?}: {error}\n").expect("a String takes it");
        }
        text
    }
}

impl Figure {
    fn new(name: String, unit: Unit) -> Self {
        let aim = Aim::of(&name);
        let (riverrun_rounds, ceiling_rounds) = (Vec::new(), Vec::new());
        let (ratio, riverrun, ceiling, meets_aim) = (None, None, None, None);
        Self { name, unit, ratio, riverrun, ceiling, aim, meets_aim, riverrun_rounds, ceiling_rounds }
    }

    fn summed_up(mut self) -> Self {
        self.riverrun = median(&self.riverrun_rounds);
        self.ceiling = median(&self.ceiling_rounds);
        self.ratio = self.ratio_of_rounds();
        self.meets_aim = self.aim.and_then(|aim| aim.is_met(self.riverrun, self.ratio));
        self
    }

    fn ratio_of_rounds(&self) -> Option<f64> {
        if self.riverrun_rounds.len() != self.ceiling_rounds.len() {
            // A failed run leaves no pairs.
            let both = self.riverrun.zip(self.ceiling).filter(|(_, ceiling)| *ceiling > 0.0);
            return both.map(|(riverrun, ceiling)| riverrun / ceiling);
        }
        let pairs = self.riverrun_rounds.iter().zip(&self.ceiling_rounds);
        let ratios: Vec<f64> =
            pairs.filter(|(_, ceiling)| **ceiling > 0.0).map(|(one, other)| one / other).collect();
        median(&ratios)
    }

    fn row(&self) -> String {
        let met = match self.meets_aim {
            Some(true) => "yes",
            Some(false) => "no",
            None => "",
        };
        let aim = self.aim.map(|aim| aim.to_string()).unwrap_or_default();
        let (ratio, riverrun, ceiling) = (number(self.ratio), number(self.riverrun), number(self.ceiling));
        format!(
            "| {} | {ratio} | {riverrun} | {ceiling} | {} | {aim} | {met} |\n",
            self.name,
            self.unit.label()
        )
    }
}

impl Unit {
    fn label(self) -> &'static str {
        match self {
            Self::EventsPerSecond => "events/s",
            Self::Milliseconds => "ms",
            Self::Microseconds => "µs/event",
            Self::Kibibytes => "KiB",
            Self::Bytes => "bytes/event",
            Self::Times => "last ÷ first",
        }
    }
}

fn number(value: Option<f64>) -> String {
    match value {
        None => "–".into(),
        Some(value) if value >= 1e6 => format!("{:.2} M", value / 1e6),
        Some(value) if value >= 1e4 => format!("{:.1} k", value / 1e3),
        Some(value) if value >= 100.0 => format!("{value:.0}"),
        Some(value) => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_the_median_of_paired_rounds() {
        let reading =
            |value| RoundValue { name: "m1.append.100.rate".into(), unit: Unit::EventsPerSecond, value };
        let mut report = Report::new("full", 3);
        let riverrun = [70.0, 9.0, 80.0].map(|value| (Server::Riverrun, reading(value)));
        let ceiling = [100.0, 10.0, 100.0].map(|value| (Server::Ceiling, reading(value)));
        report.add(riverrun.into_iter().chain(ceiling).collect());
        let figure = &report.figures[0];
        assert_eq!((figure.ratio, figure.riverrun, figure.meets_aim), (Some(0.8), Some(70.0), Some(true)));
    }
}
