//! Names from outside (tenant, client, SKU). A value of these types is valid, because parsing checks it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A name is empty, too long, or holds a character outside `[A-Za-z0-9._-]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidName {
    what: &'static str,
}

impl fmt::Display for InvalidName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a {} is 1 to 64 characters of A-Z a-z 0-9 . _ -", self.what)
    }
}

impl std::error::Error for InvalidName {}

pub(crate) fn is_name(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        #[cfg_attr(feature = "openapi", schema(value_type = String, min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9._-]{1,64}$"))]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidName;
            fn try_from(text: String) -> Result<Self, InvalidName> {
                if is_name(&text) { Ok(Self(text)) } else { Err(InvalidName { what: $what }) }
            }
        }

        impl std::str::FromStr for $name {
            type Err = InvalidName;
            fn from_str(text: &str) -> Result<Self, InvalidName> {
                Self::try_from(text.to_owned())
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
    /// Who acts for the tenant. Comes from the token alone.
    ClientId, "client"
}
name! {
    /// A stock keeping unit: an item's name within its tenant.
    Sku, "SKU"
}

impl TenantId {
    /// The tenant on the copy of a message whose headers name none.
    pub fn unknown() -> Self {
        Self("unknown".to_owned())
    }
}

impl ClientId {
    /// The client of actions that the system starts itself. No token can name it, because a name cannot contain `@`.
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
}
