//! The table: a line for each statement, with its cost for each number of rows.

use crate::report::{Ratio, Section, Table, number};
use crate::subjects::meter::Cost;

/// No cost may grow by more than this among filled tables (docs/decisions/0025).
const LIMIT: f64 = 1.3;

/// The lines so far.
#[derive(Default)]
pub(super) struct Lines(Vec<StatementCost>);

struct StatementCost {
    /// The rows that grow.
    grows: &'static str,
    /// The statements, and the unit of their cost.
    statements: &'static str,
    columns: Vec<Column>,
}

/// The cost of one unit, among so many rows.
struct Column {
    rows: usize,
    pages: f64,
    micros: f64,
}

impl Lines {
    /// Adds the cost of so many units to the line with this name.
    pub(super) fn add(
        &mut self,
        grows: &'static str,
        statements: &'static str,
        rows: usize,
        cost: Cost,
        units: f64,
    ) {
        let column = Column { rows, pages: cost.pages / units, micros: cost.micros / units };
        eprintln!(
            "growth: {grows}, {rows} rows: {statements}: {:.3} pages, {:.1} µs",
            column.pages, column.micros
        );
        let is_same = |line: &&mut StatementCost| line.grows == grows && line.statements == statements;
        match self.0.iter_mut().find(is_same) {
            Some(line) => line.columns.push(column),
            None => self.0.push(StatementCost { grows, statements, columns: vec![column] }),
        }
    }

    pub(super) fn report(self, section: &mut Section) {
        let mut table = Table::new(
            "The cost of a unit: pages of the database's cache, and microseconds, among so many rows",
            ["what grows", "statements: unit", "rows", "pages", "µs", "pages: last ÷ first filled", "µs"],
        );
        let mut worst = f64::NAN;
        for line in &self.0 {
            let grown = line.grown(|column| column.pages);
            worst = worst.max(grown);
            table.row([
                line.grows.to_owned(),
                line.statements.to_owned(),
                line.join(|column| magnitude(column.rows)),
                line.join(|column| number(column.pages, if column.pages < 1.0 { 3 } else { 1 })),
                line.join(|column| number(column.micros, 0)),
                number(grown, 2),
                number(line.grown(|column| column.micros), 2),
            ]);
        }
        section.ratios.push(Ratio::at_most("growth of the cost of a unit, worst line, pages", worst, LIMIT));
        section.tables.push(table);
    }
}

impl StatementCost {
    fn join(&self, text: impl Fn(&Column) -> String) -> String {
        self.columns.iter().map(text).collect::<Vec<_>>().join(" · ")
    }

    /// The growth of the cost from the first column with rows. From an empty table, each level of an index is a page more.
    fn grown(&self, cost: impl Fn(&Column) -> f64) -> f64 {
        match (self.columns.iter().find(|column| column.rows > 0), self.columns.last()) {
            (Some(first), Some(last)) => cost(last) / cost(first),
            _ => f64::NAN,
        }
    }
}

/// A number of rows, such as `100 k` or `10 M`.
pub(super) fn magnitude(rows: usize) -> String {
    match rows {
        0 => "0".to_owned(),
        rows if rows % 1_000_000 == 0 => format!("{} M", rows / 1_000_000),
        rows => format!("{} k", rows / 1_000),
    }
}
