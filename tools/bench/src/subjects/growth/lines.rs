//! The cost of a unit of work, for each number of rows.

use crate::report::Section;
use crate::subjects::meter::Cost;

/// No cost may grow by more than this among filled tables. An empty table does not count, because its indexes have one page.
const LIMIT: f64 = 1.3;

/// The costs so far, and their figures.
#[derive(Default)]
pub(super) struct Lines {
    pub(super) section: Section,
    lines: Vec<Line>,
}

/// The pages of one unit, by number of rows, ascending.
struct Line {
    name: String,
    pages: Vec<(usize, f64)>,
}

impl Lines {
    /// Adds the cost of so many units to the line with this name.
    pub(super) fn add(&mut self, name: &str, rows: usize, cost: Cost, units: f64) {
        let (pages, micros) = (cost.pages / units, cost.micros / units);
        eprintln!("growth: {name}, {rows} rows: {pages:.3} pages, {micros:.1} µs");
        self.section.figure(format!("growth.{name}.of_{rows}_pages"), pages);
        self.section.figure(format!("growth.{name}.of_{rows}_us"), micros);
        match self.lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.pages.push((rows, pages)),
            None => self.lines.push(Line { name: name.to_owned(), pages: vec![(rows, pages)] }),
        }
    }

    /// Adds the growth of each line from its first column with rows. From an empty table, each level of an index is a page more.
    pub(super) fn into_section(self) -> Section {
        let (mut section, mut worst) = (self.section, f64::NAN);
        for Line { name, pages } in self.lines {
            let first = pages.iter().find(|(rows, _)| *rows > 0);
            if let (Some((_, first)), Some((_, last))) = (first, pages.last()) {
                section.figure(format!("growth.{name}.last_to_first"), last / first);
                worst = worst.max(last / first);
            }
        }
        section.at_most("growth.worst_last_to_first", worst, LIMIT);
        section
    }
}
