//! Conditional requests (RFC 9110, section 13). `If-None-Match` saves sending a version that the client has. A precondition
//! keeps a client from overwriting a version that it has not read, or a resource that it believes to be new.

mod entity_tags;

use std::collections::BTreeMap;
use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::http::header::{
    ETAG, HeaderName, HeaderValue, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_UNMODIFIED_SINCE,
};
use actix_web::{FromRequest, HttpRequest, HttpResponse};
use serde::Serialize;
use serde_json::json;
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::response::Response;
use utoipa::openapi::schema::{Object, ObjectBuilder, SchemaType, Type};
use utoipa::openapi::{RefOr, Required, ResponseBuilder};
use utoipa::{IntoParams, IntoResponses};

use crate::problems::{ValidationError, invalid};
use crate::{CommandError, Problem, problem_responses, problem_types};
use entity_tags::EntityTags;

/// The versions that the client has already.
///
/// In the `params` of a route it documents the header, in the `responses` it documents the 304 and the 400.
#[derive(Debug, Clone)]
pub struct IfNoneMatch(Option<EntityTags>);

impl IfNoneMatch {
    /// Returns 304 without a body if the client has this version, otherwise 200 with the view. Both carry the version as
    /// `ETag`.
    ///
    /// The version must increase with every change that the view shows.
    pub fn respond(&self, version: i64, view: &impl Serialize) -> HttpResponse {
        let is_known = self.0.as_ref().is_some_and(|tags| tags.names_weakly(version));
        let mut response = if is_known { HttpResponse::NotModified() } else { HttpResponse::Ok() };
        response.insert_header((ETAG, entity_tag(version)));
        if is_known { response.finish() } else { response.json(view) }
    }
}

/// The versions that a command may replace, by `If-Match` and `If-None-Match`. Without these headers, any version.
///
/// In the `params` of a route it documents the headers, in the `responses` it documents the 412. A handler takes it after its command,
/// so that the token is checked first.
#[derive(Debug, Clone)]
pub struct Precondition {
    if_match: Option<EntityTags>,
    if_none_match: Option<EntityTags>,
}

impl Precondition {
    fn read(request: &HttpRequest) -> Result<Self, Problem> {
        Ok(Self { if_match: read(request, &IF_MATCH)?, if_none_match: read(request, &IF_NONE_MATCH)? })
    }

    /// Checks that `If-None-Match` does not name the current version; `*` names every version.
    ///
    /// Call it inside the transaction, with the row locked, before anything else: RFC 9110 (section 13.1.2) has no exception.
    ///
    /// # Errors
    /// Rejects with [`PRECONDITION_FAILED`](problem_types::PRECONDITION_FAILED), 412, if the header names it.
    pub fn exclude(&self, current: i64) -> Result<(), CommandError> {
        if !self.if_none_match.as_ref().is_some_and(|tags| tags.names_weakly(current)) {
            return Ok(());
        }
        let detail =
            format!("The resource exists in version {}, which If-None-Match excludes.", entity_tag(current));
        Err(CommandError::rejected(&problem_types::PRECONDITION_FAILED, detail))
    }

    /// Checks that `If-Match` names the current version, if the client sent it. `current` is `None` if the resource does not exist.
    ///
    /// Call it inside the transaction, with the row locked. Skip it if the resource already has the requested state: then
    /// a retry whose first response was lost succeeds, as RFC 9110 (section 13.1.1) allows.
    ///
    /// # Errors
    /// Rejects with [`PRECONDITION_FAILED`](problem_types::PRECONDITION_FAILED), 412, if the header does not name it, or nothing
    /// exists.
    pub fn require(&self, current: Option<i64>) -> Result<(), CommandError> {
        let Some(expected) = &self.if_match else { return Ok(()) };
        let detail = match current {
            Some(version) if expected.names(version) => return Ok(()),
            Some(version) => {
                format!(
                    "The current version is {}, which If-Match does not name. Read the resource again.",
                    entity_tag(version)
                )
            }
            None => "The resource does not exist yet, and If-Match requires one.".to_owned(),
        };
        Err(CommandError::rejected(&problem_types::PRECONDITION_FAILED, detail))
    }
}

/// A version as a strong entity tag, for an `ETag` header.
pub fn entity_tag(version: i64) -> String {
    format!("\"{version}\"")
}

/// Reads all lines of a header that lists entity tags; `None` if there is no line.
fn read(request: &HttpRequest, name: &HeaderName) -> Result<Option<EntityTags>, Problem> {
    let lines = request.headers().get_all(name).map(HeaderValue::as_bytes);
    EntityTags::read(lines).map_err(|detail| {
        let errors = vec![ValidationError { pointer: name.to_string(), detail: detail.to_owned() }];
        invalid("A header is not valid; see errors.", errors)
    })
}

impl FromRequest for IfNoneMatch {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(read(request, &IF_NONE_MATCH).map(Self))
    }
}

impl FromRequest for Precondition {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Self::read(request))
    }
}

/// Returns 400 if a request has a precondition that its command would ignore.
pub(crate) fn refuse_preconditions(request: &HttpRequest) -> Result<(), Problem> {
    let refused = [IF_MATCH, IF_NONE_MATCH, IF_UNMODIFIED_SINCE, IF_MODIFIED_SINCE];
    let given = refused.into_iter().filter(|name| request.headers().contains_key(name));
    let detail = "this command takes no precondition; send it without this header";
    let errors: Vec<ValidationError> =
        given.map(|name| ValidationError { pointer: name.to_string(), detail: detail.to_owned() }).collect();
    if errors.is_empty() { Ok(()) } else { Err(invalid("A header is not valid; see errors.", errors)) }
}

impl IntoParams for IfNoneMatch {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![header(
            "If-None-Match",
            "The ETag that the client has. If it is still current, the response is 304 without a body.",
        )]
    }
}

impl IntoResponses for IfNoneMatch {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let tag = HeaderBuilder::new().schema(Some(text())).description(Some("The version"));
        let response = ResponseBuilder::new().description("Not modified").header("ETag", tag.build());
        let mut responses = problem_responses(&[&problem_types::REQUEST_INVALID]);
        responses.insert("304".to_owned(), RefOr::T(response.build()));
        responses
    }
}

impl IntoParams for Precondition {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let if_match =
            "The ETag of the version to replace. If the current version is another, the response is 412.";
        let if_none_match = "`*` creates only: if the resource exists, the response is 412.";
        vec![header("If-Match", if_match), header("If-None-Match", if_none_match)]
    }
}

impl IntoResponses for Precondition {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        problem_responses(&[&problem_types::PRECONDITION_FAILED])
    }
}

fn header(name: &str, description: &str) -> Parameter {
    let parameter = ParameterBuilder::new().name(name).parameter_in(ParameterIn::Header);
    let parameter = parameter.required(Required::False).description(Some(description));
    // The example is beside the schema: schemathesis generates tags for a plain string only.
    let schema = ObjectBuilder::new().schema_type(SchemaType::new(Type::String));
    parameter.schema(Some(schema)).example(Some(json!("\"3\""))).build()
}

fn text() -> Object {
    ObjectBuilder::new().schema_type(SchemaType::new(Type::String)).examples(["\"3\""]).build()
}
