//! The parameter `Idempotency-Key`.

use utoipa::IntoParams;
use utoipa::openapi::Required;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, SchemaType, Type};

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
