//! Rates and percentiles.

use std::time::Duration;

/// The result of one measurement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub(crate) count: f64,
    /// Per second.
    pub(crate) rate: f64,
    /// Milliseconds.
    pub(crate) p50: f64,
    /// Milliseconds.
    pub(crate) p99: f64,
}

impl Load {
    pub(crate) fn of(mut took: Vec<Duration>, elapsed: Duration) -> Self {
        took.sort_unstable();
        let count = as_f64(took.len());
        Self {
            count,
            rate: count / elapsed.as_secs_f64(),
            p50: percentile(&took, 50),
            p99: percentile(&took, 99),
        }
    }
}

/// A percentile of ascending times, in milliseconds: the smallest time that this share does not exceed.
fn percentile(sorted: &[Duration], percent: usize) -> f64 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).map_or(f64::NAN, |time| time.as_secs_f64() * 1e3)
}

/// A count as a number to calculate with.
pub(crate) fn as_f64(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// The middle value, or the mean of the two middle values.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_unstable_by(f64::total_cmp);
    let (low, high) = (values.len().saturating_sub(1) / 2, values.len() / 2);
    match (values.get(low), values.get(high)) {
        (Some(low), Some(high)) => f64::midpoint(*low, *high),
        _ => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_value() {
        assert!((median([3.0, 1.0, 2.0]) - 2.0).abs() < 1e-9);
        assert!((median([4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < 1e-9);
        assert!(median([]).is_nan());
    }

    #[test]
    fn a_percentile_is_a_time_that_was_measured() {
        let took = (1..=200).map(Duration::from_millis).collect();
        let load = Load::of(took, Duration::from_secs(10));
        assert!((load.p50 - 100.0).abs() < 1e-9 && (load.p99 - 198.0).abs() < 1e-9, "{load:?}");
        assert!((load.rate - 20.0).abs() < 1e-9);
    }
}
