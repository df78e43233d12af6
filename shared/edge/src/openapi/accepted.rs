//! The response 202.

use std::collections::BTreeMap;

use utoipa::IntoResponses;
use utoipa::openapi::header::{Header, HeaderBuilder};
use utoipa::openapi::response::Response;
use utoipa::openapi::schema::{ObjectBuilder, SchemaType, Type};
use utoipa::openapi::{ContentBuilder, Ref, RefOr, ResponseBuilder};

/// The response 202 of a command without an outcome. The document needs [`AcceptedOperation`](crate::AcceptedOperation)
/// among its schemas.
pub struct Accepted;

impl IntoResponses for Accepted {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let body = ContentBuilder::new().schema(Some(Ref::from_schema_name("AcceptedOperation"))).build();
        let response = ResponseBuilder::new()
            .description("Accepted; the operation shows the outcome. The command is carried out once, also if the request is repeated")
            .content("application/json", body)
            .header("Location", header(Type::String, "The operation, which will show the outcome"))
            .header("Retry-After", header(Type::Integer, "Seconds after which to read the operation"));
        BTreeMap::from([("202".to_owned(), RefOr::T(response.build()))])
    }
}

fn header(kind: Type, description: &str) -> Header {
    let schema = ObjectBuilder::new().schema_type(SchemaType::new(kind)).build();
    HeaderBuilder::new().schema(Some(schema)).description(Some(description)).build()
}
