//! The page: lines in the order of time, what could not be read, and where the order is.

use std::fmt;

use serde::Serialize;
use uuid::Uuid;

use super::facts::Facts;
use super::line::{FactLine, money};
use super::order_status::OrderStatus;
use crate::table::{printable, table};

/// The output of `operator explain`.
#[derive(Debug, Serialize)]
pub(crate) struct Page {
    order: Uuid,
    /// `None` if orders could not be read.
    tenant: Option<String>,
    summary: String,
    lines: Vec<PageLine>,
    /// Events that are not in an outbox.
    gaps: Vec<String>,
    /// Parts that could not be read.
    unread: Vec<String>,
    /// State, stock, money and obstacle.
    status: String,
    /// The command that helps.
    cure: Option<String>,
}

/// One line.
#[derive(Debug, Serialize)]
struct PageLine {
    at: String,
    /// Since the first line.
    offset_milliseconds: i64,
    database: &'static str,
    step: &'static str,
    text: String,
}

impl Page {
    pub(crate) fn new(order: Uuid, facts: &Facts, lines: Vec<FactLine>, status: OrderStatus) -> Self {
        let row = facts.order.rows().map(|rows| &rows.order);
        let summary = row.map_or("its row is unread".to_owned(), |row| {
            let contents = row.contents.as_deref().unwrap_or("nothing");
            format!("{contents} for {}", money(row.amount, &row.currency))
        });
        let first = lines.first().map(|line| line.at);
        let line = |line: FactLine| PageLine {
            at: line.at.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
            offset_milliseconds: first.map_or(0, |first| (line.at - first).num_milliseconds()),
            database: line.database.name(),
            step: line.step.name(),
            text: line.text,
        };
        Self {
            order,
            tenant: row.map(|row| row.tenant_id.clone()),
            summary: printable(&summary),
            lines: lines.into_iter().map(line).collect(),
            gaps: facts.gaps(),
            unread: facts.unread.iter().map(|text| printable(text)).collect(),
            status: printable(&status.text),
            cure: status.cure,
        }
    }
}

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenant = self.tenant.as_deref().unwrap_or("?");
        writeln!(f, "order {} of tenant {tenant}: {}\n", self.order, self.summary)?;
        let row = |line: &PageLine| {
            let milliseconds = line.offset_milliseconds;
            let offset = format!("{:>+5}.{:03} s", milliseconds / 1000, milliseconds % 1000);
            vec![line.at.clone(), offset, line.database.to_owned(), line.step.to_owned(), line.text.clone()]
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
