//! Text for a terminal: columns of equal width, and no control characters.

/// Writes the rows below each other. Each column is as wide as its widest cell; the last one is not padded.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// Replaces control characters. An error of a database can contain bytes of a stranger, which must not move the cursor of a terminal.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|it| if it.is_control() { ' ' } else { it }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["a", "é", "c"], ["aa", "b", "cc"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(table(&rows), "a   é  c\naa  b  cc\n");
    }

    #[test]
    fn a_control_character_does_not_reach_the_terminal() {
        assert_eq!(printable("a\u{1b}[2J\nb"), "a [2J b");
    }
}
