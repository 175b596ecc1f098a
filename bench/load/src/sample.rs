//! Percentiles and medians.

use std::time::Duration;

/// Milliseconds below which `share` of the samples lie; sorts `samples`.
pub fn percentile_ms(samples: &mut [Duration], share: f64) -> f64 {
    samples.sort_unstable();
    let last = samples.len().saturating_sub(1);
    let at = (last as f64 * share).round() as usize;
    samples.get(at).map_or(0.0, |sample| sample.as_secs_f64() * 1e3)
}

/// The middle value, or the mean of the two in the middle.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        count if count % 2 == 1 => Some(values[middle]),
        _ => Some((values[middle - 1] + values[middle]) / 2.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    #[test]
    fn a_percentile_is_a_sample() {
        let mut samples: Vec<_> = (1..=101).rev().map(Duration::from_millis).collect();
        assert_eq!((percentile_ms(&mut samples, 0.5), percentile_ms(&mut samples, 0.99)), (51.0, 100.0));
    }
}
