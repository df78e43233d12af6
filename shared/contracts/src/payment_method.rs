//! `PaymentMethod`: the processor's token of a card.

use std::str::FromStr;

use envelope::InvalidName;

/// A text with this many digits and underscores in a row is not a token. The shortest card numbers have 12 digits.
const CARD_DIGITS: usize = 12;

/// The processor's token of a card: `pm_` or `card_` and 1 to 100 of `A-Za-z0-9_`. It is never a card number.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^(pm|card)_[A-Za-z0-9_]{1,100}$", examples("pm_card_visa")))]
pub struct PaymentMethod(String);

/// The text of the error. It does not repeat the input, which may be a card number.
const RULE: &str =
    "a token of the processor, never a card number: pm_ or card_ and 1 to 100 of A-Z a-z 0-9 _";

impl PaymentMethod {
    /// The token as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for PaymentMethod {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let rest = text.strip_prefix("pm_").or_else(|| text.strip_prefix("card_"));
        let is_token = rest.is_some_and(|rest| {
            (1..=100).contains(&rest.len()) && rest.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        });
        let mut runs = text.split(|character: char| !character.is_ascii_digit() && character != '_');
        let has_card_number = runs.any(|digits| digits.len() >= CARD_DIGITS);
        if is_token && !has_card_number { Ok(Self(text.to_owned())) } else { Err(InvalidName::of(RULE)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_accepted_and_card_numbers_are_not() {
        let parse = str::parse::<PaymentMethod>;
        for token in ["pm_card_visa", "pm_1MqLiJLkdIwHu7ixUEgbFdYF", "card_1NGTaT2eZvKYlo2C"] {
            assert_eq!(parse(token).unwrap().as_str(), token);
        }
        let long = format!("pm_{}", "a".repeat(101));
        for other in [
            "",
            "pm_",
            "4242424242424242",
            "pm_4242424242424242",
            "pm_card_4111111111111",
            "pm_4242_4242_4242_4242",
            "pm_é",
            "tok_visa",
            &long,
        ] {
            assert_eq!(parse(other), Err(InvalidName::of(RULE)), "{other}");
        }
    }
}
