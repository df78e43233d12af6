//! The parameters of a list's request, read by their documented names.

use serde::de::DeserializeOwned;
use utoipa::IntoParams;
use utoipa::openapi::path::Parameter;

use super::{Filter, PageQuery};
use crate::Problem;
use crate::problems::{ValidationError, describe, invalid};

type Pairs = Vec<(String, String)>;

/// The parameters of a request, each pair in the order of its name.
pub(super) struct Parameters {
    pub(super) page: Pairs,
    pub(super) filter: Pairs,
}

impl Parameters {
    /// Reads a query string. A parameter that is not documented is refused, because the client expects an effect of it.
    pub(super) fn read<F: Filter>(query: &str) -> Result<Self, Problem> {
        let mut pairs: Pairs =
            serde_urlencoded::from_str(query).map_err(|error| not_valid("query", error.to_string()))?;
        pairs.sort();
        let (page, filter) = (names(&PageQuery::into_params(|| None)), names(&F::into_params(|| None)));
        let documented = |name: &str| page.iter().chain(&filter).any(|known| known == name);
        if pairs.iter().any(|(name, _)| !documented(name)) {
            let known = [page, filter].concat().join(", ");
            return Err(not_valid("query", format!("a parameter is unknown; this list has {known}")));
        }
        let (page, filter) = pairs.into_iter().partition(|(name, _)| page.contains(name));
        Ok(Self { page, filter })
    }
}

fn names(parameters: &[Parameter]) -> Vec<String> {
    parameters.iter().map(|parameter| parameter.name.clone()).collect()
}

/// Parses parameters to their types.
pub(super) fn parse<T: DeserializeOwned>(pairs: &Pairs) -> Result<T, Problem> {
    let encoded =
        serde_urlencoded::to_string(pairs).map_err(|error| not_valid("query", error.to_string()))?;
    serde_urlencoded::from_str(&encoded).map_err(|error| not_valid("query", describe(&error.to_string())))
}

pub(super) fn not_valid(pointer: &str, detail: String) -> Problem {
    invalid("The query is not valid.", vec![ValidationError { pointer: pointer.to_owned(), detail }])
}
