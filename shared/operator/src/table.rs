//! Formats operators' output as aligned columns.

use std::fmt::Write;

/// Aligns rows under a heading; an empty heading is left out. Each column is as wide as its widest cell.
pub fn table(heading: &[&str], rows: &[Vec<String>]) -> String {
    let heading: Vec<String> = heading.iter().map(ToString::to_string).collect();
    let all = || std::iter::once(&heading).filter(|heading| !heading.is_empty()).chain(rows);
    let width = |column: usize| {
        all().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..all().map(Vec::len).max().unwrap_or(0)).map(width).collect();
    let mut text = String::new();
    for row in all() {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(line, "{cell:width$}  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Replaces control characters. Otherwise text from a message could control the operator's terminal.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [vec!["ä".to_owned(), "b".to_owned()], vec!["ccc".to_owned(), "d".to_owned()]];
        assert_eq!(table(&["x", "error"], &rows), "x    error\nä    b\nccc  d\n");
    }
}
