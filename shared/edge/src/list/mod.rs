//! Lists: a bounded page, and an opaque way to the next one.

mod cursor;

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::parse::{ValidationError, invalid};
use crate::{Edge, Principal, Problem};
use cursor::Sealer;

pub(crate) use cursor::CursorKey;

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
    /// `next_cursor` of the page before, as it was given; leave out for the first page. It counts for the same list
    /// and the same tenant.
    pub cursor: Option<String>,
}

/// Which page of a list is asked for. Lists are newest first, by id.
#[derive(Clone)]
pub struct Page {
    limit: i64,
    before: Option<Uuid>,
    sealer: Sealer,
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
        let next_cursor = rows.last().filter(|_| more).map(|row| self.sealer.seal(id(row)));
        Listing { data: rows.into_iter().map(view).collect(), next_cursor }
    }

    fn read(query: &str, sealer: Sealer) -> Result<Self, Problem> {
        let fault = |pointer: &str, detail: String| {
            let errors = vec![ValidationError { pointer: pointer.to_owned(), detail }];
            invalid("The query is not valid.", errors)
        };
        let query: PageQuery =
            serde_urlencoded::from_str(query).map_err(|e| fault("query", e.to_string()))?;
        let limit = query.limit.unwrap_or(DEFAULT);
        if !(1..=MOST).contains(&limit) {
            return Err(fault("limit", format!("limit is 1 to {MOST}")));
        }
        let before = query.cursor.map(|cursor| {
            let refused = || fault("cursor", "not a cursor of this list; start again without one".to_owned());
            sealer.open(&cursor).ok_or_else(refused)
        });
        Ok(Self { limit, before: before.transpose()?, sealer })
    }

    /// Tenant, route and path make the list; a cursor of another one is none of this.
    async fn of(request: &HttpRequest) -> Result<Self, Problem> {
        let who = Principal::of(request).await?;
        let edge = Edge::of(request)?;
        let route = request.match_pattern().unwrap_or_else(|| request.path().to_owned());
        let sealer = edge.cursor_key().await?.sealer(who.tenant(), &route, request.match_info().iter());
        Self::read(request.query_string(), sealer)
    }
}

impl fmt::Debug for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { limit, before, sealer: _ } = self;
        f.debug_struct("Page").field("limit", limit).field("before", before).finish_non_exhaustive()
    }
}

impl FromRequest for Page {
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

impl<T, E> Listing<Result<T, E>> {
    /// The page, or the first entry that cannot be shown.
    pub fn transposed(self) -> Result<Listing<T>, E> {
        let data = self.data.into_iter().collect::<Result<_, E>>()?;
        Ok(Listing { data, next_cursor: self.next_cursor })
    }
}
