//! Lists in pages, newest first: `limit`, a cursor and the window of `created`, as the protocol has them.

use serde_json::{Value, json};

use super::{Form, Refusal};

const DEFAULT_LIMIT: i64 = 10;
const MAX_LIMIT: i64 = 100;

/// An object of the list, from which a page goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cursor {
    /// `starting_after`: the page holds what is older than this object.
    After(String),
    /// `ending_before`: the page holds what is newer, and ends beside this object.
    Before(String),
}

/// The same, once the object's place in the list is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    /// From the newest one.
    Top,
    /// Below this position.
    Below(i64),
    /// Above it: whoever asks the books this way gets the oldest first.
    Above(i64),
}

/// Which part of a list is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Page {
    /// Objects at most.
    pub(crate) limit: i64,
    /// Where it begins or ends; the newest objects without one.
    pub(crate) cursor: Option<Cursor>,
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
            cursor: cursor(form)?,
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

    /// What the page shows, newest first, and whether there is more in its direction. `found` is in the order in which
    /// the books were asked for it, and one longer than the page if there is more.
    pub(crate) fn cut<T>(&self, from: From, mut found: Vec<T>) -> (Vec<T>, bool) {
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let has_more = found.len() > limit;
        found.truncate(limit);
        if matches!(from, From::Above(_)) {
            found.reverse();
        }
        (found, has_more)
    }
}

/// A page as it is sent.
pub(crate) fn list(url: &str, data: &[Value], has_more: bool) -> Value {
    json!({ "object": "list", "url": url, "has_more": has_more, "data": data })
}

fn cursor(form: &mut Form) -> Result<Option<Cursor>, Refusal> {
    match (form.text("starting_after")?, form.text("ending_before")?) {
        (Some(_), Some(_)) => {
            let message = "You may only specify one of these parameters: starting_after, ending_before.";
            Err(Refusal::invalid(message).param("ending_before"))
        }
        (Some(id), None) => Ok(Some(Cursor::After(id))),
        (None, Some(id)) => Ok(Some(Cursor::Before(id))),
        (None, None) => Ok(None),
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
        assert_eq!(page.cut(From::Top, vec![3, 2, 1]), (vec![3, 2], true));
        assert_eq!(page.cut(From::Below(9), vec![2, 1]), (vec![2, 1], false));
    }

    #[test]
    fn a_page_that_was_asked_for_upwards_is_shown_newest_first() {
        let page = page("limit=2&ending_before=pi_1").unwrap();
        assert_eq!(page.cursor, Some(Cursor::Before("pi_1".to_owned())));
        assert_eq!(page.cut(From::Above(1), vec![2, 3, 4]), (vec![3, 2], true));
    }

    #[test]
    fn a_page_has_one_cursor() {
        assert!(page("starting_after=a&ending_before=b").is_err());
    }
}
