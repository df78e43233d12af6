//! The parameters of a list's request, read by their documented names and types.

use idempotency::canonicalise;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use utoipa::IntoParams;
use utoipa::openapi::path::Parameter;
use utoipa::openapi::schema::{SchemaType, Type};
use utoipa::openapi::{RefOr, Schema};

use super::{Filter, PageQuery};
use crate::Problem;
use crate::problems::{ValidationError, invalid, typed};

type Pairs = Vec<(String, String)>;

/// The parameters of a request, each pair in the order of its name.
pub(super) struct Parameters {
    page: Pairs,
    pub(super) filter: Pairs,
}

impl Parameters {
    /// Reads a query string. A parameter that is not documented is refused, because the client expects an effect of it.
    pub(super) fn read<F: Filter>(query: &str) -> Result<Self, Problem> {
        let mut pairs: Pairs = serde_urlencoded::from_str(query)
            .map_err(|_| not_valid("query", "expected pairs of a name and a value"))?;
        pairs.sort();
        let (page, filter) = (names(&PageQuery::into_params(|| None)), names(&F::into_params(|| None)));
        let documented = |name: &str| page.iter().chain(&filter).any(|known| known == name);
        if pairs.iter().any(|(name, _)| !documented(name)) {
            let known = [page, filter].concat().join(", ");
            return Err(not_valid("query", format!("a parameter is unknown; this list has {known}")));
        }
        if let Some([(name, _), _]) = pairs.array_windows().find(|[one, next]| one.0 == next.0) {
            return Err(not_valid(name, "send this parameter once"));
        }
        let (page, filter) = pairs.into_iter().partition(|(name, _)| page.contains(name));
        Ok(Self { page, filter })
    }

    pub(super) fn page(&self) -> Result<PageQuery, Problem> {
        parse(&self.page)
    }

    pub(super) fn filter<F: Filter>(&self) -> Result<F, Problem> {
        parse(&self.filter)
    }
}

fn names(parameters: &[Parameter]) -> Vec<String> {
    parameters.iter().map(|parameter| parameter.name.clone()).collect()
}

/// Parses parameters to their types.
fn parse<T: DeserializeOwned + IntoParams>(pairs: &Pairs) -> Result<T, Problem> {
    let parameters = T::into_params(|| None);
    let is_number =
        |name: &str| parameters.iter().any(|parameter| parameter.name == name && is_number(parameter));
    let members: Map<String, Value> = pairs
        .iter()
        .map(|(name, text)| {
            let number = if is_number(name) { number(text) } else { None };
            (name.clone(), number.unwrap_or_else(|| Value::String(text.clone())))
        })
        .collect();
    typed(Value::Object(members))
        .map_err(|error| not_valid(error.pointer.trim_start_matches('/'), error.detail))
}

fn is_number(parameter: &Parameter) -> bool {
    let Some(RefOr::T(Schema::Object(schema))) = &parameter.schema else { return false };
    matches!(&schema.schema_type, SchemaType::Type(Type::Integer | Type::Number))
}

/// Reads a number by the rules of a body: `20` and `2e1` are one number.
fn number(text: &str) -> Option<Value> {
    let is_bare = text.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    let canonical = canonicalise(text.as_bytes()).ok().filter(|_| is_bare)?;
    serde_json::from_slice(&canonical).ok()
}

pub(super) fn not_valid(pointer: &str, detail: impl Into<String>) -> Problem {
    let errors = vec![ValidationError { pointer: pointer.to_owned(), detail: detail.into() }];
    invalid("The query is not valid.", errors)
}
