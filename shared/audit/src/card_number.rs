//! Finds card numbers in texts of clients and operators. No such text is stored.

/// Returns whether a text contains what may be a card number: 13 to 19 digits with the first digit and the check digit of a
/// card (ISO/IEC 7812), in one run or in groups of at most 6 digits with a space or a hyphen between them. Of other numbers
/// of this length and with such a first digit, every tenth has a correct check digit.
pub fn has_card_number(text: &str) -> bool {
    let belongs = |character: char| character.is_ascii_alphanumeric() || matches!(character, ' ' | '-');
    text.split(|character| !belongs(character)).any(|part| {
        let groups: Vec<&str> = part.split([' ', '-']).collect();
        let is_written_in_groups = |first| {
            let mut digits = String::new();
            // The groups of a UUID are longer, or have letters.
            let mut groups = groups[first..].iter().take_while(|group| is_group_of_digits(group));
            groups.any(|group| {
                digits.push_str(group);
                is_card_number(&digits)
            })
        };
        let has_run = |group: &str| group.split(|c: char| !c.is_ascii_digit()).any(is_card_number);
        (0..groups.len()).any(|first| has_run(groups[first]) || is_written_in_groups(first))
    })
}

fn is_group_of_digits(group: &str) -> bool {
    (1..=6).contains(&group.len()) && group.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_card_number(digits: &str) -> bool {
    let sum: u32 = digits
        .bytes()
        .rev()
        .enumerate()
        .map(|(position, digit)| match (position % 2, u32::from(digit - b'0')) {
            (0, value) => value,
            (_, value) if value > 4 => value * 2 - 9,
            (_, value) => value * 2,
        })
        .sum();
    (13..=19).contains(&digits.len())
        && digits.starts_with(['2', '3', '4', '5', '6'])
        && sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_number_is_found_in_a_text() {
        for text in [
            "4242424242424242",
            "card 4242 4242 4242 4242, please",
            "4242-4242-4242-4242",
            "3782 822463 10005",
            "order 4711 4242424242424242",
            "no:6011000990139424.",
            "visa4242424242424242",
            "4242424242424242x",
        ] {
            assert!(has_card_number(text), "{text}");
        }
    }

    #[test]
    fn other_numbers_are_no_card_numbers() {
        for text in [
            "",
            "changed my mind",
            "invoice 2026-0042",
            "4242424242424241",
            "20261122123456",
            "1763700000000000",
            "+49 30 901820",
            "4242  4242  4242  4242",
            "42424242424242424242424242424242",
            "42424242-4242-4242-8000-000000000000",
            "7d0e5a0e-4242-4242-8242-0001ab3f6f6f",
        ] {
            assert!(!has_card_number(text), "{text}");
        }
    }
}
