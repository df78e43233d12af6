//! Checks of request members that several endpoints share.

/// Reports whether a text has 1 to 200 characters and no control characters.
pub(super) fn is_text(text: &str) -> bool {
    (1..=200).contains(&text.chars().count()) && !text.chars().any(char::is_control)
}
