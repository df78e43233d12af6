//! `Metrics`: the series of `/metrics`, parsed for tests.

use std::collections::BTreeMap;

use ::metrics::{Families, Readings, Registry, write};
use database::Database;

/// The values of all series at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Metrics {
    values: BTreeMap<String, String>,
    families: BTreeMap<String, String>,
}

impl Metrics {
    /// The series that were counted with this handle of a database.
    pub fn counted<F: Families>(database: &Database) -> Self {
        let mut registry = Registry::default();
        database.metrics::<F>().register(&mut registry);
        Self::of_registry(&registry)
    }

    /// The families of a registry.
    pub fn of_registry(registry: &Registry) -> Self {
        Self::parse(&write([registry]))
    }

    /// Gauges that were read.
    pub fn read(readings: &Readings) -> Self {
        Self::of_registry(readings.registry())
    }

    /// Prometheus' text format.
    pub fn parse(text: &str) -> Self {
        let mut metrics = Self::default();
        for line in text.lines() {
            if let Some(family) = line.strip_prefix("# TYPE ") {
                let family = family.split_once(' ').map(|(name, kind)| (name.to_owned(), kind.to_owned()));
                metrics.families.extend(family);
            } else if let Some((series, value)) = line.rsplit_once(' ').filter(|_| !line.starts_with('#')) {
                metrics.values.insert(series.to_owned(), value.to_owned());
            }
        }
        metrics
    }

    /// Name and type of each family.
    pub fn families(&self) -> &BTreeMap<String, String> {
        &self.families
    }

    /// The number in a series, such as `sold_total{fruit="apple"}`. Panics if it is not there.
    #[track_caller]
    pub fn count(&self, series: &str) -> i64 {
        whole(self.text(series))
    }

    /// The measure in a series, such as `age_seconds`. Panics if it is not there.
    #[track_caller]
    pub fn measure(&self, series: &str) -> f64 {
        self.text(series).parse().unwrap()
    }

    #[track_caller]
    fn text(&self, series: &str) -> &str {
        let value = self.values.get(series);
        value.unwrap_or_else(|| panic!("{series} is not there: {:#?}", self.values))
    }

    /// The series of a family, zero or not.
    pub fn series_of(&self, family: &str) -> Vec<&str> {
        self.values.keys().map(String::as_str).filter(|series| series.starts_with(family)).collect()
    }

    /// The series of a family that are not zero: the value of the label, and the number.
    pub fn by_label(&self, family: &str) -> Vec<(String, i64)> {
        let labelled = self.values.iter().filter_map(|(series, value)| {
            let (_, label) = series.strip_prefix(family)?.strip_prefix('{')?.split_once("=\"")?;
            Some((label.split('"').next()?.to_owned(), whole(value)))
        });
        labelled.filter(|(_, number)| *number != 0).collect()
    }
}

/// Sums of histograms are written as fractions.
#[track_caller]
fn whole(value: &str) -> i64 {
    value.strip_suffix(".0").unwrap_or(value).parse().unwrap()
}

/// Labels with their numbers, as [`Metrics::by_label`] returns them.
pub fn labelled(expected: &[(&str, i64)]) -> Vec<(String, i64)> {
    expected.iter().map(|(label, number)| ((*label).to_owned(), *number)).collect()
}
