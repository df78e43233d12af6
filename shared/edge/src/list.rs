//! Lists: a bounded page, and an opaque way to the next one.

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::Problem;
use crate::parse::{Invalid, invalid};

const DEFAULT: i64 = 20;
const MOST: i64 = 100;

/// The parameters of a list.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// How many at most: 1 to 100, 20 by default.
    #[param(minimum = 1, maximum = 100)]
    pub limit: Option<i64>,
    /// `next_cursor` of the page before; leave out for the first page.
    pub cursor: Option<String>,
}

/// Which page of a list is asked for. Lists are newest first, by id.
#[derive(Debug, Clone, Copy)]
pub struct Page {
    limit: i64,
    before: Option<Uuid>,
}

impl Page {
    /// Rows to fetch: one more than the page holds, to see whether there is another.
    pub fn fetch(&self) -> i64 {
        self.limit + 1
    }

    /// Only ids below this one.
    pub fn before(&self) -> Uuid {
        self.before.unwrap_or(Uuid::max())
    }

    /// The page, from the rows that were fetched.
    pub fn listing<R, T>(
        &self,
        mut rows: Vec<R>,
        id: impl Fn(&R) -> Uuid,
        view: impl FnMut(R) -> T,
    ) -> Listing<T> {
        let size = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let more = rows.len() > size;
        rows.truncate(size);
        let next_cursor = rows.last().filter(|_| more).map(|row| URL_SAFE_NO_PAD.encode(id(row).as_bytes()));
        Listing { data: rows.into_iter().map(view).collect(), next_cursor }
    }

    fn read(query: &str) -> Result<Self, Problem> {
        let fault = |pointer: &str, detail: String| {
            let errors = vec![Invalid { pointer: pointer.to_owned(), detail }];
            invalid("The query is not valid.", errors)
        };
        let query: PageQuery =
            serde_urlencoded::from_str(query).map_err(|e| fault("query", e.to_string()))?;
        let limit = query.limit.unwrap_or(DEFAULT);
        if !(1..=MOST).contains(&limit) {
            return Err(fault("limit", format!("limit is 1 to {MOST}")));
        }
        let before = query.cursor.map(|cursor| {
            let bytes = URL_SAFE_NO_PAD.decode(&cursor).ok();
            bytes.and_then(|bytes| Uuid::from_slice(&bytes).ok()).ok_or_else(|| {
                fault("cursor", "not a cursor of this list; start again without one".to_owned())
            })
        });
        Ok(Self { limit, before: before.transpose()? })
    }
}

impl FromRequest for Page {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Self::read(request.query_string()))
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

impl<T, E> Listing<Result<T, E>> {
    /// The page, or the first entry that cannot be shown.
    pub fn transposed(self) -> Result<Listing<T>, E> {
        let data = self.data.into_iter().collect::<Result<_, E>>()?;
        Ok(Listing { data, next_cursor: self.next_cursor })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_follow_each_other_to_the_end() {
        let ids: Vec<Uuid> = (1..=5).rev().map(Uuid::from_u128).collect();
        let (mut seen, mut query) = (Vec::new(), "limit=2".to_owned());
        loop {
            let page = Page::read(&query).unwrap();
            let fetch = usize::try_from(page.fetch()).unwrap();
            let fetched: Vec<Uuid> =
                ids.iter().copied().filter(|id| *id < page.before()).take(fetch).collect();
            let listing = page.listing(fetched, |id| *id, |id| id);
            seen.extend(listing.data);
            let Some(cursor) = listing.next_cursor else { break };
            query = format!("limit=2&cursor={cursor}");
        }
        assert_eq!(seen, ids);
    }

    #[test]
    fn a_bad_page_is_refused_by_name() {
        for (query, pointer) in
            [("limit=0", "limit"), ("limit=101", "limit"), ("cursor=!", "cursor"), ("x=1", "query")]
        {
            let problem = Page::read(query).unwrap_err();
            let body = String::from_utf8(problem.receipt().body).unwrap();
            assert!(body.contains(&format!("\"pointer\":\"{pointer}\"")), "{query}: {body}");
        }
    }
}
