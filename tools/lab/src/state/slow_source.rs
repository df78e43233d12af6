//! A source that takes seconds to read: a command of `./dev`. The page shows how old its value is.

use std::time::Instant;

use serde::{Serialize, Serializer};

use super::Source;

/// The value of the last look, and its age.
#[derive(Debug, Serialize)]
pub(crate) struct SlowSource<T> {
    /// How many looks have begun. A look that begins later shows what has happened before.
    begun: u64,
    /// How many looks have ended.
    ended: u64,
    last: Source<T>,
    /// The time since the end of the last look, in whole seconds.
    age_seconds: Option<Age>,
}

impl<T> Default for SlowSource<T> {
    fn default() -> Self {
        Self { begun: 0, ended: 0, last: Source::Unread, age_seconds: None }
    }
}

impl<T> SlowSource<T> {
    /// Counts a look that begins.
    pub(crate) fn begin(&mut self) {
        self.begun += 1;
    }

    /// Keeps what the look has read.
    pub(crate) fn end(&mut self, read: Source<T>) {
        self.ended += 1;
        self.last = read;
        self.age_seconds = Some(Age(Instant::now()));
    }
}

/// Serialized at each event, so that it grows without a new value.
#[derive(Debug)]
struct Age(Instant);

impl Serialize for Age {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.elapsed().as_secs().serialize(serializer)
    }
}
