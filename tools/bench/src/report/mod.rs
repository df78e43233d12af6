//! What was found: ratios first, because only those hold on another machine.

pub(crate) mod document;
mod table;

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use crate::ground::Facts;

pub(crate) use table::Table;

/// What one part found.
#[derive(Default)]
pub(crate) struct Part {
    pub(crate) ratios: Vec<Ratio>,
    pub(crate) tables: Vec<Table>,
    figures: BTreeMap<String, f64>,
}

impl Part {
    /// A number for programs to read.
    pub(crate) fn figure(&mut self, name: impl Into<String>, value: f64) {
        if value.is_finite() {
            self.figures.insert(name.into(), value);
        }
    }
}

/// A figure beside its floor or ceiling, and what was aimed at.
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

    /// Not a ratio, but held against a target all the same: at most this much.
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
    facts: Facts,
    ratios: Vec<Ratio>,
    tables: Vec<Table>,
    figures: BTreeMap<String, f64>,
}

impl Report {
    pub(crate) fn new(facts: Facts, command: String) -> Self {
        Self { command, facts, ratios: Vec::new(), tables: Vec::new(), figures: BTreeMap::new() }
    }

    pub(crate) fn add(&mut self, part: Part) {
        self.ratios.extend(part.ratios);
        self.tables.extend(part.tables);
        self.figures.extend(part.figures);
    }

    /// For the terminal.
    pub(crate) fn as_text(&self) -> String {
        let mut text =
            format!("{}\n{}\n\n{}", self.command, self.facts.sentence(), self.ratio_table().as_text());
        for table in &self.tables {
            let _ = write!(text, "\n{}", table.as_text());
        }
        text
    }

    /// For the document.
    pub(crate) fn as_markdown(&self) -> String {
        let mut text =
            format!("`{}`: {}.\n\n{}", self.command, self.facts.sentence(), self.ratio_table().as_markdown());
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

/// A number for people: so many digits behind the point; nothing if there is none.
pub(crate) fn number(value: f64, digits: usize) -> String {
    if value.is_finite() { format!("{value:.digits$}") } else { String::new() }
}
