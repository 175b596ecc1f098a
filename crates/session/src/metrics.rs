//! Counters, gauges and histograms, in the text format of Prometheus.
//!
//! Numbers are atomics, label values come from closed sets or route templates, and no label ever holds an id.

use std::fmt::Write;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, RwLock};

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds one.
    pub fn increment(&self) {
        self.add(1);
    }

    /// Adds a number.
    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    /// The sum so far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A number that goes up and down.
#[derive(Debug, Default)]
pub struct Gauge(AtomicI64);

impl Gauge {
    /// Adds a number, which may be negative.
    pub fn add(&self, count: i64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    /// Replaces the value.
    pub fn set(&self, value: i64) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// The present value.
    pub fn get(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Raises a gauge while it lives.
pub struct Held(Arc<Gauge>);

impl Held {
    /// Adds one until it is dropped.
    pub fn new(gauge: Arc<Gauge>) -> Self {
        gauge.add(1);
        Self(gauge)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.add(-1);
    }
}

/// From a fast memory write to a slow network, in seconds.
pub const SECONDS: &[f64] = &[
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
    60.0,
];

/// Counts of events, by powers of ten.
pub const EVENTS: &[f64] = &[0.0, 1.0, 10.0, 100.0, 1_000.0, 10_000.0, 100_000.0, 1_000_000.0];

/// How often values fell below each bound.
#[derive(Debug)]
pub struct Histogram {
    bounds: &'static [f64],
    /// One per bound, and one for what is above them all.
    counts: Box<[AtomicU64]>,
    /// In millionths, so that an integer can hold it.
    sum: AtomicU64,
}

impl Histogram {
    /// With the upper bounds of its buckets, in ascending order.
    pub fn new(bounds: &'static [f64]) -> Self {
        let counts = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self { bounds, counts, sum: AtomicU64::new(0) }
    }

    /// Counts a value.
    pub fn observe(&self, value: f64) {
        let bucket = self.bounds.partition_point(|bound| *bound < value);
        self.counts[bucket].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add((value.max(0.0) * 1e6) as u64, Ordering::Relaxed);
    }
}

/// One metric per combination of label values.
#[derive(Debug)]
pub struct Family<M> {
    labels: &'static [&'static str],
    /// In the order of their values.
    members: RwLock<Vec<(Vec<String>, Arc<M>)>>,
}

impl<M: Default> Family<M> {
    /// A bug that puts an id into a label must not eat the memory: what is over this counts as `other`.
    const MAX_MEMBERS: usize = 1024;

    /// With the names of its labels.
    pub fn new(labels: &'static [&'static str]) -> Self {
        Self { labels, members: RwLock::default() }
    }

    /// The metric of these values, in the order of the labels. Keep it where the path is hot.
    pub fn with(&self, values: &[&str]) -> Arc<M> {
        debug_assert_eq!(values.len(), self.labels.len());
        let known = self.members.read().unwrap_or_else(|poison| poison.into_inner());
        if let Ok(at) = find(&known, values) {
            return known[at].1.clone();
        }
        drop(known);
        let mut members = self.members.write().unwrap_or_else(|poison| poison.into_inner());
        let others = vec!["other"; self.labels.len()];
        let values = if members.len() < Self::MAX_MEMBERS { values } else { &others };
        let at = find(&members, values).unwrap_or_else(|at| {
            let key = values.iter().map(|value| (*value).to_owned()).collect();
            members.insert(at, (key, Arc::default()));
            at
        });
        members[at].1.clone()
    }
}

/// Where the values are, or where they would stand.
fn find<M>(members: &[(Vec<String>, Arc<M>)], values: &[&str]) -> Result<usize, usize> {
    members.binary_search_by(|(key, _)| key.iter().map(String::as_str).cmp(values.iter().copied()))
}

/// Declares a struct of metrics, and how it shows itself.
#[macro_export]
macro_rules! metrics {
    ($(#[$outer:meta])* $name:ident { $($field:ident: $kind:ty = $new:expr, $text:literal, $help:literal;)* }) => {
        $(#[$outer])*
        #[derive(Debug)]
        pub struct $name { $(#[doc = $help] pub $field: std::sync::Arc<$kind>,)* }

        impl $name {
            /// Every metric at zero.
            pub fn new() -> Self {
                Self { $($field: std::sync::Arc::new($new),)* }
            }

            /// Appends the text format of Prometheus.
            pub fn render(&self, out: &mut String) {
                $($crate::metrics::WriteMetric::write(&*self.$field, out, $text, $help);)*
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::new()
            }
        }
    };
}

/// How a metric shows itself.
pub trait Show {
    /// The type in the exposition format.
    const KIND: &'static str;
    /// Appends the lines of one metric.
    fn show(&self, out: &mut String, name: &str, labels: &str);
}

impl Show for Counter {
    const KIND: &'static str = "counter";
    fn show(&self, out: &mut String, name: &str, labels: &str) {
        let _ = writeln!(out, "{name}{labels} {}", self.get());
    }
}

impl Show for Gauge {
    const KIND: &'static str = "gauge";
    fn show(&self, out: &mut String, name: &str, labels: &str) {
        let _ = writeln!(out, "{name}{labels} {}", self.get());
    }
}

impl Show for Histogram {
    const KIND: &'static str = "histogram";
    fn show(&self, out: &mut String, name: &str, _: &str) {
        let mut total = 0;
        for (bound, count) in self.bounds.iter().zip(&self.counts) {
            total += count.load(Ordering::Relaxed);
            let _ = writeln!(out, "{name}_bucket{{le=\"{bound}\"}} {total}");
        }
        total += self.counts.last().map_or(0, |count| count.load(Ordering::Relaxed));
        let _ = writeln!(out, "{name}_bucket{{le=\"+Inf\"}} {total}");
        let _ = writeln!(out, "{name}_sum {}", self.sum.load(Ordering::Relaxed) as f64 / 1e6);
        let _ = writeln!(out, "{name}_count {total}");
    }
}

/// Appends a metric with its head.
pub trait WriteMetric {
    /// Appends the metric with its help and type.
    fn write(&self, out: &mut String, name: &str, help: &str);
}

impl<M: Show> WriteMetric for M {
    fn write(&self, out: &mut String, name: &str, help: &str) {
        head(out, name, help, M::KIND);
        self.show(out, name, "");
    }
}

impl WriteMetric for Family<Counter> {
    fn write(&self, out: &mut String, name: &str, help: &str) {
        write_family(self, out, name, help);
    }
}

impl WriteMetric for Family<Gauge> {
    fn write(&self, out: &mut String, name: &str, help: &str) {
        write_family(self, out, name, help);
    }
}

fn write_family<M: Show>(family: &Family<M>, out: &mut String, name: &str, help: &str) {
    head(out, name, help, M::KIND);
    for (values, metric) in family.members.read().unwrap_or_else(|poison| poison.into_inner()).iter() {
        let pair = |(label, value): (&&str, &String)| format!("{label}=\"{}\"", escape(value));
        let pairs: Vec<_> = family.labels.iter().zip(values).map(pair).collect();
        metric.show(out, name, &format!("{{{}}}", pairs.join(",")));
    }
}

/// The two lines before the values of a metric.
pub fn head(out: &mut String, name: &str, help: &str, kind: &str) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_counts_upwards() {
        let histogram = Histogram::new(&[1.0, 2.0]);
        for value in [0.5, 1.0, 1.5, 9.0] {
            histogram.observe(value);
        }
        let mut out = String::new();
        histogram.write(&mut out, "x", "help");
        let expected = "# HELP x help\n# TYPE x histogram\nx_bucket{le=\"1\"} 2\nx_bucket{le=\"2\"} 3\n\
                        x_bucket{le=\"+Inf\"} 4\nx_sum 12\nx_count 4\n";
        assert_eq!(out, expected);
    }

    #[test]
    fn label_values_are_escaped_and_bounded() {
        let family: Family<Counter> = Family::new(&["route"]);
        family.with(&["a\"b\\c\nd"]).add(2);
        let mut out = String::new();
        family.write(&mut out, "x_total", "help");
        assert!(out.ends_with("x_total{route=\"a\\\"b\\\\c\\nd\"} 2\n"), "{out}");
        for n in 0..5000 {
            family.with(&[&n.to_string()]).increment();
        }
        assert!(family.members.read().is_ok_and(|members| members.len() <= 1025));
    }
}
