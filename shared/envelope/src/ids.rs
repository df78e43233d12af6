//! Typed ids, so that the compiler refuses one id where another is expected.

/// Declares the type of an id, a `UUIDv7` where this process makes it.
///
/// The calling crate needs `serde`, `uuid` and a feature `openapi`: with `dep:utoipa` for schemas, otherwise empty.
///
/// ```
/// envelope::id! {
///     /// A ticket.
///     TicketId
/// }
/// let ticket = TicketId::generate();
/// assert_eq!(TicketId::from(ticket.uuid()), ticket);
/// ```
#[macro_export]
macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, ::serde::Serialize, ::serde::Deserialize)]
        #[cfg_attr(feature = "openapi", derive(::utoipa::ToSchema))]
        #[serde(transparent)]
        pub struct $name(::uuid::Uuid);

        impl $name {
            /// A new id (UUIDv7), ordered by its creation time.
            pub fn generate() -> Self {
                Self(::uuid::Uuid::now_v7())
            }

            /// The plain UUID, for SQL and headers.
            pub const fn uuid(self) -> ::uuid::Uuid {
                self.0
            }
        }

        impl From<::uuid::Uuid> for $name {
            fn from(id: ::uuid::Uuid) -> Self {
                Self(id)
            }
        }

        impl std::str::FromStr for $name {
            type Err = ::uuid::Error;
            fn from_str(text: &str) -> Result<Self, ::uuid::Error> {
                text.parse().map(Self)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id! {
    /// An event: the same in the outbox, on the topic and in every inbox.
    EventId
}
id! {
    /// An accepted request: idempotency record, operation and audit fact have the same id.
    OperationId
}
