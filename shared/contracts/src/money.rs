//! Money in minor units of one currency. Arithmetic returns `None` instead of wrapping or mixing currencies.

use std::fmt;

use envelope::InvalidName;
use serde::{Deserialize, Serialize};

/// An amount in minor units (cents, yen) of one currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Money {
    /// Minor units: 1999 is 19.99 EUR, and 1999 JPY.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 1_000_000_000_000_i64, examples(1999)))]
    pub amount: i64,
    /// ISO 4217, upper case.
    pub currency: Currency,
}

impl Money {
    /// The largest amount that one order, charge or refund may have: 10^12 minor units.
    pub const MAX: i64 = 1_000_000_000_000;

    /// `amount` minor units of `currency`.
    pub const fn new(amount: i64, currency: Currency) -> Self {
        Self { amount, currency }
    }

    /// The sum; `None` if the currencies differ or the number would overflow.
    #[must_use]
    pub fn checked_add(self, other: Self) -> Option<Self> {
        if self.currency != other.currency {
            return None;
        }
        Some(Self::new(self.amount.checked_add(other.amount)?, self.currency))
    }

    /// The amount times a number; `None` if the number would overflow.
    #[must_use]
    pub fn checked_mul(self, times: i64) -> Option<Self> {
        Some(Self::new(self.amount.checked_mul(times)?, self.currency))
    }
}

/// In the currency's own form: `19.99 EUR`, `1999 JPY`.
impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, amount) = (if self.amount < 0 { "-" } else { "" }, self.amount.unsigned_abs());
        match self.currency.decimals() {
            0 => write!(f, "{sign}{amount} {}", self.currency),
            decimals => {
                let unit = 10_u64.pow(decimals);
                let (whole, part, width) = (amount / unit, amount % unit, decimals as usize);
                write!(f, "{sign}{whole}.{part:0width$} {}", self.currency)
            }
        }
    }
}

macro_rules! currencies {
    ($($name:ident $code:literal)*) => {
        /// The currencies that are accepted (ISO 4217). A closed list: a new one is a new version of the contract.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        #[serde(rename_all = "UPPERCASE")]
        #[expect(missing_docs, reason = "a code is its own name")]
        pub enum Currency { $($name),* }

        impl Currency {
            /// The three letters, upper case.
            pub const fn code(self) -> &'static str {
                match self { $(Self::$name => $code),* }
            }
        }

        impl std::str::FromStr for Currency {
            type Err = InvalidName;
            fn from_str(text: &str) -> Result<Self, InvalidName> {
                const RULE: &str = "not an accepted currency: three upper-case letters of ISO 4217";
                match text { $($code => Ok(Self::$name),)* _ => Err(InvalidName::of(RULE)) }
            }
        }
    };
}

currencies! {
    Aud "AUD" Brl "BRL" Cad "CAD" Chf "CHF" Czk "CZK" Dkk "DKK" Eur "EUR" Gbp "GBP" Huf "HUF" Inr "INR"
    Jpy "JPY" Krw "KRW" Mxn "MXN" Nok "NOK" Nzd "NZD" Pln "PLN" Sek "SEK" Sgd "SGD" Usd "USD" Zar "ZAR"
}

impl Currency {
    /// The number of decimals of an amount (ISO 4217).
    pub const fn decimals(self) -> u32 {
        match self {
            Self::Jpy | Self::Krw => 0,
            _ => 2,
        }
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_shown_in_the_form_of_its_currency() {
        let shown = [
            (1999, Currency::Eur, "19.99 EUR"),
            (5, Currency::Usd, "0.05 USD"),
            (-1005, Currency::Gbp, "-10.05 GBP"),
            (1999, Currency::Jpy, "1999 JPY"),
            (i64::MIN, Currency::Krw, "-9223372036854775808 KRW"),
        ];
        for (amount, currency, text) in shown {
            assert_eq!(Money::new(amount, currency).to_string(), text);
        }
    }

    #[test]
    fn money_never_wraps() {
        let most = Money::new(i64::MAX, Currency::Eur);
        assert_eq!(most.checked_add(Money::new(1, Currency::Eur)), None);
        assert_eq!(most.checked_mul(2), None);
        assert_eq!(Money::new(2, Currency::Eur).checked_mul(3), Some(Money::new(6, Currency::Eur)));
    }

    #[test]
    fn a_currency_is_its_code_on_the_wire_and_in_the_database() {
        for code in ["AUD", "EUR", "JPY", "ZAR"] {
            let currency: Currency = serde_json::from_value(code.into()).unwrap();
            assert_eq!(currency.code(), code);
            assert_eq!(code.parse(), Ok(currency));
            assert_eq!(serde_json::to_value(currency).unwrap(), code);
        }
        for bad in ["eur", "Eur", "EURO", ""] {
            assert!(bad.parse::<Currency>().is_err());
            assert!(serde_json::from_value::<Currency>(bad.into()).is_err());
        }
    }

    #[test]
    fn two_currencies_are_never_added() {
        assert_eq!(Money::new(1, Currency::Eur).checked_add(Money::new(1, Currency::Usd)), None);
    }
}
