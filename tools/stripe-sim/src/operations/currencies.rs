//! The currencies that can be charged. An unknown one is refused here, as at the real processor, and never guessed.

/// ISO 4217, in lower case as the protocol has it.
const CURRENCIES: &[&str] = &[
    "aed", "aud", "bgn", "brl", "cad", "chf", "clp", "cny", "cop", "czk", "dkk", "eur", "gbp", "hkd", "huf",
    "idr", "ils", "inr", "isk", "jpy", "krw", "mxn", "myr", "nok", "nzd", "pen", "php", "pln", "ron", "sek",
    "sgd", "thb", "try", "twd", "uah", "usd", "vnd", "zar",
];

/// Whether a charge can be in this currency.
pub(crate) fn is_known(currency: &str) -> bool {
    CURRENCIES.contains(&currency)
}
