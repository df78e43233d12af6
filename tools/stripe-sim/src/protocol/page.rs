//! Lists, newest first: `limit`, the cursor `starting_after`, and the window of `created`.

use super::{ApiError, Form};

const DEFAULT_LIMIT: i64 = 10;
const MAX_LIMIT: i64 = 100;

/// The part of a list that a client asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Page {
    /// The most objects.
    pub(crate) limit: i64,
    /// The page begins after the object with this id.
    pub(crate) starting_after: Option<String>,
    /// The earliest `created`, in unix seconds.
    pub(crate) earliest: i64,
    /// The latest `created`.
    pub(crate) latest: i64,
}

impl Page {
    /// Takes the parameters of the page out of the form.
    pub(crate) fn read(form: &mut Form) -> Result<Self, ApiError> {
        let limit = form.integer("limit")?.unwrap_or(DEFAULT_LIMIT);
        if !(1..=MAX_LIMIT).contains(&limit) {
            let error = ApiError::invalid(format!("Invalid limit: must be between 1 and {MAX_LIMIT}"));
            return Err(error.code("parameter_invalid_integer").param("limit"));
        }
        Ok(Self {
            limit,
            starting_after: form.text("starting_after")?,
            earliest: form.integer("created[gte]")?.unwrap_or(i64::MIN),
            latest: form.integer("created[lte]")?.unwrap_or(i64::MAX),
        })
    }

    /// Returns the objects of the page, and whether there are more. `rows` has one row more than the page if there are.
    pub(crate) fn cut<T>(&self, mut rows: Vec<T>) -> (Vec<T>, bool) {
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let has_more = rows.len() > limit;
        rows.truncate(limit);
        (rows, has_more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(query: &str) -> Result<Page, ApiError> {
        Page::read(&mut Form::parse(query.as_bytes()).unwrap())
    }

    #[test]
    fn a_page_has_1_to_100_objects() {
        assert_eq!(page("").unwrap().limit, 10);
        assert_eq!(page("limit=100").unwrap().limit, 100);
        assert!(page("limit=0").is_err());
        assert!(page("limit=101").is_err());
    }

    #[test]
    fn one_row_more_than_the_page_holds_says_that_there_is_more() {
        let page = page("limit=2").unwrap();
        assert_eq!(page.cut(vec![3, 2, 1]), (vec![3, 2], true));
        assert_eq!(page.cut(vec![2, 1]), (vec![2, 1], false));
    }
}
