//! `Report`: the members of a report in the order of their definition, as JSON and as text.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::table::{printable, table};

/// A JSON value whose objects keep the order of their members.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Report {
    /// An object.
    Object(IndexMap<String, Self>),
    /// A list.
    List(Vec<Self>),
    /// Anything else.
    Scalar(Value),
}

impl Report {
    pub(crate) fn of(report: &impl Serialize) -> Self {
        let read = serde_json::to_string(report).and_then(|text| serde_json::from_str(&text));
        read.unwrap_or_else(|error| Self::Scalar(error.to_string().into()))
    }

    pub(crate) fn json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Objects below each other: as one table if they have no lists.
    pub fn table(objects: &[Self]) -> String {
        rows(objects)
    }

    /// Every member: values in two columns, then each list of objects as a table.
    pub(crate) fn text(&self) -> String {
        self.block(true)
    }

    /// The object with these members only.
    #[must_use]
    pub fn only(&self, members: &[&str]) -> Self {
        let Self::Object(all) = self else { return self.clone() };
        let found = members.iter().filter_map(|name| all.get_key_value(*name));
        Self::Object(found.map(|(name, value)| (name.clone(), value.clone())).collect())
    }

    /// The lists that are not empty.
    pub(crate) fn lists(&self) -> String {
        self.block(false)
    }

    fn block(&self, is_whole: bool) -> String {
        let (mut values, mut tables) = (Vec::new(), String::new());
        for (name, leaf) in self.leaves("") {
            let items = match leaf {
                Self::List(items) if items.iter().any(|item| matches!(item, Self::Object(_))) => {
                    let rows = rows(items);
                    tables.extend([name.as_str(), "\n"]);
                    tables.extend(rows.lines().map(|line| format!("  {line}").trim_end().to_owned() + "\n"));
                    continue;
                }
                Self::List(items) if !items.is_empty() => items.iter().flat_map(Self::lines).collect(),
                _ if !is_whole => continue,
                Self::List(_) => vec!["none".to_owned()],
                value => value.lines(),
            };
            let names = std::iter::once(name).chain(std::iter::repeat(String::new()));
            values.extend(names.zip(items).map(|(name, item)| vec![name, item]));
        }
        table(&[], &values) + &tables
    }

    /// The members of an object, and of the objects in it, that are values or lists: `relay.owner`.
    fn leaves(&self, name: &str) -> Vec<(String, &Self)> {
        let Self::Object(members) = self else { return vec![(name.to_owned(), self)] };
        let within =
            |member: &str| if name.is_empty() { member.to_owned() } else { format!("{name}.{member}") };
        members.iter().flat_map(|(member, value)| value.leaves(&within(member))).collect()
    }

    fn is_flat(&self) -> bool {
        self.leaves("").iter().all(|(_, leaf)| matches!(leaf, Self::Scalar(_)))
    }

    /// A value as lines of text. Control characters are replaced, because the value may come from a client.
    fn lines(&self) -> Vec<String> {
        match self {
            Self::Scalar(Value::Null) => vec!["-".to_owned()],
            // An empty text has no line, and its member must not vanish.
            Self::Scalar(Value::String(text)) if text.is_empty() => vec![String::new()],
            Self::Scalar(Value::String(text)) => text.lines().map(printable).collect(),
            Self::Scalar(value) => vec![value.to_string()],
            Self::List(items) => vec![items.iter().flat_map(Self::lines).collect::<Vec<_>>().join(": ")],
            Self::Object(_) => self.text().lines().map(str::to_owned).collect(),
        }
    }
}

/// Objects below each other: as one table if they have no lists.
fn rows(objects: &[Report]) -> String {
    if !objects.iter().all(Report::is_flat) {
        return objects.iter().map(Report::text).collect::<Vec<_>>().join("\n");
    }
    let mut columns = IndexMap::<String, Vec<String>>::new();
    for (number, object) in objects.iter().enumerate() {
        for (name, value) in object.leaves("") {
            let column = columns.entry(name).or_default();
            column.resize(number, "-".to_owned());
            column.push(value.lines().join(" "));
        }
    }
    let heading: Vec<&str> = columns.keys().map(String::as_str).collect();
    let cell =
        |column: &Vec<String>, number: usize| column.get(number).cloned().unwrap_or_else(|| "-".to_owned());
    let row = |number| columns.values().map(|column| cell(column, number)).collect();
    table(&heading, &(0..objects.len()).map(row).collect::<Vec<Vec<String>>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(json: &str) -> Report {
        serde_json::from_str(json).unwrap()
    }

    const REPORT: &str = r#"{"z": 1, "relay": {"owner": null}, "a": [], "notes": ["x", "y"],
                             "rows": [{"b": true, "of": {"id": "p\tq"}}, {"b": false, "c": 2.5}]}"#;

    #[test]
    fn the_text_has_every_member_in_the_order_of_the_report() {
        let text = "z            1\nrelay.owner  -\na            none\nnotes        x\n             y\n\
                    rows\n  b      of.id  c\n  true   p\u{fffd}q    -\n  false  -      2.5\n";
        assert_eq!(report(REPORT).text(), text);
    }

    #[test]
    fn an_empty_text_has_a_line() {
        assert_eq!(report(r#"{"note": "", "to": "x"}"#).text(), "note\nto    x\n");
    }

    #[test]
    fn below_a_sentence_are_the_lists_that_are_not_empty() {
        let text = report(REPORT).lists();
        assert!(text.starts_with("notes  x\n       y\nrows\n"), "{text}");
        assert_eq!(report(r#"{"a": 1, "rows": []}"#).lists(), "");
    }

    #[test]
    fn objects_with_lists_are_blocks() {
        let text = report(r#"{"rows": [{"a": 1, "of": ["x"]}, {"a": 2, "of": []}]}"#).text();
        assert_eq!(text, "rows\n  a   1\n  of  x\n\n  a   2\n  of  none\n");
    }
}
