//! Conditional requests (RFC 9110, section 13): a client says which version it has, so that nothing is sent twice and
//! nothing is overwritten unseen.

mod tags;

use std::collections::BTreeMap;
use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::http::header::{ETAG, HeaderName, HeaderValue, IF_MATCH, IF_NONE_MATCH};
use actix_web::{FromRequest, HttpRequest, HttpResponse};
use serde::Serialize;
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::response::Response;
use utoipa::openapi::schema::{Object, ObjectBuilder, SchemaType, Type};
use utoipa::openapi::{RefOr, Required, ResponseBuilder};
use utoipa::{IntoParams, IntoResponses};

use crate::parse::{ValidationError, invalid};
use crate::{CommandError, Problem, problem_types};
use tags::Tags;

/// The versions that the client of a read has already.
///
/// In the `params` of a route it documents the header, in its `responses` the 304.
#[derive(Debug, Clone)]
pub struct IfNoneMatch(Option<Tags>);

impl IfNoneMatch {
    /// 304 without a body if the client has this version; else 200 with the view. `ETag` names the version either way.
    ///
    /// The version must grow with every change that the view shows.
    pub fn answer(&self, version: i64, view: &impl Serialize) -> HttpResponse {
        let known = self.0.as_ref().is_some_and(|tags| tags.name_weakly(version));
        let mut response = if known { HttpResponse::NotModified() } else { HttpResponse::Ok() };
        response.insert_header((ETAG, entity_tag(version)));
        if known { response.finish() } else { response.json(view) }
    }
}

/// The versions that a command wants to find; without the header, any.
///
/// In the `params` of a route it documents the header, in its `responses` the 412. A handler names it behind its
/// command, so that the token is checked first.
#[derive(Debug, Clone)]
pub struct IfMatch(Option<Tags>);

impl IfMatch {
    /// 412 unless this is a version that the client wants to find; `None` if there is no such thing yet.
    ///
    /// Asked inside the transaction, with the row locked. A command that finds its request fulfilled already need not
    /// ask: a retry whose first answer was lost then succeeds, as RFC 9110 (section 13.1.1) allows.
    pub fn require(&self, current: Option<i64>) -> Result<(), CommandError> {
        let Some(wanted) = &self.0 else { return Ok(()) };
        let detail = match current {
            Some(version) if wanted.name(version) => return Ok(()),
            Some(version) => {
                format!(
                    "The version is {}, which If-Match does not name. Read the thing again.",
                    entity_tag(version)
                )
            }
            None => "There is no such thing yet, and If-Match wants one.".to_owned(),
        };
        Err(CommandError::rejected(&problem_types::PRECONDITION_FAILED, detail))
    }
}

/// The version of a thing as a strong entity tag, for an `ETag` header.
pub fn entity_tag(version: i64) -> String {
    format!("\"{version}\"")
}

/// All lines of a header that lists entity tags; `None` if there is none.
fn read(request: &HttpRequest, name: &HeaderName) -> Result<Option<Tags>, Problem> {
    let lines = request.headers().get_all(name).map(HeaderValue::as_bytes);
    Tags::read(lines).map_err(|detail| {
        let errors = vec![ValidationError { pointer: name.to_string(), detail: detail.to_owned() }];
        invalid("A header is not valid.", errors)
    })
}

impl FromRequest for IfNoneMatch {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(read(request, &IF_NONE_MATCH).map(Self))
    }
}

impl FromRequest for IfMatch {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(read(request, &IF_MATCH).map(Self))
    }
}

impl IntoParams for IfNoneMatch {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![header(
            "If-None-Match",
            "The ETag that the client has: if it still holds, the answer is 304 without a body.",
        )]
    }
}

impl IntoResponses for IfNoneMatch {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let tag = HeaderBuilder::new().schema(Some(text())).description(Some("The version"));
        let response = ResponseBuilder::new().description("Not modified").header("ETag", tag.build());
        BTreeMap::from([("304".to_owned(), RefOr::T(response.build()))])
    }
}

impl IntoParams for IfMatch {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![header(
            "If-Match",
            "The ETag that is to be replaced: if it is another one by now, the answer is 412.",
        )]
    }
}

impl IntoResponses for IfMatch {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        crate::openapi::problems(&[("412", "The version is another one than If-Match names")])
    }
}

fn header(name: &str, description: &str) -> Parameter {
    let parameter = ParameterBuilder::new().name(name).parameter_in(ParameterIn::Header);
    let parameter = parameter.required(Required::False).description(Some(description));
    parameter.schema(Some(text())).build()
}

fn text() -> Object {
    ObjectBuilder::new().schema_type(SchemaType::new(Type::String)).examples(["\"3\""]).build()
}
