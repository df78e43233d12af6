//! Lists: pages with a limit, and an opaque cursor to the next page.

mod cursor;
mod filter;
mod parameters;

use std::future::Future;
use std::pin::Pin;

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::{Principal, Problem, ValidationErrors, problem_types};
use parameters::{Parameters, not_valid};

pub use filter::Filter;

const DEFAULT_LIMIT: i64 = 20;
const MAX_LIMIT: u8 = 100;

/// A page ends before the entry with which it would be larger, and has one entry at least. The memory of a process allows 128 KiB for each
/// connection whose client reads slowly.
const MAX_BYTES: usize = 96 * 1024;

/// The parameters of a list.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// The largest number of entries: 1 to 100, 20 by default. A page of large entries has fewer.
    #[param(minimum = 1, maximum = 100, default = 20, nullable = false)]
    pub limit: Option<i64>,
    /// `next_cursor` of the previous page, unchanged; omit it for the first page. Use it for the same list with the same
    /// filter. A text that is no cursor is 404.
    #[param(nullable = false)]
    pub cursor: Option<String>,
}

/// The requested page of a list, newest first. The cursor holds the id of the last entry.
#[derive(Clone)]
pub struct Page<F> {
    limit: u8,
    before: Option<Uuid>,
    filter: F,
}

impl<F: Filter> Page<F> {
    /// Which entries the list contains.
    pub fn filter(&self) -> &F {
        &self.filter
    }

    /// The number of rows to read: one more than the page holds, to see whether there is a next page.
    pub fn fetch(&self) -> i64 {
        i64::from(self.limit) + 1
    }

    /// The page holds the entries after this id. Where ids tell the order, these are smaller ids.
    pub fn before(&self) -> Uuid {
        self.before.unwrap_or(Uuid::max())
    }

    /// Builds the page from the rows that were read.
    ///
    /// # Errors
    /// The first error of `view`.
    pub fn listing<R, T: Serialize, E>(
        &self,
        rows: Vec<R>,
        id: impl Fn(&R) -> Uuid,
        mut view: impl FnMut(R) -> Result<T, E>,
    ) -> Result<Listing<T>, E> {
        let (mut data, mut last, mut bytes) = (Vec::new(), None, 0);
        for row in rows {
            let row_id = id(&row);
            let entry = view(row)?;
            bytes += serde_json::to_vec(&entry).map_or(0, |json| json.len());
            let is_full = data.len() == usize::from(self.limit) || bytes > MAX_BYTES;
            if let Some(last) = last.filter(|_| is_full) {
                return Ok(Listing { data, next_cursor: Some(cursor::encode(last)) });
            }
            data.push(entry);
            last = Some(row_id);
        }
        Ok(Listing { data, next_cursor: None })
    }

    /// Reads the page.
    async fn of(request: &HttpRequest) -> Result<Self, Problem> {
        let who = Principal::of(request).await?;
        who.require(F::SCOPE)?;
        let parameters = Parameters::read::<F>(request.query_string())?;
        let filter: F = parameters.filter()?;
        let mut errors = ValidationErrors::default();
        filter.validate(&mut errors);
        if let Some(problem) = errors.into_problem() {
            return Err(problem);
        }
        let PageQuery { limit, cursor } = parameters.page()?;
        let limit = u8::try_from(limit.unwrap_or(DEFAULT_LIMIT));
        let limit = limit.ok().filter(|limit| (1..=MAX_LIMIT).contains(limit));
        let limit = limit.ok_or_else(|| not_valid("limit", format!("limit must be 1 to {MAX_LIMIT}")))?;
        // 404, because the schema of a cursor is any text: most texts are cursors that do not exist.
        let unknown = || {
            let detail = "There is no such cursor in this list; start again without one.";
            Problem::new(&problem_types::NOT_FOUND, detail)
        };
        let before = cursor.map(|cursor| cursor::decode(&cursor).ok_or_else(unknown));
        Ok(Self { limit, before: before.transpose()?, filter })
    }
}

impl<F: Filter + 'static> FromRequest for Page<F> {
    type Error = Problem;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Problem>>>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let request = request.clone();
        Box::pin(async move { Self::of(&request).await })
    }
}

/// One page of a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct Listing<T> {
    /// The entries, newest first.
    pub data: Vec<T>,
    /// The cursor of the next page; null on the last one.
    #[schema(required)]
    pub next_cursor: Option<String>,
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    #[derive(Deserialize, IntoParams)]
    struct All {}

    impl Filter for All {
        const SCOPE: &'static str = "orders:read";
    }

    #[test]
    fn a_page_of_large_entries_ends_early_and_the_cursor_goes_on_behind_its_last_one() {
        let page = Page { limit: 100, before: None, filter: All {} };
        for (size, expected) in [(14_000, 7), (20, 100), (200_000, 1)] {
            let rows: Vec<Uuid> = (1..=101).rev().map(Uuid::from_u128).collect();
            let view = |_| Ok::<_, Infallible>("x".repeat(size - 2)); // in quotes
            let listing = page.listing(rows.clone(), |row| *row, view).unwrap();
            assert_eq!(listing.data.len(), expected);
            let next = listing.next_cursor.and_then(|cursor| cursor::decode(&cursor));
            assert_eq!(next, Some(rows[expected - 1]));
        }
        let last = page.listing(vec![Uuid::nil()], |row| *row, |_| Ok::<_, Infallible>("")).unwrap();
        assert_eq!((last.data.len(), last.next_cursor), (1, None));
    }
}
