//! Replaces the table between two markers of a document.

use std::path::Path;

use harness::{Context, Error, Result};

const BEGIN: &str = "<!-- ./dev bench --write: all lines from here on are replaced -->\n";
const END: &str = "<!-- ./dev bench --write: up to here -->\n";

/// Replaces the old table by the new one.
pub(crate) fn replace_table(file: &Path, table: &str) -> Result<()> {
    let doing = || format!("update {}", file.display());
    let text = std::fs::read_to_string(file).context(doing())?;
    let replaced = replaced(&text, table)
        .ok_or_else(|| Error::Refused(format!("{} has no markers for the table: {BEGIN}", file.display())))?;
    std::fs::write(file, replaced).context(doing())
}

fn replaced(text: &str, table: &str) -> Option<String> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{table}\n{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_text_between_the_markers_is_replaced() {
        let document = format!("before\n{BEGIN}old\n{END}after\n");
        let once = replaced(&document, "new\n").unwrap();
        assert_eq!(once, format!("before\n{BEGIN}\nnew\n\n{END}after\n"));
        assert_eq!(replaced(&once, "new\n").unwrap(), once);
        assert_eq!(replaced("no markers", "new"), None);
    }
}
