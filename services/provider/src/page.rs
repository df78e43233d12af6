//! Lists in pages, newest first: `limit`, `starting_after` and the window of `created`, as the protocol has them.

use serde_json::{Value, json};

use crate::error::Refusal;
use crate::form::Form;

const DEFAULT_LIMIT: i64 = 10;
const MAX_LIMIT: i64 = 100;

/// Which part of a list is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Page {
    /// Objects at most.
    pub(crate) limit: i64,
    /// The id of the last object of the page before.
    pub(crate) starting_after: Option<String>,
    /// `created` of the oldest object wanted, in unix seconds.
    pub(crate) earliest: i64,
    /// `created` of the newest one.
    pub(crate) latest: i64,
}

impl Page {
    /// Takes the page's parameters out of the form.
    pub(crate) fn read(form: &mut Form) -> Result<Self, Refusal> {
        let limit = form.integer("limit")?.unwrap_or(DEFAULT_LIMIT);
        if !(1..=MAX_LIMIT).contains(&limit) {
            let refusal = Refusal::invalid(format!("Invalid limit: must be between 1 and {MAX_LIMIT}"));
            return Err(refusal.code("parameter_invalid_integer").param("limit"));
        }
        let mut page = Self {
            limit,
            starting_after: form.text("starting_after")?,
            earliest: form.integer("created[gte]")?.unwrap_or(i64::MIN),
            latest: form.integer("created[lte]")?.unwrap_or(i64::MAX),
        };
        if let Some(second) = form.integer("created")? {
            page.earliest = page.earliest.max(second);
            page.latest = page.latest.min(second);
        }
        if let Some(second) = form.integer("created[gt]")? {
            page.earliest = page.earliest.max(second.saturating_add(1));
        }
        if let Some(second) = form.integer("created[lt]")? {
            page.latest = page.latest.min(second.saturating_sub(1));
        }
        Ok(page)
    }

    /// The answer, from one row more than the page holds.
    pub(crate) fn of<T>(&self, url: &str, rows: &[T], object: impl Fn(&T) -> Value) -> Value {
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let data: Vec<Value> = rows.iter().take(limit).map(object).collect();
        json!({ "object": "list", "url": url, "has_more": rows.len() > limit, "data": data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(query: &str) -> Result<Page, Refusal> {
        Page::read(&mut Form::parse(query.as_bytes()).unwrap())
    }

    #[test]
    fn the_window_has_open_and_closed_ends() {
        let read = page("created[gt]=10&created[lt]=20").unwrap();
        assert_eq!((read.earliest, read.latest), (11, 19));
        let read = page("created[gte]=10&created[lte]=20").unwrap();
        assert_eq!((read.earliest, read.latest), (10, 20));
        let read = page("created=15").unwrap();
        assert_eq!((read.earliest, read.latest), (15, 15));
    }

    #[test]
    fn a_page_holds_between_one_and_a_hundred_objects() {
        assert_eq!(page("").unwrap().limit, 10);
        assert_eq!(page("limit=100").unwrap().limit, 100);
        assert!(page("limit=0").is_err());
        assert!(page("limit=101").is_err());
    }

    #[test]
    fn one_row_more_than_the_page_holds_says_that_there_is_more() {
        let page = page("limit=2").unwrap();
        let list = page.of("/v1/refunds", &[1, 2, 3], |n| json!(n));
        assert_eq!(list, json!({ "object": "list", "url": "/v1/refunds", "has_more": true, "data": [1, 2] }));
        assert_eq!(page.of("/v1/refunds", &[1, 2], |n| json!(n))["has_more"], json!(false));
    }
}
