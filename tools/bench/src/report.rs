//! The report: every figure by its name, with its target if it has one.

use std::collections::BTreeMap;
use std::fmt::{Display, Formatter, Write};

use serde::Serialize;

use crate::environment::MachineInfo;
use crate::load::{Load, median};

/// The figures of one subject. The unit of a figure is the end of its name; a figure without unit is a ratio.
#[derive(Default, Serialize)]
pub(crate) struct Section {
    figures: BTreeMap<String, f64>,
    targets: BTreeMap<String, Target>,
}

/// The limit that a figure should reach.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
enum Target {
    AtLeast(f64),
    AtMost(f64),
}

impl Section {
    /// Adds a figure. A figure that could not be measured is NaN, and is left out.
    pub(crate) fn figure(&mut self, name: impl Into<String>, value: f64) {
        if value.is_finite() {
            self.figures.insert(name.into(), value);
        }
    }

    /// Adds a figure that should not be less than its target.
    pub(crate) fn at_least(&mut self, name: impl Into<String>, value: f64, target: f64) {
        self.with_target(name.into(), value, Target::AtLeast(target));
    }

    /// Adds a figure that should not be greater than its target.
    pub(crate) fn at_most(&mut self, name: impl Into<String>, value: f64, target: f64) {
        self.with_target(name.into(), value, Target::AtMost(target));
    }

    fn with_target(&mut self, name: String, value: f64, target: Target) {
        self.targets.insert(name.clone(), target);
        self.figure(name, value);
    }

    /// Adds the medians of some measurements.
    pub(crate) fn loads(&mut self, name: &str, loads: &[Load]) {
        let mut figure = |unit, of: fn(&Load) -> f64| {
            self.figure(format!("{name}_{unit}"), median(loads.iter().map(of)));
        };
        figure("per_second", |load| load.rate);
        figure("p50_ms", |load| load.p50);
        figure("p99_ms", |load| load.p99);
    }
}

impl Target {
    fn is_reached_by(self, value: f64) -> bool {
        match self {
            Self::AtLeast(target) => value >= target,
            Self::AtMost(target) => value <= target,
        }
    }
}

impl Display for Target {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::AtLeast(target) => write!(formatter, "≥ {target}"),
            Self::AtMost(target) => write!(formatter, "≤ {target}"),
        }
    }
}

/// One run.
#[derive(Serialize)]
pub(crate) struct Report {
    command: String,
    #[serde(rename = "facts")]
    machine: MachineInfo,
    #[serde(flatten)]
    figures: Section,
}

impl Report {
    pub(crate) fn new(machine: MachineInfo, command: String) -> Self {
        Self { command, machine, figures: Section::default() }
    }

    pub(crate) fn add(&mut self, section: Section) {
        self.figures.figures.extend(section.figures);
        self.figures.targets.extend(section.targets);
    }

    /// For the terminal: a line for each figure.
    pub(crate) fn as_text(&self) -> String {
        let Section { figures, targets } = &self.figures;
        let mut text = format!("{}\n{}\n\n", self.command, self.machine.sentence());
        let width = figures.keys().map(String::len).max().unwrap_or_default();
        for (name, &value) in figures {
            let _ = write!(text, "{name:<width$}  {:>8}", number(value));
            if let Some(target) = targets.get(name) {
                let verdict = if target.is_reached_by(value) { "reached" } else { "missed" };
                let _ = write!(text, "   {target}  {verdict}");
            }
            text.push('\n');
        }
        text
    }
}

/// A number with at least three digits.
fn number(value: f64) -> String {
    let digits = match value {
        100.0.. => 0,
        10.0.. => 1,
        1.0.. => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_figure_and_whether_it_reaches_its_target() {
        let mut section = Section::default();
        section.at_least("relay.to_producer", 1.314, 0.9);
        section.at_most("days.worst", 1.06, 1.05);
        section.figure("relay.drain_per_second", 162_818.4);
        section.figure("relay.not_measured", f64::NAN);
        let mut report = Report::new(MachineInfo::default(), "./dev bench".to_owned());
        report.add(section);
        let text = report.as_text();
        let lines: Vec<&str> = text.lines().skip(3).collect();
        assert_eq!(
            lines,
            [
                "days.worst                  1.06   ≤ 1.05  missed",
                "relay.drain_per_second    162818",
                "relay.to_producer           1.31   ≥ 0.9  reached",
            ]
        );
    }
}
