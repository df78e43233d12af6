//! The schema of a client's own words.

use std::borrow::Cow;

use utoipa::openapi::schema::{ObjectBuilder, SchemaType, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// Text that [`ValidationErrors::require_text`](crate::ValidationErrors::require_text) accepts, as the schema of a member.
pub struct Text;

impl PartialSchema for Text {
    fn schema() -> RefOr<Schema> {
        let text = ObjectBuilder::new()
            .schema_type(SchemaType::new(Type::String))
            .min_length(Some(1))
            .max_length(Some(200))
            // The characters of Unicode's category Cc. Not every language knows the class by its name.
            .pattern(Some("^[^\\u0000-\\u001f\\u007f-\\u009f]*$"))
            .description(Some(
                "Your own words: 1 to 200 characters, no control characters. A text that contains a card number is refused.",
            ))
            .examples(["invoice 2026-0042"]);
        text.into()
    }
}

impl ToSchema for Text {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("Text")
    }
}
