//! The page: lines in the order of time, what could not be read, and the status of the order.

use std::fmt;

use audits::Database;
use chrono::{DateTime, Utc};
use envelope::Topics;
use serde::Serialize;
use uuid::Uuid;

use super::fact::{Fact, with_money};
use super::facts::Facts;
use super::obstacle::first;
use crate::table::{printable, table};

/// The output of `operator explain`.
#[derive(Debug, Serialize)]
pub(crate) struct Page {
    order: Uuid,
    /// `None` if there is no such order, or orders could not be read.
    pub(crate) tenant: Option<String>,
    summary: String,
    pub(crate) lines: Vec<Line>,
    /// Events that are not in an outbox.
    gaps: Vec<String>,
    /// Parts that could not be read.
    unread: Vec<String>,
    /// State, stock, money and obstacle.
    status: String,
    /// The command that helps. The operator fills in name and reason.
    cure: Option<String>,
}

/// One line.
#[derive(Debug, Serialize)]
pub(crate) struct Line {
    at: String,
    /// Since the first line.
    offset_milliseconds: i64,
    database: &'static str,
    step: String,
    text: String,
}

impl Page {
    pub(crate) fn new(order: Uuid, facts: &Facts, topics: &Topics) -> Self {
        let obstacle = first(facts);
        let what = obstacle.as_ref().map(|it| format!("; {}", it.what)).unwrap_or_default();
        Self {
            order,
            tenant: facts.texts("tenant").next().map(str::to_owned),
            summary: shown(facts.texts("summary").next().unwrap_or("its row is unread")),
            lines: lines(facts, topics),
            gaps: facts.texts("gap").map(str::to_owned).collect(),
            unread: facts.unread.iter().map(|text| printable(text)).collect(),
            status: shown(&format!("{}{what}", status(facts))),
            cure: obstacle.and_then(|obstacle| obstacle.cure),
        }
    }
}

/// All lines, in the order of time.
fn lines(facts: &Facts, topics: &Topics) -> Vec<Line> {
    let mut rows: Vec<_> =
        facts.rows.iter().filter_map(|(database, fact)| Some((fact.at?, database, fact))).collect();
    rows.sort_by_key(|(at, _, fact)| (*at, fact.rank()));
    let first = rows.first().map(|(at, ..)| *at).unwrap_or_default();
    let line = |(at, database, fact): (DateTime<Utc>, &Database, &Fact)| Line {
        at: at.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
        offset_milliseconds: (at - first).num_milliseconds(),
        database: database.name(),
        step: fact.step.clone(),
        text: shown(&text(fact, topics)),
    };
    rows.into_iter().map(line).collect()
}

fn text(fact: &Fact, topics: &Topics) -> String {
    match &fact.detail.event {
        Some(event) => format!("{} → {}, {}", fact.text, event.place(topics), event.state),
        None => fact.text.clone(),
    }
}

/// One sentence of each service about the order.
fn status(facts: &Facts) -> String {
    let of_service = |service: Database| {
        let own = facts.rows.iter().find(|(database, fact)| *database == service && fact.step == "status");
        let unread = facts.unread_services.contains(&service).then(|| format!("{} unread", service.name()));
        own.map(|(_, fact)| fact.text.clone()).or(unread)
    };
    Database::services().filter_map(of_service).collect::<Vec<_>>().join(", ")
}

/// A text for the terminal.
fn shown(text: &str) -> String {
    printable(&with_money(text))
}

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenant = self.tenant.as_deref().unwrap_or("?");
        writeln!(f, "order {} of tenant {tenant}: {}\n", self.order, self.summary)?;
        let row = |line: &Line| {
            let milliseconds = line.offset_milliseconds;
            let offset = format!("{:>+5}.{:03} s", milliseconds / 1000, milliseconds % 1000);
            vec![line.at.clone(), offset, line.database.to_owned(), line.step.clone(), line.text.clone()]
        };
        f.write_str(&table(&self.lines.iter().map(row).collect::<Vec<_>>()))?;
        writeln!(f)?;
        for gap in &self.gaps {
            writeln!(f, "gap: {gap}")?;
        }
        for part in &self.unread {
            writeln!(f, "not read: {part}")?;
        }
        let cure = self.cure.as_deref().map(|cure| format!("; cure: {cure}")).unwrap_or_default();
        writeln!(f, "status: {}{cure}", self.status)
    }
}
