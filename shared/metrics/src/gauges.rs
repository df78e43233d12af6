//! Gauges that are not counted: values that are computed when they are shown, and `Readings`, values that were read together.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeGaugeValue, EncodeMetric, GaugeValueEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

/// The value of a gauge: a whole number, or a fraction such as seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// A number of things.
    Whole(i64),
    /// A measure.
    Fraction(f64),
}

impl From<i64> for Number {
    fn from(number: i64) -> Self {
        Self::Whole(number)
    }
}

impl From<bool> for Number {
    fn from(is_true: bool) -> Self {
        Self::Whole(is_true.into())
    }
}

impl From<f64> for Number {
    fn from(number: f64) -> Self {
        Self::Fraction(number)
    }
}

impl From<Number> for f64 {
    #[expect(clippy::cast_precision_loss, reason = "as Prometheus does, which has fractions only")]
    fn from(number: Number) -> Self {
        match number {
            Number::Whole(number) => number as Self,
            Number::Fraction(number) => number,
        }
    }
}

impl EncodeGaugeValue for Number {
    fn encode(&self, encoder: &mut GaugeValueEncoder<'_>) -> fmt::Result {
        match self {
            Self::Whole(number) => number.encode(encoder),
            Self::Fraction(number) => number.encode(encoder),
        }
    }
}

/// One value of a gauge, with its labels. Labels must have a fixed number of values.
#[derive(Debug, Clone)]
pub struct Sample {
    /// Pairs of name and value.
    pub labels: Vec<(&'static str, String)>,
    /// The value.
    pub value: Number,
}

impl Sample {
    /// The value without labels.
    pub fn plain(value: impl Into<Number>) -> Self {
        Self { labels: Vec::new(), value: value.into() }
    }

    /// The value for one value of a label.
    pub fn labelled(label: &'static str, of: impl Into<String>, value: impl Into<Number>) -> Self {
        Self { labels: vec![(label, of.into())], value: value.into() }
    }
}

/// Registers a gauge whose samples are computed when they are shown. The function must not wait.
pub fn register_gauges(
    registry: &mut Registry,
    name: &'static str,
    help: &'static str,
    compute: impl Fn() -> Vec<Sample> + Send + Sync + 'static,
) {
    registry.register_collector(Box::new(Computed { name, help, compute }));
}

struct Computed<F> {
    name: &'static str,
    help: &'static str,
    compute: F,
}

impl<F> fmt::Debug for Computed<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl<F: Fn() -> Vec<Sample> + Send + Sync + 'static> Collector for Computed<F> {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let help = format!("{}.", self.help);
        let mut family = encoder.encode_descriptor(self.name, &help, None, MetricType::Gauge)?;
        for Sample { labels, value } in (self.compute)() {
            let gauge = ConstGauge::new(value);
            if labels.is_empty() {
                gauge.encode(family.encode_family(&NO_LABELS)?)?;
            } else {
                gauge.encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}

const NO_LABELS: [(&str, &str); 0] = [];

/// Gauges that were read together, for instance from the database. A gauge that could not be read is left out, because zero would
/// be wrong.
#[derive(Debug, Default)]
pub struct Readings {
    registry: Registry,
    samples: Vec<(&'static str, Vec<Sample>)>,
}

impl Readings {
    /// Adds a gauge without labels.
    pub fn add(&mut self, name: &'static str, help: &'static str, value: impl Into<Number>) {
        self.add_all(name, help, [Sample::plain(value)]);
    }

    /// Adds a gauge with these samples.
    pub fn add_all(
        &mut self,
        name: &'static str,
        help: &'static str,
        samples: impl IntoIterator<Item = Sample>,
    ) {
        let samples: Vec<Sample> = samples.into_iter().collect();
        self.samples.push((name, samples.clone()));
        register_gauges(&mut self.registry, name, help, move || samples.clone());
    }

    /// Adds a counter that is kept elsewhere. The name has no suffix; `_total` is added.
    pub fn add_counter(&mut self, name: &'static str, help: &'static str, count: u64) {
        self.registry.register(name, help, ConstCounter::new(count));
    }

    /// The samples of a gauge; none if it was not read.
    pub fn samples(&self, name: &str) -> impl Iterator<Item = &Sample> {
        self.samples.iter().filter(move |(gauge, _)| *gauge == name).flat_map(|(_, samples)| samples)
    }

    /// The gauges, to show them.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write;

    #[test]
    fn a_reading_is_exported_as_a_number_with_or_without_labels() {
        let mut readings = Readings::default();
        readings.add("age_seconds", "An age", 1.5);
        readings.add_all("open", "What is open", [Sample::labelled("state", "new", 7_i64)]);
        let text = write([readings.registry()]);
        for line in
            ["# HELP age_seconds An age.", "# TYPE open gauge", "age_seconds 1.5", "open{state=\"new\"} 7"]
        {
            assert!(text.lines().any(|found| found == line), "{line} is not in {text}");
        }
    }
}
