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

/// The parameters of a list.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// The largest number of entries: 1 to 100, 20 by default.
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
    pub fn listing<R, T, E>(
        &self,
        mut rows: Vec<R>,
        id: impl Fn(&R) -> Uuid,
        view: impl FnMut(R) -> Result<T, E>,
    ) -> Result<Listing<T>, E> {
        let size = usize::from(self.limit);
        let more = rows.len() > size;
        rows.truncate(size);
        let next_cursor = rows.last().filter(|_| more).map(|row| cursor::encode(id(row)));
        Ok(Listing { data: rows.into_iter().map(view).collect::<Result<_, E>>()?, next_cursor })
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
