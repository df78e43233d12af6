//! The schema of a client's own words.

use utoipa::ToSchema;

/// Text that [`ValidationErrors::require_text`](crate::ValidationErrors::require_text) accepts, as the schema of a member.
#[derive(ToSchema)]
#[schema(
    description = "Your own words: 1 to 200 characters, no control characters. A text that contains a card number is refused.",
    min_length = 1,
    max_length = 200,
    // The characters of Unicode's category Cc. Not every language knows the class by its name.
    pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f]*$",
    examples("invoice 2026-0042")
)]
pub struct Text(pub String);
