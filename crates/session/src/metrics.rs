//! What the metrics of the engine and the server are made of: the types of `prometheus-client`, and a histogram
//! without a lock.
//!
//! Label values come from closed sets or route templates, and no label ever holds an id.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
pub use prometheus_client::metrics::counter::Counter;
pub use prometheus_client::metrics::family::Family;
pub use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::{MetricType, TypedMetric};
pub use prometheus_client::registry::{Metric, Registry};

/// A metric at zero, shown by a registry. `help` has no full stop, and the name of a counter no `_total`: the encoder
/// adds them.
pub fn register<M: Metric + Clone + Default>(registry: &mut Registry, name: &str, help: &str) -> M {
    let metric = M::default();
    registry.register(name, help, metric.clone());
    metric
}

/// An empty histogram, shown by a registry.
pub fn register_histogram(
    registry: &mut Registry,
    name: &str,
    help: &str,
    bounds: &'static [f64],
) -> Histogram {
    let histogram = Histogram::new(bounds);
    registry.register(name, help, histogram.clone());
    histogram
}

/// Raises a gauge while it lives.
pub struct GaugeGuard(Gauge);

impl GaugeGuard {
    /// Adds one until it is dropped.
    pub fn new(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for GaugeGuard {
    fn drop(&mut self) {
        self.0.dec();
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
///
/// The histogram of `prometheus-client` takes a mutex for each value; a thread that commits or serves must not wait for
/// one that was preempted with it.
#[derive(Debug, Clone)]
pub struct Histogram(Arc<Counts>);

#[derive(Debug)]
struct Counts {
    bounds: &'static [f64],
    /// One per bound, and one for what is above them all.
    buckets: Box<[AtomicU64]>,
    /// In millionths, so that an integer can hold it.
    sum: AtomicU64,
}

impl Histogram {
    /// With the upper bounds of its buckets, in ascending order.
    pub fn new(bounds: &'static [f64]) -> Self {
        let buckets = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self(Arc::new(Counts { bounds, buckets, sum: AtomicU64::new(0) }))
    }

    /// Counts a value.
    pub fn observe(&self, value: f64) {
        let bucket = self.0.bounds.partition_point(|bound| *bound < value);
        self.0.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        self.0.sum.fetch_add((value.max(0.0) * 1e6) as u64, Ordering::Relaxed);
    }
}

impl TypedMetric for Histogram {
    const TYPE: MetricType = MetricType::Histogram;
}

impl EncodeMetric for Histogram {
    fn encode(&self, mut encoder: MetricEncoder) -> Result<(), std::fmt::Error> {
        let bounds = self.0.bounds.iter().copied().chain([f64::INFINITY]);
        let counts = self.0.buckets.iter().map(|count| count.load(Ordering::Relaxed));
        let buckets: Vec<(f64, u64)> = bounds.zip(counts).collect();
        let sum = self.0.sum.load(Ordering::Relaxed) as f64 / 1e6;
        let count = buckets.iter().map(|(_, count)| count).sum();
        encoder.encode_histogram::<NoLabelSet>(sum, count, &buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;

    use super::*;

    #[test]
    fn a_histogram_counts_upwards() {
        let mut registry = Registry::default();
        let histogram = register_histogram(&mut registry, "x", "Help", &[1.0, 2.0]);
        for value in [0.5, 1.0, 1.5, 9.0] {
            histogram.observe(value);
        }
        let mut out = String::new();
        encode(&mut out, &registry).expect("a string takes everything");
        let expected = "# HELP x Help.\n# TYPE x histogram\nx_sum 12.0\nx_count 4\nx_bucket{le=\"1.0\"} 2\n\
                        x_bucket{le=\"2.0\"} 3\nx_bucket{le=\"+Inf\"} 4\n# EOF\n";
        assert_eq!(out, expected);
    }

    #[test]
    fn a_guard_lowers_the_gauge_when_it_is_dropped() {
        let gauge: Gauge = Gauge::default();
        let guard = GaugeGuard::new(&gauge);
        assert_eq!(gauge.get(), 1);
        drop(guard);
        assert_eq!(gauge.get(), 0);
    }
}
