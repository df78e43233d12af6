//! The texts of a client: their length, their characters, and whether they contain a card number.

use audit::has_card_number;

use super::ValidationErrors;

/// Whether a client's own reference may contain a card number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CardNumbers {
    /// The request is refused.
    #[default]
    Refused,
    /// The reference is stored. It is in rows and responses, and in no event, audit fact or log line.
    Stored,
}

impl ValidationErrors {
    /// Adds an error unless this text has 1 to 200 characters, no control characters and no card number. Because events, audit
    /// facts and rows keep such texts, a request with a card number is refused before anything of it is stored.
    pub fn require_text(&mut self, text: &str, pointer: &str, what: &str) {
        if self.require_words(text, pointer, what) {
            let has_card = has_card_number(text);
            self.require(!has_card, pointer, format!("a {what} must not contain a card number"));
        }
    }

    /// The same for a client's own reference, of which the setting `http.card_numbers_in_references` allows card numbers.
    pub fn require_reference(&mut self, text: &str, pointer: &str) {
        match self.in_references {
            CardNumbers::Refused => self.require_text(text, pointer, "reference"),
            CardNumbers::Stored => drop(self.require_words(text, pointer, "reference")),
        }
    }

    /// Adds an error unless this text has 1 to 200 characters and no control characters. Returns whether the text is so.
    pub fn require_words(&mut self, text: &str, pointer: &str, what: &str) -> bool {
        // A longer text is not read further.
        let has_length = (1..=200).contains(&text.chars().take(201).count());
        let is_text = has_length && !text.chars().any(char::is_control);
        self.require(is_text, pointer, format!("a {what} has 1 to 200 characters, no control characters"));
        is_text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_searched_for_card_numbers_only_if_its_length_is_right() {
        let card = "4242 4242 4242 4242";
        for (text, stored, expected) in [
            (card.to_owned(), CardNumbers::Refused, vec!["a reference must not contain a card number"]),
            (card.to_owned(), CardNumbers::Stored, vec![]),
            (
                card.repeat(11),
                CardNumbers::Refused,
                vec!["a reference has 1 to 200 characters, no control characters"],
            ),
            (
                card.repeat(11),
                CardNumbers::Stored,
                vec!["a reference has 1 to 200 characters, no control characters"],
            ),
        ] {
            let mut errors = ValidationErrors::new(stored);
            errors.require_reference(&text, "/reference");
            let details: Vec<&str> = errors.listed.iter().map(|error| error.detail.as_str()).collect();
            assert_eq!(details, expected, "{text}, {stored:?}");
        }
    }
}
