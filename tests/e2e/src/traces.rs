//! Everything that an installation leaves behind, as text, so that a test can look for what must not be there: every
//! column of every table, every message on every topic, every line of every log.

use contracts::Stream;
use diesel::QueryableByName;
use diesel::sql_types::Text;
use messaging::admin;
use serde_json::Value;

use crate::Stack;

/// Every table and, as one JSON object, every row of it.
const ROWS: &str = "
    SELECT format('SELECT %L AS place, to_jsonb(t)::text AS row FROM %I AS t', relname, relname) AS query
      FROM pg_class
     WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition";

#[derive(QueryableByName)]
struct Query {
    #[diesel(sql_type = Text)]
    query: String,
}

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = Text)]
    place: String,
    #[diesel(sql_type = Text)]
    row: String,
}

/// A piece of text, and where it stands: `payments.processor_call.provider_key`, `topic orders.events`, `log of payments`.
#[derive(Debug)]
pub struct Trace {
    /// Where.
    pub place: String,
    text: String,
}

impl Trace {
    /// A piece of text.
    pub fn new(place: impl Into<String>, text: impl Into<String>) -> Self {
        Self { place: place.into(), text: text.into() }
    }

    /// Whether it holds this, in plain or as PostgreSQL and logs show bytes: in hexadecimal digits.
    pub fn holds(&self, needle: &str) -> bool {
        self.text.contains(needle) || self.text.contains(&hex(needle))
    }

    /// Whether a longest run of such characters in it is wanted.
    pub fn has_run(&self, of: impl Fn(char) -> bool, wanted: impl Fn(&str) -> bool) -> bool {
        self.text.split(|each| !of(each)).any(wanted)
    }
}

impl Stack {
    /// All of them. Whatever is under way must have ended.
    pub async fn traces(&mut self) -> Vec<Trace> {
        let mut traces = self.logs();
        for database in ["orders", "payments", "inventory", "provider"] {
            for Query { query } in self.load(database, diesel::sql_query(ROWS)).await {
                for Row { place, row } in self.load(database, diesel::sql_query(query)).await {
                    traces.extend(columns(&format!("{database}.{place}"), &row));
                }
            }
        }
        let services = ["orders", "payments", "inventory"];
        let topics = Stream::ALL.map(|stream| self.topics().events(stream)).into_iter();
        let letters = services.map(|service| self.topics().dead_letters(service));
        for topic in topics.chain(letters) {
            for message in admin::read_all(&self.topics().brokers(), &topic).await.unwrap() {
                let place = format!("topic {}", topic.trim_start_matches(&self.topics().prefixed("")));
                let mut parts = vec![("key", message.key), ("payload", message.payload)];
                parts.extend(message.headers.into_iter().map(|(_, value)| ("header", Some(value))));
                let read = |(part, bytes): (&str, Option<Vec<u8>>)| {
                    Trace::new(
                        format!("{place}, {part}"),
                        String::from_utf8_lossy(&bytes.unwrap_or_default()),
                    )
                };
                traces.extend(parts.into_iter().map(read));
            }
        }
        traces
    }

    /// What the programs have said since they were last started.
    pub fn logs(&mut self) -> Vec<Trace> {
        let names = ["orders", "payments", "inventory", "provider"];
        names.map(|name| Trace::new(format!("log of {name}"), self.program(name).log())).into()
    }
}

/// The columns of a row, one by one.
fn columns(table: &str, row: &str) -> Vec<Trace> {
    let row: Value = serde_json::from_str(row).unwrap();
    let columns = row.as_object().unwrap().iter();
    columns
        .map(|(column, value)| {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            Trace::new(format!("{table}.{column}"), text)
        })
        .collect()
}

fn hex(text: &str) -> String {
    text.bytes()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|half| char::from_digit(half.into(), 16))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_is_found_in_plain_in_bytes_and_in_a_line() {
        let secret = "sk_test_Zz9";
        assert_eq!(hex(secret), "736b5f746573745f5a7a39");
        for text in
            [secret.to_owned(), format!("\\x7b{}7d", hex(secret)), format!("{{\"key\":\"Bearer {secret}\"}}")]
        {
            assert!(Trace::new("here", text).holds(secret));
        }
        assert!(!Trace::new("here", "sk_test_other").holds(secret));
    }
}
