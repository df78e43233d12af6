//! A row of the statements in `explain*.sql` beside the audits.

use chrono::{DateTime, Utc};
use contracts::{Currency, Money};
use diesel::QueryableByName;
use diesel::deserialize::{self, FromSql, FromSqlRow};
use diesel::pg::{Pg, PgValue};
use diesel::sql_types::{Jsonb, Nullable, Text, Timestamptz};
use envelope::Topics;
use messaging::admin::partition_of;
use serde::Deserialize;
use uuid::Uuid;

/// The steps that are lines of the page. Lines of the same time are sorted by it, because one transaction writes its rows in this order.
const STEPS: [&str; 10] =
    ["request", "inbox", "waiting", "row", "fact", "ledger", "outbox", "call", "processor", "review"];

/// A row.
#[derive(Debug, Clone, QueryableByName)]
pub(crate) struct Fact {
    /// By the clock of the database that has the row. `None`: the row is no line of the page.
    #[diesel(sql_type = Nullable<Timestamptz>)]
    pub(crate) at: Option<DateTime<Utc>>,
    #[diesel(sql_type = Text)]
    pub(crate) step: String,
    /// Amounts of minor units are written as `{1999 EUR}`.
    #[diesel(sql_type = Text)]
    pub(crate) text: String,
    #[diesel(sql_type = Jsonb)]
    pub(crate) detail: Detail,
}

/// The parts of a row that the program reads. NULL: none.
#[derive(Debug, Clone, Default, Deserialize, FromSqlRow)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Detail {
    /// The operation of the request or job that has written the row.
    pub(crate) operation: Option<Uuid>,
    /// How many events the aggregate of the row has announced.
    pub(crate) announced: i64,
    /// The id of a message that the inbox has.
    pub(crate) message: Option<Uuid>,
    pub(crate) event: Option<Event>,
    pub(crate) charge: Option<Attempts>,
    /// The reason why the order does not end.
    pub(crate) obstacle: Option<String>,
    /// The command that removes the obstacle.
    pub(crate) cure: Option<String>,
    /// Only a person can remove the obstacle.
    pub(crate) is_urgent: bool,
}

/// An event in the outbox of its service.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Event {
    pub(crate) id: Uuid,
    /// The name of its type without source and version: `OrderPlaced`.
    pub(crate) name: String,
    pub(crate) aggregate: Uuid,
    pub(crate) topic: String,
    key: Uuid,
    pub(crate) state: String,
    /// Its places on its topic: partition and offset. A message that was sent again has several.
    #[serde(skip)]
    pub(crate) places: Vec<(i32, i64)>,
}

/// When the first and the last attempt of a charge began.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct Attempts {
    pub(crate) first: DateTime<Utc>,
    pub(crate) last: DateTime<Utc>,
}

impl FromSql<Jsonb, Pg> for Detail {
    fn from_sql(value: PgValue<'_>) -> deserialize::Result<Self> {
        Ok(serde_json::from_value(FromSql::<Jsonb, Pg>::from_sql(value)?)?)
    }

    fn from_nullable_sql(value: Option<PgValue<'_>>) -> deserialize::Result<Self> {
        value.map_or_else(|| Ok(Self::default()), Self::from_sql)
    }
}

impl Fact {
    /// The place of its step among lines of the same time.
    pub(crate) fn rank(&self) -> usize {
        STEPS.iter().position(|step| *step == self.step).unwrap_or(STEPS.len())
    }
}

impl Event {
    pub(crate) fn is_published(&self) -> bool {
        self.state == "published"
    }

    /// The partition of its key, in a topic with the usual number of partitions.
    pub(crate) fn partition(&self) -> i32 {
        let partitions = Topics::PARTITIONS.unsigned_abs();
        i32::try_from(partition_of(self.key.to_string().as_bytes(), partitions)).unwrap_or_default()
    }

    /// The topic and partition, with the offset if it was read.
    pub(crate) fn place(&self, topics: &Topics) -> String {
        let topic = topics.prefixed(&self.topic);
        match self.places.as_slice() {
            [] => format!("{topic}/{}", self.partition()),
            [(partition, offset)] => format!("{topic}/{partition} at offset {offset}"),
            [(partition, offset), again @ ..] => {
                format!("{topic}/{partition} at offset {offset} and {} times more", again.len())
            }
        }
    }
}

/// Writes each amount of a text, such as `{1999 EUR}`, in its currency's own form.
pub(crate) fn with_money(text: &str) -> String {
    let mut parts = text.split('{');
    let before = parts.next().unwrap_or_default().to_owned();
    parts.fold(before, |before, part| {
        match part.split_once('}').and_then(|(amount, rest)| Some((money(amount)?, rest))) {
            Some((money, rest)) => format!("{before}{money}{rest}"),
            None => format!("{before}{{{part}"),
        }
    })
}

fn money(text: &str) -> Option<Money> {
    let (amount, currency) = text.split_once(' ')?;
    Some(Money::new(amount.parse().ok()?, currency.parse::<Currency>().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_written_in_its_currencys_own_form_and_other_text_is_kept() {
        let text = "receivable {900 EUR}, clearing {-5 JPY}; {\"planted\"} {1 XYZ} {";
        assert_eq!(with_money(text), "receivable 9.00 EUR, clearing -5 JPY; {\"planted\"} {1 XYZ} {");
    }
}
