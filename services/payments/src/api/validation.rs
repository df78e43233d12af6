//! Checks of request members that several endpoints share.

use contracts::Money;
use edge::ValidationErrors;

/// A text with this many consecutive digits may contain a card number. The shortest card numbers have 12 digits.
const CARD_DIGITS: usize = 12;

/// Checks an amount of money.
pub(super) fn amount(errors: &mut ValidationErrors, money: Money) {
    let most = Money::MAX;
    errors.require(
        (1..=most).contains(&money.amount),
        "/amount/amount",
        format!("an amount is 1 to {most} minor units"),
    );
}

/// Checks a token of a card. A text with a card number is refused before anything of it is stored.
pub(super) fn payment_method(errors: &mut ValidationErrors, text: &str) {
    let rest = text.strip_prefix("pm_").or_else(|| text.strip_prefix("card_"));
    let is_token = rest.is_some_and(|rest| {
        (1..=100).contains(&rest.len()) && rest.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    });
    errors.require(
        is_token && !has_card_number(text),
        "/payment_method",
        "a token of the processor, never a card number: pm_ or card_ and 1 to 100 of A-Z a-z 0-9 _",
    );
}

fn has_card_number(text: &str) -> bool {
    text.split(|character: char| !character.is_ascii_digit()).any(|digits| digits.len() >= CARD_DIGITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_accepted(method: &str) -> bool {
        let mut errors = ValidationErrors::default();
        payment_method(&mut errors, method);
        format!("{errors:?}") == format!("{:?}", ValidationErrors::default())
    }

    #[test]
    fn tokens_are_accepted_and_card_numbers_are_not() {
        for token in ["pm_card_visa", "pm_1MqLiJLkdIwHu7ixUEgbFdYF", "card_1NGTaT2eZvKYlo2C"] {
            assert!(is_accepted(token), "{token}");
        }
        let long = format!("pm_{}", "a".repeat(101));
        for other in [
            "",
            "pm_",
            "4242424242424242",
            "pm_4242424242424242",
            "pm_card_4111111111111",
            "pm_é",
            "tok_visa",
            &long,
        ] {
            assert!(!is_accepted(other), "{other}");
        }
    }
}
