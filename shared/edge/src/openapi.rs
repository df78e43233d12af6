//! Parameters, responses and security of the OpenAPI documents of all services.

use std::collections::BTreeMap;

use utoipa::openapi::header::{Header, HeaderBuilder};
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::response::Response;
use utoipa::openapi::schema::{ObjectBuilder, SchemaType, Type};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{ContentBuilder, OpenApi, Ref, RefOr, Required, ResponseBuilder};
use utoipa::{IntoParams, IntoResponses, Modify};

use crate::problems::MEDIA_TYPE;

/// The `Idempotency-Key` header, for the `params` of a command.
pub struct IdempotencyKey;

impl IntoParams for IdempotencyKey {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        // A plain string with a pattern: `format: uuid` breaks generated clients (measured).
        let schema = ObjectBuilder::new()
            .schema_type(SchemaType::new(Type::String))
            .pattern(Some("^[A-Za-z0-9\"][A-Za-z0-9._~:+/=\"-]{15,256}$"))
            .examples(["8e03978e-40d5-43e8-bc93-6894a57f9324"]);
        let parameter = ParameterBuilder::new()
            .name("Idempotency-Key")
            .parameter_in(ParameterIn::Header)
            .required(Required::True)
            .description(Some(
                "Identifies the command. The same key with the same request takes effect once: a retry within 24 hours gets \
                 the stored response, byte for byte. Send a new UUID for each new command.",
            ))
            .schema(Some(schema));
        vec![parameter.build()]
    }
}

/// The response 202 of a command without an outcome. The document needs [`AcceptedOperation`](crate::AcceptedOperation)
/// among its schemas.
pub struct Accepted;

impl IntoResponses for Accepted {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let body = ContentBuilder::new().schema(Some(Ref::from_schema_name("AcceptedOperation"))).build();
        let text = |description: &str| {
            let schema = ObjectBuilder::new().schema_type(SchemaType::new(Type::String));
            HeaderBuilder::new().schema(Some(schema.build())).description(Some(description)).build()
        };
        let response = ResponseBuilder::new()
            .description("Accepted; the operation shows the outcome. The command is carried out once, also if the request is repeated")
            .content("application/json", body)
            .header("Location", text("The operation, which will show the outcome"))
            .header("Retry-After", seconds("Seconds after which to read the operation"))
            .header("Idempotency-Status", text("executed, or replayed"));
        BTreeMap::from([("202".to_owned(), RefOr::T(response.build()))])
    }
}

/// The problems that any command may return, besides its own.
pub struct CommandProblems;

impl IntoResponses for CommandProblems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        problems(&[
            ("400", "The request or its key is not valid; nothing is stored"),
            ("401", "No valid token"),
            ("403", "The token lacks a scope"),
            ("404", "The resource does not exist"),
            ("408", "The body did not arrive in time"),
            (
                "409",
                "With Retry-After: the first request is in progress, send it again. Without: the key was reused or has expired, or the resource's state forbids the command",
            ),
            ("413", "The body is too large"),
            ("415", "The body is not application/json"),
            ("422", "A business rule forbids the command"),
            ("429", "Too many requests of this tenant; nothing was done"),
            ("500", "An error on our side; nothing was done"),
            ("503", "Not available now; send the same request again"),
        ])
    }
}

/// The problems that any read may return.
pub struct ReadProblems;

impl IntoResponses for ReadProblems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        problems(&[
            ("400", "The query is not valid"),
            ("401", "No valid token"),
            ("403", "The token lacks a scope"),
            ("404", "The resource does not exist"),
            ("429", "Too many requests of this tenant"),
            ("500", "An error on our side"),
            ("503", "Not available now"),
        ])
    }
}

/// Responses with a problem document, by status.
pub(crate) fn problems(of: &[(&str, &str)]) -> BTreeMap<String, RefOr<Response>> {
    of.iter()
        .map(|(status, description)| {
            let body = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
            let mut response = ResponseBuilder::new().description(*description).content(MEDIA_TYPE, body);
            if ["408", "409", "429", "503"].contains(status) {
                response = response.header("Retry-After", retry_after());
            }
            ((*status).to_owned(), RefOr::T(response.build()))
        })
        .collect()
}

fn retry_after() -> Header {
    seconds("Seconds after which the same request may be sent again; only if retryable")
}

fn seconds(description: &str) -> Header {
    let seconds = ObjectBuilder::new().schema_type(SchemaType::new(Type::Integer)).minimum(Some(1));
    HeaderBuilder::new().schema(Some(seconds.build())).description(Some(description)).build()
}

/// Adds the bearer scheme to a document.
pub struct Bearer;

impl Modify for Bearer {
    fn modify(&self, document: &mut OpenApi) {
        let components = document.components.get_or_insert_with(Default::default);
        components.add_security_scheme("bearer", SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)));
    }
}
