//! Form parameters: `metadata[key]=value`, `list[]=value`. An unknown parameter is an error.

use std::collections::BTreeMap;

use percent_encoding::percent_decode;

use super::ApiError;

/// Eight digits, as Stripe allows for most currencies.
const MAX_AMOUNT: i64 = 99_999_999;
const MAX_METADATA: usize = 50;
const MAX_METADATA_KEY: usize = 40;
const MAX_METADATA_VALUE: usize = 500;

/// The parameters that have not been read yet. Call [`Form::finish`] after the last read. Otherwise a misspelt parameter
/// would be ignored.
#[derive(Debug, Clone, Default)]
pub(crate) struct Form {
    pairs: Vec<(String, String)>,
}

impl Form {
    /// Reads a body or a query string.
    pub(crate) fn parse(encoded: &[u8]) -> Result<Self, ApiError> {
        let not_text = || ApiError::invalid("Invalid request: the parameters are not form-encoded UTF-8.");
        // serde_urlencoded replaces such bytes. Two different bodies would then have equal parameters.
        percent_decode(encoded).decode_utf8().map_err(|_| not_text())?;
        let pairs: Vec<(String, String)> = serde_urlencoded::from_bytes(encoded).map_err(|_| not_text())?;
        // A card number must never be stored, not even in a test.
        if let Some((name, _)) = pairs.iter().find(|(name, _)| is_card_data(name)) {
            let message = "Sending credit card numbers directly to the Stripe API is generally unsafe. Use test tokens \
                           such as pm_card_visa.";
            return Err(ApiError::invalid(message).code("parameter_unknown").param(name));
        }
        // PostgreSQL cannot store NUL in text.
        match pairs.iter().find(|(name, value)| name.contains('\0') || value.contains('\0')) {
            Some((name, _)) => Err(ApiError::invalid("Parameters cannot contain NUL.").param(name)),
            None => Ok(Self { pairs }),
        }
    }

    /// All parameters, sorted by name. Parameters of one name keep their order.
    pub(crate) fn sorted(&self) -> Vec<(&str, &str)> {
        let mut pairs: Vec<_> =
            self.pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        pairs.sort_by_key(|(name, _)| *name);
        pairs
    }

    /// An optional parameter. An empty or repeated one is an error.
    pub(crate) fn text(&mut self, name: &str) -> Result<Option<String>, ApiError> {
        let mut values = self.take(|candidate| candidate == name).into_iter().map(|(_, value)| value);
        match (values.next(), values.next()) {
            (Some(_), Some(_)) => {
                Err(ApiError::invalid(format!("Received {name} more than once.")).param(name))
            }
            (Some(value), None) if value.is_empty() => {
                let message =
                    format!("You passed an empty string for '{name}'. Remove it, or give it a value.");
                Err(ApiError::invalid(message).code("parameter_invalid_empty").param(name))
            }
            (value, _) => Ok(value),
        }
    }

    /// A required parameter.
    pub(crate) fn required(&mut self, name: &str) -> Result<String, ApiError> {
        self.text(name)?.ok_or_else(|| ApiError::missing(name))
    }

    /// An optional parameter with these values.
    pub(crate) fn one_of(&mut self, name: &str, allowed: &[&str]) -> Result<Option<String>, ApiError> {
        let value = self.text(name)?;
        match &value {
            Some(given) if !allowed.contains(&given.as_str()) => {
                let message = format!("Invalid {name}: must be one of {}", allowed.join(", "));
                Err(ApiError::invalid(message).param(name))
            }
            _ => Ok(value),
        }
    }

    /// `true` or `false`; absent is `false`.
    pub(crate) fn flag(&mut self, name: &str) -> Result<bool, ApiError> {
        match self.text(name)?.as_deref() {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(other) => Err(ApiError::invalid(format!("Invalid boolean: {other}")).param(name)),
        }
    }

    /// A whole number.
    pub(crate) fn integer(&mut self, name: &str) -> Result<Option<i64>, ApiError> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        text.parse().map(Some).map_err(|_| {
            ApiError::invalid(format!("Invalid integer: {text}"))
                .code("parameter_invalid_integer")
                .param(name)
        })
    }

    /// An amount in minor units, at least 1.
    pub(crate) fn amount(&mut self, name: &str) -> Result<Option<i64>, ApiError> {
        match self.integer(name)? {
            Some(amount) if amount < 1 => {
                let error = ApiError::invalid("This value must be greater than or equal to 1.");
                Err(error.code("parameter_invalid_integer").param(name))
            }
            Some(amount) if amount > MAX_AMOUNT => {
                let error = ApiError::invalid(format!("Amount must be no more than {MAX_AMOUNT}"));
                Err(error.code("amount_too_large").param(name))
            }
            amount => Ok(amount),
        }
    }

    /// `name[]=…` or `name[0]=…`, in the order in which they were sent.
    pub(crate) fn list(&mut self, name: &str) -> Vec<String> {
        self.take(|candidate| {
            member(candidate, name).is_some_and(|index| index.bytes().all(|b| b.is_ascii_digit()))
        })
        .into_iter()
        .map(|(_, value)| value)
        .collect()
    }

    /// Returns whether the client asks for the charge and its balance transaction, the one `expand` that is offered.
    pub(crate) fn expand(&mut self) -> Result<bool, ApiError> {
        let paths = self.list("expand");
        match paths.iter().find(|path| *path != "latest_charge.balance_transaction") {
            Some(path) => {
                Err(ApiError::invalid(format!("This property cannot be expanded ({path}).")).param("expand"))
            }
            None => Ok(!paths.is_empty()),
        }
    }

    /// `metadata[key]=value`; an empty value unsets its key.
    pub(crate) fn metadata(&mut self) -> Result<BTreeMap<String, String>, ApiError> {
        let mut metadata = BTreeMap::new();
        for (name, value) in self.take(|name| member(name, "metadata").is_some()) {
            let key = member(&name, "metadata").unwrap_or_default();
            if key.is_empty() || key.chars().count() > MAX_METADATA_KEY {
                let message = format!("Metadata keys have 1 to {MAX_METADATA_KEY} characters.");
                return Err(ApiError::invalid(message).param(&name));
            }
            if value.chars().count() > MAX_METADATA_VALUE {
                let message = format!("Metadata values have at most {MAX_METADATA_VALUE} characters.");
                return Err(ApiError::invalid(message).param(&name));
            }
            if !value.is_empty() {
                metadata.insert(key.to_owned(), value);
            }
        }
        if metadata.len() > MAX_METADATA {
            return Err(
                ApiError::invalid(format!("Metadata has at most {MAX_METADATA} keys.")).param("metadata")
            );
        }
        Ok(metadata)
    }

    /// Returns an error if a parameter was not read.
    pub(crate) fn finish(self) -> Result<(), ApiError> {
        match self.pairs.first() {
            Some((name, _)) => Err(ApiError::unknown(name)),
            None => Ok(()),
        }
    }

    fn take(&mut self, wanted: impl Fn(&str) -> bool) -> Vec<(String, String)> {
        let (taken, left) = std::mem::take(&mut self.pairs).into_iter().partition(|(name, _)| wanted(name));
        self.pairs = left;
        taken
    }
}

/// `card[…]`, at any depth.
fn is_card_data(name: &str) -> bool {
    name.starts_with("card[") || name.contains("[card][")
}

/// `key` of `name[key]`.
fn member<'a>(candidate: &'a str, name: &str) -> Option<&'a str> {
    candidate.strip_prefix(name)?.strip_prefix('[')?.strip_suffix(']')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(encoded: &str) -> Form {
        Form::parse(encoded.as_bytes()).unwrap()
    }

    #[test]
    fn lists_are_read_with_and_without_numbers() {
        let mut given = form("payment_method_types[]=card&payment_method_types%5B1%5D=link");
        assert_eq!(given.list("payment_method_types"), ["card", "link"]);
        given.finish().unwrap();
    }

    #[test]
    fn a_card_number_is_refused_and_not_repeated() {
        for name in ["card[number]", "payment_method_data[card][number]"] {
            let refused = Form::parse(format!("{name}=4242424242424242").as_bytes()).unwrap_err();
            assert!(!refused.to_string().contains("4242"), "{refused}");
        }
    }

    #[test]
    fn bytes_that_are_not_utf_8_are_refused() {
        for encoded in ["a=%FF", "%C3=a", "a=%E2%82&b=%AC", "a=%ED%A0%80"] {
            let refused = Form::parse(encoded.as_bytes()).unwrap_err();
            assert!(refused.to_string().contains("UTF-8"), "{encoded}: {refused}");
        }
        assert!(Form::parse(b"a=\xFF").is_err());
        assert_eq!(form("a=%C3%A9&b=%EF%BF%BD").sorted(), [("a", "é"), ("b", "\u{fffd}")]);
    }

    #[test]
    fn metadata_is_read_and_an_empty_value_unsets_its_key() {
        let mut given = form("metadata[reference]=a%20b&metadata[gone]=");
        let expected = BTreeMap::from([("reference".to_owned(), "a b".to_owned())]);
        assert_eq!(given.metadata().unwrap(), expected);
        given.finish().unwrap();
    }

    #[test]
    fn an_unread_parameter_is_refused() {
        let mut given = form("amount=1&amuont=2");
        assert_eq!(given.amount("amount").unwrap(), Some(1));
        assert_eq!(given.finish().unwrap_err().to_string(), "Received unknown parameter: amuont");
    }

    #[test]
    fn amounts_are_whole_positive_numbers_within_the_limit() {
        for wrong in ["0", "-1", "1.5", "1e3", "100000000", "99999999999999999999", "", "abc"] {
            assert!(form(&format!("amount={wrong}")).amount("amount").is_err(), "{wrong} was taken");
        }
        assert_eq!(form("amount=99999999").amount("amount").unwrap(), Some(MAX_AMOUNT));
    }

    #[test]
    fn a_parameter_sent_twice_is_refused() {
        assert!(form("amount=1&amount=2").integer("amount").is_err());
    }
}
