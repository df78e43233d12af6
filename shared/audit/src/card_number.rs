//! Finds card numbers in texts of clients and operators.

/// Returns whether a text contains what may be a card number: digits that an issuer gives out at this length, with a correct
/// check digit (ISO/IEC 7812), in one run or in the groups of a printed card. Digits of all scripts and any separators
/// count. A run next to a letter of ASCII is a part of a longer token, such as a UUID, and no card number.
///
/// Takes time in proportion to the length of the text.
pub fn has_card_number(text: &str) -> bool {
    let characters: Vec<char> = text.chars().collect();
    let mut groups: Vec<Vec<u32>> = Vec::new();
    characters.chunk_by(|one, next| is_of_token(*one) == is_of_token(*next)).any(|part| {
        if !is_of_token(part[0]) {
            if part.len() > LONGEST_SEPARATOR {
                groups.clear();
            }
            return false;
        }
        match part.iter().copied().map(digit).collect() {
            Some(digits) => groups.push(digits),
            None => groups.clear(),
        }
        ends_with_card_number(&groups)
    })
}

/// The characters between two groups of a card number, such as ` - `.
const LONGEST_SEPARATOR: usize = 3;

/// The first digits of an issuer's cards, from and to, and the numbers of digits of such a card. Numbers of 13 digits have
/// no issuer: the last ones have expired, and shop systems number orders so.
const ISSUERS: [(u32, u32, &[usize]); 16] = [
    (2200, 2204, &[16]),             // Mir
    (2221, 2720, &[16]),             // Mastercard
    (3000, 3059, &[14]),             // Diners Club
    (3095, 3095, &[14]),             // Diners Club
    (3400, 3499, &[15]),             // American Express
    (3528, 3589, &[16]),             // JCB
    (3600, 3699, &[14]),             // Diners Club
    (3700, 3799, &[15]),             // American Express
    (3800, 3999, &[14]),             // Diners Club
    (4000, 4999, &[16, 19]),         // Visa
    (5018, 5038, &[16, 19]),         // Maestro
    (5080, 5599, &[16]),             // RuPay, Mastercard
    (5893, 5893, &[16, 19]),         // Maestro
    (6000, 6199, &[16]),             // Discover, RuPay
    (6200, 6299, &[16, 17, 18, 19]), // UnionPay
    (6300, 6799, &[16, 19]),         // Discover, Maestro, RuPay
];

/// How card numbers are printed and typed.
const FORMS: [&[usize]; 10] = [
    &[14],
    &[15],
    &[16],
    &[17],
    &[18],
    &[19],
    &[4, 4, 4, 4],
    &[4, 4, 4, 4, 3],
    &[4, 6, 5], // American Express
    &[4, 6, 4], // Diners Club
];

fn ends_with_card_number(groups: &[Vec<u32>]) -> bool {
    FORMS.iter().any(|form| {
        let Some(start) = groups.len().checked_sub(form.len()) else { return false };
        let groups = &groups[start..];
        groups.iter().map(Vec::len).eq(form.iter().copied()) && is_card_number(&groups.concat())
    })
}

fn is_card_number(digits: &[u32]) -> bool {
    let first = digits[..4].iter().fold(0, |number, digit| number * 10 + digit);
    let issues = |(from, to, lengths): &(u32, u32, &[usize])| {
        (from..=to).contains(&&first) && lengths.contains(&digits.len())
    };
    ISSUERS.iter().any(issues) && has_check_digit(digits)
}

/// Whether the last digit is the check digit of the others.
fn has_check_digit(digits: &[u32]) -> bool {
    let doubled = |digit: u32| if digit > 4 { digit * 2 - 9 } else { digit * 2 };
    let values = digits.iter().rev().enumerate();
    let sum: u32 = values.map(|(n, digit)| if n % 2 == 1 { doubled(*digit) } else { *digit }).sum();
    sum.is_multiple_of(10)
}

fn is_of_token(character: char) -> bool {
    character.is_ascii_alphabetic() || digit(character).is_some()
}

/// The zeros of the scripts whose digits people type, and of styled digits. The nine other digits follow each of them.
const ZEROS: [char; 20] =
    ['0', '٠', '۰', '߀', '०', '০', '੦', '૦', '୦', '௦', '౦', '೦', '൦', '๐', '０', '𝟎', '𝟘', '𝟢', '𝟬', '𝟶'];

fn digit(character: char) -> Option<u32> {
    ZEROS
        .iter()
        .find_map(|zero| u32::from(character).checked_sub(u32::from(*zero)).filter(|value| *value < 10))
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_card_number_is_found_in_a_text() {
        for text in [
            "4242424242424242",
            "card 4242 4242 4242 4242, please",
            "4242-4242-4242-4242",
            "4242.4242.4242.4242",
            "4242 - 4242 - 4242 - 4242",
            "4242\u{a0}4242\u{a0}4242\u{a0}4242",
            "4242\u{200b}4242\u{2011}4242\u{202f}4242",
            "４２４２４２４２４２４２４２４２",
            "٤٢٤٢ ٤٢٤٢ ٤٢٤٢ ٤٢٤٢",
            "pm_4242_4242_4242_4242",
            "3782 822463 10005",
            "3056 930902 5904",
            "order 4711 4242424242424242",
            "4242 4242 4242 4242 12/28",
            "no:6011000990139424.",
            "卡号4242424242424242",
            "5555555555554444",
            "2223003122003222",
            "378282246310005",
            "3566002020360505",
            "6200000000000005",
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
            "42424242424242424242424242424242",
            "42424242-4242-4242-8000-000000000000",
            "7d0e5a0e-4242-4242-8242-0001ab3f6f6f",
            "7d0e5a0e42424242424242420001ab3f",
            "4222222222222",
            "9999999999999995",
        ] {
            assert!(!has_card_number(text), "{text}");
        }
    }

    #[test]
    fn a_text_of_any_length_is_read_once() {
        // A search that reads parts of the text again and again would not end within a day.
        for part in ["1", "1 ", "4243 ", "4243-", "4 2-", "４", "- ", "a1", "\u{a0}4243"] {
            assert!(!has_card_number(&part.repeat(1 << 18)), "{part}");
        }
    }

    type Draw<'a> = &'a mut dyn FnMut(u64, u64) -> u64;

    type Make = fn(Draw<'_>) -> String;

    /// Clients send such numbers as their references.
    const KINDS: [(&str, Make); 16] = [
        ("Shopify", |n| n(1_000_000_000_000, 9_999_999_999_999).to_string()),
        ("WooCommerce", |n| format!("#{}", n(1, 9_999_999))),
        ("Magento", |n| format!("{}{:08}", n(1, 9), n(0, 99_999_999))),
        ("Shopware", |n| format!("{}-{:05}", n(2020, 2035), n(0, 99_999))),
        ("Amazon", |n| format!("{:03}-{:07}-{:07}", n(0, 999), n(0, 9_999_999), n(0, 9_999_999))),
        ("eBay", |n| format!("{:02}-{:05}-{:05}", n(1, 30), n(0, 99_999), n(0, 99_999))),
        ("day and number", |n| format!("{}-{:06}", day(n, "-"), n(0, 999_999))),
        ("day with number", |n| format!("{}{:06}", day(n, ""), n(0, 999_999))),
        ("day with a longer number", |n| format!("{}{:08}", day(n, ""), n(0, 99_999_999))),
        ("microseconds", |n| n(1_600_000_000_000_000, 1_999_999_999_999_999).to_string()),
        ("UUID", |n| Uuid::from_u64_pair(n(0, u64::MAX), n(0, u64::MAX)).to_string()),
        ("UUID without hyphens", |n| {
            Uuid::from_u64_pair(n(0, u64::MAX), n(0, u64::MAX)).simple().to_string()
        }),
        ("EAN", |n| {
            let digits: Vec<u64> = (0..12).map(|_| n(0, 9)).collect();
            let sum: u64 =
                digits.iter().zip([1, 3].into_iter().cycle()).map(|(digit, weight)| digit * weight).sum();
            digits.iter().chain([&((10 - sum % 10) % 10)]).map(u64::to_string).collect()
        }),
        ("IMEI", |n| {
            let start = format!(
                "{}{:012}",
                ["01", "35", "86", "99"][usize::try_from(n(0, 3)).unwrap()],
                n(0, 999_999_999_999)
            );
            let whole = (0..10).map(|last| format!("{start}{last}"));
            let is_valid =
                |text: &String| has_check_digit(&text.chars().filter_map(digit).collect::<Vec<_>>());
            whole.into_iter().find(is_valid).unwrap()
        }),
        ("telephone", |n| format!("+{} {} {}", n(1, 99), n(100, 9_999), n(100_000, 99_999_999))),
        ("customer and order", |n| format!("{}/{}", n(100_000, 999_999), n(10_000_000, 99_999_999))),
    ];

    fn day(n: Draw<'_>, separator: &str) -> String {
        format!("{}{separator}{:02}{separator}{:02}", n(2020, 2035), n(1, 12), n(1, 31))
    }

    #[test]
    fn at_most_one_in_ten_thousand_order_numbers_is_taken_for_a_card_number() {
        let mut random = StdRng::seed_from_u64(36);
        for (kind, make) in KINDS {
            let texts = (0..20_000).map(|_| make(&mut |from, to| random.random_range(from..=to)));
            let alarms: Vec<String> = texts.filter(|text| has_card_number(text)).collect();
            assert!(alarms.len() <= 2, "{kind}: {} of 20,000, such as {}", alarms.len(), alarms[0]);
        }
    }
}
