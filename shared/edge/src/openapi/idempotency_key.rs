//! The parameter `Idempotency-Key`.

use idempotency::Key;
use serde::Deserialize;
use serde_json::json;
use utoipa::IntoParams;
use utoipa::openapi::Required;
use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{Object, ObjectBuilder, SchemaType, Type};

use crate::{Edge, Problem, problem_types};

/// A key under the default policy, bare or in double quotes. The parameters that RFC 9651 permits after the quotes are
/// accepted and ignored, and not documented.
const PATTERN: &str = "^([0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}|\
                        \"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\")$";

/// The nil and the max UUID, which are no keys. A pattern without look-ahead, which Go has not, cannot exclude them.
const PLACEHOLDER: &str = "^\"?(0{8}(-0{4}){3}-0{12}|[Ff]{8}(-[Ff]{4}){3}-[Ff]{12})\"?$";

/// A plain string with a pattern: `format: uuid` breaks generated clients (measured).
fn schema() -> Object {
    ObjectBuilder::new()
        .schema_type(SchemaType::new(Type::String))
        .pattern(Some(PATTERN))
        .examples(["8e03978e-40d5-43e8-bc93-6894a57f9324"])
        .extensions(Some(Extensions::from_iter([("not", json!({ "pattern": PLACEHOLDER }))])))
        .build()
}

/// The `Idempotency-Key` header, for the `params` of a command.
pub struct IdempotencyKey;

impl IntoParams for IdempotencyKey {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let parameter = ParameterBuilder::new()
            .name("Idempotency-Key")
            .parameter_in(ParameterIn::Header)
            .required(Required::True)
            .description(Some(
                "Identifies the command. The same key with the same request takes effect once: a retry within 24 hours gets \
                 the stored response, byte for byte. Send a new UUID for each new command; the nil and the max UUID are refused.",
            ));
        vec![parameter.schema(Some(schema())).build()]
    }
}

/// The key of `/v1/idempotency-keys/{key}`.
#[derive(Deserialize)]
pub(crate) struct KeyInPath(String);

impl KeyInPath {
    /// Reads the key as the header's value.
    pub(crate) fn parse(&self, edge: &Edge) -> Result<Key, Problem> {
        Key::parse(self.0.as_bytes(), edge.settings.key_policy)
            .map_err(|error| Problem::new(&problem_types::KEY_INVALID, error.to_string()))
    }
}

impl IntoParams for KeyInPath {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let parameter = ParameterBuilder::new()
            .name("key")
            .parameter_in(ParameterIn::Path)
            .required(Required::True)
            .description(Some("The key, quoted or bare as in the header, percent-encoded"));
        vec![parameter.schema(Some(schema())).build()]
    }
}

#[cfg(test)]
mod tests {
    use idempotency::{Key, KeyPolicy};
    use proptest::prelude::*;
    use regex::Regex;

    use super::{PATTERN, PLACEHOLDER};

    proptest! {
        #[test]
        fn the_documented_pattern_is_the_grammar_of_the_server(
            uuid in "[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}|0{8}(-0{4}){3}-0{12}|[Ff]{8}(-[Ff]{4}){3}-[Ff]{12}",
            before in "[\"{ ]?",
            after in "[\"} ]?",
            (at, other) in (0_usize..36, "[0-9A-Ga-g\"_-]{0,2}"),
            is_changed in any::<bool>(),
        ) {
            let mut key = uuid;
            if is_changed {
                key.replace_range(at..=at, &other);
            }
            let key = format!("{before}{key}{after}");
            let trimmed = key.trim();
            let is_accepted = Key::parse(trimmed.as_bytes(), KeyPolicy::Uuid).is_ok();
            let matches = |pattern| Regex::new(pattern).unwrap().is_match(trimmed);
            prop_assert_eq!(matches(PATTERN) && !matches(PLACEHOLDER), is_accepted, "{}", trimmed);
        }
    }
}
