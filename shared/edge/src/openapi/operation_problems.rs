//! The problems of an operation, for its `responses`: by status, and exactly those that it can return.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use utoipa::IntoResponses;
use utoipa::openapi::response::Response;
use utoipa::openapi::{ContentBuilder, Ref, RefOr, ResponseBuilder};

use super::problem_components::{GROUPS, camel_case, schema_name, tells_when, titles, union};
use crate::problems::MEDIA_TYPE;
use crate::{Command, ProblemType, problem_types as p};

/// Any request with a token.
const CALLER: &[&ProblemType] =
    &[&p::UNAUTHENTICATED, &p::FORBIDDEN, &p::RATE_LIMITED, &p::INTERNAL, &p::UNAVAILABLE];

/// Any command with a body.
const BODY: &[&ProblemType] = &[
    &p::REQUEST_INVALID,
    &p::REQUEST_TIMEOUT,
    &p::REQUEST_TOO_LARGE,
    &p::UNSUPPORTED_MEDIA_TYPE,
    &p::COMMIT_UNKNOWN,
];

/// Any command with a key.
const KEY: &[&ProblemType] =
    &[&p::KEY_MISSING, &p::KEY_INVALID, &p::KEY_IN_PROGRESS, &p::KEY_REUSED, &p::KEY_EXPIRED, &p::KEY_FENCED];

/// The responses of these problems. Problems of one status share a response.
pub fn problem_responses<'p>(
    of: impl IntoIterator<Item = &'p &'static ProblemType>,
) -> BTreeMap<String, RefOr<Response>> {
    responses(of, &[])
}

/// `stored` are problems whose response is stored with the key. Such a response has the headers of a replay, so it is no
/// shared one.
fn responses<'p>(
    of: impl IntoIterator<Item = &'p &'static ProblemType>,
    stored: &'p [&'static ProblemType],
) -> BTreeMap<String, RefOr<Response>> {
    let mut by_status: BTreeMap<u16, Vec<&'static ProblemType>> = BTreeMap::new();
    for kind in of.into_iter().chain(stored) {
        by_status.entry(kind.status).or_default().push(kind);
    }
    let shared = |kinds: &[&'static ProblemType]| match kinds {
        kinds if kinds.iter().any(|kind| stored.contains(kind)) => None,
        [kind] => Some(camel_case(kind)),
        kinds => GROUPS.iter().find(|group| group.kinds == kinds).map(|group| group.name.to_owned()),
    };
    let response = |kinds: &[&'static ProblemType]| match shared(kinds) {
        Some(name) => RefOr::Ref(Ref::from_response_name(name)),
        None => RefOr::T(own_response(kinds)),
    };
    by_status.into_iter().map(|(status, kinds)| (status.to_string(), response(&kinds))).collect()
}

fn own_response(kinds: &[&'static ProblemType]) -> Response {
    let content = match kinds {
        [kind] => ContentBuilder::new().schema(Some(Ref::from_schema_name(schema_name(kind)))),
        kinds => ContentBuilder::new().schema(Some(union(kinds))),
    };
    let response = ResponseBuilder::new().description(titles(kinds)).content(MEDIA_TYPE, content.build());
    let tells_when = kinds.iter().any(|kind| tells_when(kind)).then_some("Retry-After");
    let headers = ["Link"].into_iter().chain(tells_when);
    let reference = |name| Ref::new(format!("#/components/headers/{name}"));
    headers.fold(response, |response, name| response.header_ref(name, reference(name))).build()
}

/// The problems of a command with a key, and those of `C` itself.
pub struct KeyedProblems<C>(PhantomData<C>);

impl<C: Command> IntoResponses for KeyedProblems<C> {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        responses(&[CALLER, BODY, KEY].concat(), C::PROBLEMS)
    }
}

/// The problems of a command without a key, and those of `C` itself.
pub struct NaturalProblems<C>(PhantomData<C>);

impl<C: Command> IntoResponses for NaturalProblems<C> {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        problem_responses([CALLER, BODY].concat().iter().chain(C::PROBLEMS))
    }
}

/// The problems of any read.
pub struct ReadProblems;

impl IntoResponses for ReadProblems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        problem_responses(CALLER)
    }
}

/// The problem of a read by id.
pub struct NotFound;

impl IntoResponses for NotFound {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        problem_responses(&[&p::NOT_FOUND])
    }
}

/// The problems of a list: a parameter that is not valid, and a cursor that does not exist.
pub struct InvalidQuery;

impl IntoResponses for InvalidQuery {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        problem_responses(&[&p::REQUEST_INVALID, &p::NOT_FOUND])
    }
}
