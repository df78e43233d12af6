//! Everything that an installation leaves behind, as text, so that a test can search it: every column of every table, every
//! message on every topic, every line of every log.

use diesel::QueryableByName;
use diesel::sql_types::Text;
use harness::Part;
use serde_json::Value;

use crate::Stack;

/// Writes for each table a query that returns each row as one JSON object.
const QUERIES: &str = "
    SELECT '' AS place,
           format('SELECT %L AS place, to_jsonb(t)::text AS text FROM %I AS t', relname, relname) AS text
      FROM pg_class
     WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition";

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = Text)]
    place: String,
    #[diesel(sql_type = Text)]
    text: String,
}

/// A text, and its place: `payments.payment.id`, `topic orders.events, key`, `log of payments`.
#[derive(Debug)]
pub struct Leftover {
    /// The place.
    pub place: String,
    text: String,
}

impl Leftover {
    /// A text and its place.
    pub fn new(place: impl Into<String>, text: impl Into<String>) -> Self {
        Self { place: place.into(), text: text.into() }
    }

    /// Returns whether the text contains the needle: in plain, or its bytes in hexadecimal digits, as PostgreSQL shows them, or
    /// in a list of decimal numbers, as Rust does.
    pub fn contains(&self, needle: &str) -> bool {
        [needle, &hex(needle), &decimal(needle)].iter().any(|form| self.text.contains(*form))
    }

    /// Returns whether a longest run of these characters matches.
    pub fn has_run(&self, of: impl Fn(char) -> bool, matches: impl Fn(&str) -> bool) -> bool {
        self.text.split(|each| !of(each)).any(matches)
    }
}

impl Stack {
    /// All leftovers. Nothing may be in progress.
    pub async fn leftovers(&mut self) -> Vec<Leftover> {
        let mut leftovers = self.logs();
        for part in Part::PROGRAMS {
            let books = self.books();
            for Row { text: query, .. } in books.load(part, diesel::sql_query(QUERIES)).await.unwrap() {
                for Row { place, text } in books.load(part, diesel::sql_query(query)).await.unwrap() {
                    leftovers.extend(columns(&format!("{}.{place}", part.name()), &text));
                }
            }
        }
        let kafka = self.kafka();
        let events = Part::SERVICES.map(|part| kafka.topics.events(part.stream()));
        let dead_letters = Part::SERVICES.map(|part| kafka.topics.dead_letters(part.name()));
        for topic in events.into_iter().chain(dead_letters) {
            let place = format!("topic {}", topic.trim_start_matches(&kafka.topics.prefixed("")));
            for message in kafka.read(&topic).await.unwrap() {
                let mut parts = vec![("key", message.key), ("payload", message.payload)];
                parts.extend(message.headers.into_iter().map(|(_, value)| ("header", Some(value))));
                leftovers.extend(parts.into_iter().map(|(part, bytes)| {
                    let text = String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned();
                    Leftover::new(format!("{place}, {part}"), text)
                }));
            }
        }
        leftovers
    }

    /// The logs since the programs were last started.
    pub fn logs(&mut self) -> Vec<Leftover> {
        let log =
            |part: Part| Leftover::new(format!("log of {}", part.name()), self.program(part.name()).log());
        Part::PROGRAMS.map(log).into()
    }
}

/// The columns of a row, one by one.
fn columns(table: &str, row: &str) -> Vec<Leftover> {
    let row: Value = serde_json::from_str(row).unwrap();
    let columns = row.as_object().unwrap().iter();
    columns
        .map(|(column, value)| {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            Leftover::new(format!("{table}.{column}"), text)
        })
        .collect()
}

fn hex(text: &str) -> String {
    text.bytes().fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

fn decimal(text: &str) -> String {
    let numbers: Vec<String> = text.bytes().map(|byte| byte.to_string()).collect();
    numbers.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_found_as_text_as_bytes_and_inside_a_line() {
        let secret = "sk_test_Zz9";
        assert_eq!(hex(secret), "736b5f746573745f5a7a39");
        let bytes = format!("[Some({:?})]", secret.as_bytes());
        let column = format!("\\x7b{}7d", hex(secret));
        for text in [secret.to_owned(), column, format!("{{\"key\":\"Bearer {secret}\"}}"), bytes] {
            assert!(Leftover::new("here", text).contains(secret));
        }
        assert!(!Leftover::new("here", "sk_test_other").contains(secret));
    }
}
