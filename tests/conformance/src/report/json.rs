//! The report for programs.

use serde_json::{Value, json};

use super::Report;

impl Report {
    /// The report as JSON: `target`, and `cases` with number, status and text.
    pub fn as_json(&self) -> Value {
        let cases = self.cases.iter().map(|result| {
            json!({
                "number": result.case.number,
                "group": result.case.group().to_string(),
                "title": result.case.title(),
                "source": result.case.source,
                "optional": result.case.is_optional,
                "status": result.status.to_string(),
                "text": result.status.text(),
                "milliseconds": u64::try_from(result.took.as_millis()).unwrap_or(u64::MAX),
            })
        });
        json!({ "target": self.target, "cases": cases.collect::<Vec<Value>>() })
    }
}
