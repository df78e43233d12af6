//! How long answers are kept. A business decision, hence a setting.

use chrono::TimeDelta;

/// Counted from completion, on the database's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// The answer is replayed for this long, then the key is refused as expired.
    pub reply: TimeDelta,
    /// The key is remembered for this long; after that it may be used again.
    pub tombstone: TimeDelta,
}

impl Default for Retention {
    fn default() -> Self {
        Self { reply: TimeDelta::hours(24), tombstone: TimeDelta::days(30) }
    }
}
