//! `CallPolicy`: how the calls to the processor are written, looked up and repeated.

use super::RequestBodies;
use crate::domain::LookupLimits;
use crate::domain::refund::RefundRetries;

/// The rules of the settings that decide about money. Every transition gets all of them, because most transitions can create a
/// refund, and most read when a key expires.
#[derive(Debug, Clone)]
pub struct CallPolicy {
    /// Writes the request bodies.
    pub bodies: RequestBodies,
    /// When a key expires, and how long an unknown outcome is looked up.
    pub limits: LookupLimits,
    /// How often a refused automatic refund is made again.
    pub retries: RefundRetries,
}
