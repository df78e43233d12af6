//! Names from outside, such as tenant and client. A value of such a type is valid, because parsing checks it.

use std::fmt;

/// A text is not a valid name: it is empty or too long, has a character that a name may not have, or is not of a closed list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidName {
    rule: &'static str,
}

impl InvalidName {
    /// The name does not follow this rule.
    pub const fn of(rule: &'static str) -> Self {
        Self { rule }
    }
}

impl fmt::Display for InvalidName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.rule)
    }
}

impl std::error::Error for InvalidName {}

/// Returns whether the text is a valid name.
pub const fn is_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut valid = matches!(bytes.len(), 1..=64);
    let mut position = 0;
    // A loop, because an iterator cannot be used before run time.
    while valid && position < bytes.len() {
        valid = bytes[position].is_ascii_alphanumeric() || matches!(bytes[position], b'.' | b'_' | b'-');
        position += 1;
    }
    valid
}

/// Returns whether the text is a valid name, once the characters of `more` behind the first one are left out.
pub fn is_name_with(text: &str, more: &str) -> bool {
    let plain = text.char_indices().filter(|(at, c)| *at == 0 || !more.contains(*c));
    text.len() <= 64 && is_name(&plain.map(|(_, c)| c).collect::<String>())
}

/// Declares the type of a name: 1 to 64 characters of `A-Za-z0-9._-`, valid because parsing checks it. With `more`, it may have these
/// characters, too, behind the first one.
///
/// The calling crate needs `serde` and a feature `openapi`: with `dep:utoipa` for schemas, otherwise empty.
///
/// ```
/// envelope::name! {
///     /// A seat, by row and number.
///     Seat, "seat"
/// }
/// assert_eq!("A-12".parse::<Seat>()?.as_str(), "A-12");
/// # Ok::<(), envelope::InvalidName>(())
/// ```
#[macro_export]
macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $crate::name! { $(#[$doc])* $name, $what, more: "", pattern: "^[A-Za-z0-9._-]{1,64}$" }
    };
    ($(#[$doc:meta])* $name:ident, $what:literal, more: $more:literal, pattern: $pattern:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, ::serde::Serialize, ::serde::Deserialize)]
        #[cfg_attr(feature = "openapi", derive(::utoipa::ToSchema))]
        #[cfg_attr(feature = "openapi", schema(value_type = String, min_length = 1, max_length = 64, pattern = $pattern))]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = $crate::InvalidName;
            fn try_from(text: String) -> Result<Self, $crate::InvalidName> {
                if $crate::is_name_with(&text, $more) {
                    Ok(Self(text))
                } else {
                    Err($crate::InvalidName::of(concat!("a ", $what, " is 1 to 64 characters of A-Z a-z 0-9 ._-", $more)))
                }
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::InvalidName;
            fn from_str(text: &str) -> Result<Self, $crate::InvalidName> {
                Self::try_from(text.to_owned())
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name! {
    /// Whose data it is. Comes only from the token. Every row and every event has it.
    TenantId, "tenant"
}
name! {
    /// The client that acts for the tenant. Its name comes from the token alone, and may be a subject such as `auth0|0190` or `shop@clients`.
    ClientId, "client", more: "|@+", pattern: "^[A-Za-z0-9._-][A-Za-z0-9._|@+-]{0,63}$"
}

impl TenantId {
    /// The tenant on the copy of a message whose headers name none.
    pub fn unknown() -> Self {
        Self("unknown".to_owned())
    }
}

impl ClientId {
    /// The client of actions that the system starts itself. No token can name it, because a name cannot begin with `@`.
    pub fn system() -> Self {
        Self("@system".to_owned())
    }
}

/// The author of a request: a client of a tenant.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Caller {
    /// The tenant whose data the request concerns.
    pub tenant: TenantId,
    /// The client that sent it.
    pub client: ClientId,
}

impl Caller {
    /// The system itself, acting for a tenant.
    pub fn system(tenant: TenantId) -> Self {
        Self { tenant, client: ClientId::system() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_a_forbidden_character_is_refused() {
        for bad in ["", "a b", "a/b", "@system", "é", &"x".repeat(65)] {
            assert!(bad.parse::<TenantId>().is_err(), "{bad:?}");
        }
        for good in ["a", "tenant-1", "8e03978e-40d5-43e8-bc93-6894a57f9324", "A.b_c"] {
            assert_eq!(good.parse::<TenantId>().unwrap().as_str(), good);
        }
    }

    #[test]
    fn a_client_may_have_the_characters_of_subjects_behind_its_first_one() {
        for good in ["auth0|5f7c8ec7", "Q9f2@clients", "samlp|acme|ada+shop@acme.example"] {
            assert_eq!(good.parse::<ClientId>().unwrap().as_str(), good);
            assert!(good.parse::<TenantId>().is_err(), "{good}");
        }
        for bad in ["", "@system", "|", "@", "a b", "a/b", &format!("a{}", "|".repeat(64))] {
            assert!(bad.parse::<ClientId>().is_err(), "{bad:?}");
        }
    }
}
