//! The same table for a terminal and for a document.

use std::fmt::Write;

use serde::Serialize;

/// Columns with a title over them. The first column is text, the others are numbers.
#[derive(Debug, Serialize)]
pub(crate) struct Table {
    title: String,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new<const N: usize>(title: impl Into<String>, columns: [&str; N]) -> Self {
        Self { title: title.into(), columns: columns.map(str::to_owned).into(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: impl Into<Vec<String>>) {
        self.rows.push(cells.into());
    }

    pub(crate) fn as_text(&self) -> String {
        let width = |column: usize| {
            let cells = std::iter::once(&self.columns).chain(&self.rows);
            cells.filter_map(|cells| cells.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let mut text = format!("{}\n", self.title);
        for cells in std::iter::once(&self.columns).chain(&self.rows) {
            let mut line = String::new();
            for (column, cell) in cells.iter().enumerate() {
                let width = width(column);
                let _ = if column == 0 {
                    write!(line, "  {cell:<width$}")
                } else {
                    write!(line, "  {cell:>width$}")
                };
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    pub(crate) fn as_markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let rule: Vec<&str> =
            (0..self.columns.len()).map(|column| if column == 0 { "---" } else { "---:" }).collect();
        let mut text = format!("**{}**\n\n{}| {} |\n", self.title, line(&self.columns), rule.join(" | "));
        for row in &self.rows {
            text.push_str(&line(row));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_reads_the_same_in_both_forms() {
        let mut table = Table::new("Speed", ["what", "1/s"]);
        table.row(["relay".to_owned(), "12".to_owned()]);
        assert_eq!(table.as_text(), "Speed\n  what   1/s\n  relay   12\n");
        assert_eq!(table.as_markdown(), "**Speed**\n\n| what | 1/s |\n| --- | ---: |\n| relay | 12 |\n");
    }
}
