//! One line of the page: when, where, what.

use audits::Database;
use chrono::{DateTime, Utc};
use contracts::{Currency, Money};

use crate::table::printable;

/// The kind of a line. Lines of the same time are sorted by it, because one transaction writes its rows in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    /// A command of a client, with its key.
    Request,
    /// A message that a consumer has entered.
    Inbox,
    /// A message that waits for an operator, or for an earlier message.
    Waiting,
    /// A row of the business.
    Row,
    /// An audit fact that no client asked for.
    Fact,
    /// A transaction of the ledger.
    Ledger,
    /// An event, and its place on a topic.
    Outbox,
    /// A processor call.
    Call,
    /// The processor's own record.
    Processor,
    /// A question about money that a person answers.
    Review,
}

impl Step {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Inbox => "inbox",
            Self::Waiting => "waiting",
            Self::Row => "row",
            Self::Fact => "fact",
            Self::Outbox => "outbox",
            Self::Call => "call",
            Self::Processor => "processor",
            Self::Ledger => "ledger",
            Self::Review => "review",
        }
    }
}

/// A line.
#[derive(Debug, Clone)]
pub(crate) struct FactLine {
    /// By the clock of the database that has the row.
    pub(crate) at: DateTime<Utc>,
    pub(crate) database: Database,
    pub(crate) step: Step,
    pub(crate) text: String,
}

impl FactLine {
    pub(crate) fn new(at: DateTime<Utc>, database: Database, step: Step, text: impl AsRef<str>) -> Self {
        Self { at, database, step, text: printable(text.as_ref()) }
    }
}

/// An amount of minor units in the currency's own form.
pub(crate) fn money(amount: i64, currency: &str) -> String {
    match currency.parse::<Currency>() {
        Ok(currency) => Money::new(amount, currency).to_string(),
        Err(_) => format!("{amount} minor units of {currency}"),
    }
}

/// The name of an event without its source and version: `OrderPlaced` of `orders.OrderPlaced.v1`.
pub(crate) fn short(kind: &str) -> &str {
    kind.split('.').nth(1).unwrap_or(kind)
}

/// A time as people read it.
pub(crate) fn shown(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:%M:%S").to_string()
}
