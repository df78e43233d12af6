//! The rows that handlers need locked. The consumer locks them for a whole batch, before the first handler runs.
//!
//! Each handler names its rows when it is registered, so that no event type can miss the lock. Because every batch
//! locks its rows in one sorted order, two batches wait for each other and cannot deadlock.
//!
//! What goes wrong without it: two batches lock the same items in opposite order, and PostgreSQL ends one of them. Under load this
//! happens again and again, and each time a whole batch is repeated.

use std::collections::{BTreeMap, BTreeSet};

use envelope::Message;
use uuid::Uuid;

/// Ids of rows by kind of row: sorted, each id once.
///
/// A kind is a name that a service's handlers and its lock function agree on, for instance `order`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use]
pub struct LockKeys(BTreeMap<&'static str, BTreeSet<Uuid>>);

impl LockKeys {
    /// The rows of one kind with these ids. No ids: nothing to lock.
    pub fn of(kind: &'static str, ids: impl IntoIterator<Item = Uuid>) -> Self {
        let ids: BTreeSet<Uuid> = ids.into_iter().collect();
        Self(if ids.is_empty() { BTreeMap::new() } else { BTreeMap::from([(kind, ids)]) })
    }

    /// Takes out the ids of one kind, sorted. The lock function must take out every kind that its handlers name:
    /// otherwise the batch fails.
    pub fn take(&mut self, kind: &str) -> Vec<Uuid> {
        self.0.remove(kind).unwrap_or_default().into_iter().collect()
    }

    /// These rows and those.
    pub fn and(mut self, others: Self) -> Self {
        self.add(others);
        self
    }

    pub(crate) fn add(&mut self, keys: Self) {
        for (kind, ids) in keys.0 {
            self.0.entry(kind).or_default().extend(ids);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn kinds(&self) -> Vec<&'static str> {
        self.0.keys().copied().collect()
    }
}

/// Names the rows to lock for a message of type `E`. It is implemented for every such function and closure.
pub trait Locks<E>: Fn(&Message<E>) -> LockKeys + Send + Sync + 'static {}

impl<E, F: Fn(&Message<E>) -> LockKeys + Send + Sync + 'static> Locks<E> for F {}

/// Says that a handler needs no row locked before it runs.
pub fn no_locks<E>(_: &Message<E>) -> LockKeys {
    LockKeys::default()
}
