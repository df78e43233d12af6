//! The report for people.

use std::fmt;

use super::Report;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut group = None;
        for result in &self.cases {
            let case = result.case;
            if group.replace(case.group()) != Some(case.group()) {
                writeln!(f, "\n{}", case.group())?;
            }
            let optional = if case.is_optional { " (optional)" } else { "" };
            writeln!(f, "  {} {:<8} {}{optional}", case.number, result.status.to_string(), case.title())?;
            if let Some(text) = result.status.text() {
                writeln!(f, "               {text}")?;
            }
            if matches!(result.status, super::CaseStatus::Failed(_)) {
                writeln!(f, "               why it matters: {} [{}]", case.reason, case.source)?;
            }
        }
        let count = |name| self.count(name);
        writeln!(
            f,
            "\n{}: {} passed, {} failed, {} differ, {} skipped",
            self.target,
            count("passed"),
            count("failed"),
            count("differs"),
            count("skipped")
        )
    }
}
