//! What `payments` says about its ledger, to whoever wants to hold it to its word.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The ledger's chain has grown to this head.
///
/// Who keeps it can prove later that nothing up to `position` was changed, left out or put in between: `payments ledger
/// verify` computes the same hash, or says where it cannot. It tells no tenant's data: the chain is one for all of them,
/// and so it travels under [`TenantId::unknown`](crate::TenantId::unknown). It is no service's input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerSealed {
    /// How many transactions the chain holds: the last one's place in it, from 1.
    pub position: i64,
    /// The head's SHA-256 in hexadecimal, 64 lower-case digits.
    pub hash: String,
    /// How many of them are new since the head that was told before.
    pub transactions: i64,
}

impl LedgerSealed {
    /// Type and version on the wire.
    pub const TYPE: &'static str = "payments.LedgerSealed.v1";
    /// The topic it goes to, before an installation's prefix. It has one partition.
    pub const TOPIC: &'static str = "payments.ledger";
    /// What kind of thing has this history.
    pub const AGGREGATE: &'static str = "ledger";
    /// Whose history it is, and its key: there is one ledger.
    pub const LEDGER: Uuid = Uuid::from_u128(0x6964_656d_2d6c_6564_6765_7200_0000_0001);
}
