//! The report: ratios first, because only ratios are comparable between machines.

pub(crate) mod charts;
pub(crate) mod document;
mod table;

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use crate::environment::MachineInfo;

pub(crate) use table::Table;

/// The results of one subject.
#[derive(Default)]
pub(crate) struct Section {
    pub(crate) ratios: Vec<Ratio>,
    pub(crate) tables: Vec<Table>,
    figures: BTreeMap<String, f64>,
}

impl Section {
    /// A figure of the JSON report.
    pub(crate) fn figure(&mut self, name: impl Into<String>, value: f64) {
        if value.is_finite() {
            self.figures.insert(name.into(), value);
        }
    }
}

/// A ratio to a floor or ceiling, and its target.
#[derive(Debug, Serialize)]
pub(crate) struct Ratio {
    name: String,
    value: f64,
    target: f64,
    /// Below the target is better.
    less_is_better: bool,
}

impl Ratio {
    pub(crate) fn new(name: impl Into<String>, value: f64, target: f64) -> Self {
        Self { name: name.into(), value, target, less_is_better: false }
    }

    /// A figure with an upper limit.
    pub(crate) fn at_most(name: impl Into<String>, value: f64, target: f64) -> Self {
        Self { name: name.into(), value, target, less_is_better: true }
    }

    fn row(&self) -> [String; 4] {
        let digits = if self.target < 10.0 { 2 } else { 0 };
        let reached = if self.less_is_better { self.value <= self.target } else { self.value >= self.target };
        let sign = if self.less_is_better { '≤' } else { '≥' };
        [
            self.name.clone(),
            number(self.value, digits),
            format!("{sign} {}", number(self.target, digits)),
            if reached { "reached" } else { "missed" }.to_owned(),
        ]
    }
}

/// One run.
#[derive(Serialize)]
pub(crate) struct Report {
    command: String,
    #[serde(rename = "facts")]
    machine: MachineInfo,
    ratios: Vec<Ratio>,
    tables: Vec<Table>,
    figures: BTreeMap<String, f64>,
}

impl Report {
    pub(crate) fn new(machine: MachineInfo, command: String) -> Self {
        Self { command, machine, ratios: Vec::new(), tables: Vec::new(), figures: BTreeMap::new() }
    }

    pub(crate) fn add(&mut self, section: Section) {
        self.ratios.extend(section.ratios);
        self.tables.extend(section.tables);
        self.figures.extend(section.figures);
    }

    /// Every figure by its name.
    pub(crate) fn figures(&self) -> &BTreeMap<String, f64> {
        &self.figures
    }

    /// For the terminal.
    pub(crate) fn as_text(&self) -> String {
        let mut text =
            format!("{}\n{}\n\n{}", self.command, self.machine.sentence(), self.ratio_table().as_text());
        for table in &self.tables {
            let _ = write!(text, "\n{}", table.as_text());
        }
        text
    }

    /// For the document.
    pub(crate) fn as_markdown(&self) -> String {
        let mut text = format!(
            "`{}`: {}.\n\n{}",
            self.command,
            self.machine.sentence(),
            self.ratio_table().as_markdown()
        );
        for table in &self.tables {
            let _ = write!(text, "\n{}", table.as_markdown());
        }
        text
    }

    fn ratio_table(&self) -> Table {
        let mut table = Table::new("Ratios and targets", ["what", "measured", "target", ""]);
        for ratio in &self.ratios {
            table.row(ratio.row());
        }
        table
    }
}

/// A number with so many decimals; empty if there is none.
pub(crate) fn number(value: f64, digits: usize) -> String {
    if value.is_finite() { format!("{value:.digits$}") } else { String::new() }
}
