//! Aggregates: rows that a transaction locks once, changes in memory, and writes once.
//!
//! The transaction is the identity map and the unit of work of its aggregates (Fowler, *Patterns of Enterprise Application
//! Architecture*): a batch of messages costs one statement that locks what all of them need, and one that writes what
//! all of them changed.

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Deref;

use chrono::{DateTime, Utc};

use crate::{Buffered, Result, Tx, UnitOfWork, Write};

/// A row, with those that belong to it, that a transaction changes as a whole.
pub trait Aggregate: Clone + Send + Sync + 'static {
    /// The key by which its statement finds it.
    type Key: Copy + Ord + Send + Sync + 'static;

    /// Its key.
    fn key(&self) -> Self::Key;

    /// Locks and loads those that exist, each with the database's present time. The statement must lock them in the same order
    /// for every caller. Transactions then wait for each other and cannot deadlock.
    fn load(tx: &Tx, keys: &[Self::Key]) -> impl Future<Output = Result<Vec<(Self, DateTime<Utc>)>>> + Send;

    /// Builds the statements that write changed ones. Each key is there once.
    fn updates(changed: Vec<Self>) -> Vec<Write>;
}

/// An aggregate that a transaction can [add](Tx::add).
pub trait Addable: Aggregate {
    /// Builds the statements that insert new ones.
    fn inserts(added: Vec<Self>) -> Vec<Write>;
}

/// An aggregate as it is in the transaction that has locked or added it. Only [`Tx`] makes one, so nothing is changed
/// without its lock.
#[derive(Debug, Clone)]
pub struct Locked<A> {
    row: A,
    at: DateTime<Utc>,
}

impl<A> Locked<A> {
    /// The database's time when it was locked. It is not before the time of any earlier change.
    pub fn at(&self) -> DateTime<Utc> {
        self.at
    }

    /// Returns the row, to show it.
    pub fn into_row(self) -> A {
        self.row
    }
}

impl<A> Deref for Locked<A> {
    type Target = A;

    fn deref(&self) -> &A {
        &self.row
    }
}

impl<A: Aggregate> Locked<A> {
    /// Changes it in memory. The transaction writes it with its buffered rows, once, however often it is changed.
    #[must_use = "the present state is in what is returned"]
    pub fn change(mut self, tx: &mut Tx, change: impl FnOnce(&mut A, DateTime<Utc>)) -> Self {
        change(&mut self.row, self.at);
        tx.buffer(Version { row: self.row.clone(), insert: None });
        tx.aggregates().of::<A>().insert(self.row.key(), Some(self.clone()));
        self
    }
}

impl Tx {
    /// Locks those of these aggregates that this transaction has not asked for yet, by one call of [`Aggregate::load`]. Calls
    /// that are awaited together share a round trip, and lock in the order of their first poll.
    ///
    /// # Errors
    /// Those of [`Aggregate::load`].
    pub async fn lock_all<A: Aggregate>(&self, keys: impl IntoIterator<Item = A::Key>) -> Result<()> {
        let keys: BTreeSet<A::Key> = keys.into_iter().collect();
        let keys: Vec<A::Key> = {
            let mut aggregates = self.aggregates();
            let known = aggregates.of::<A>();
            keys.into_iter().filter(|key| !known.contains_key(key)).collect()
        };
        if keys.is_empty() {
            return Ok(());
        }
        let loaded = A::load(self, &keys).await?;
        let mut aggregates = self.aggregates();
        let known = aggregates.of::<A>();
        known.extend(keys.into_iter().map(|key| (key, None)));
        known.extend(loaded.into_iter().map(|(row, at)| (row.key(), Some(Locked { row, at }))));
        Ok(())
    }

    /// Locks an aggregate, unless this transaction has locked it, and returns it with all changes so far; `None` if there
    /// is none with this key.
    ///
    /// # Errors
    /// Those of [`Aggregate::load`].
    pub async fn lock<A: Aggregate>(&self, key: A::Key) -> Result<Option<Locked<A>>> {
        self.lock_all::<A>([key]).await?;
        Ok(self.aggregates().of::<A>().get(&key).cloned().flatten())
    }

    /// Takes over aggregates that another statement of this transaction has locked, such as one that skips what others have
    /// locked, each with the database's time.
    pub fn adopt<A: Aggregate>(&self, rows: Vec<(A, DateTime<Utc>)>) -> Vec<Locked<A>> {
        let mut aggregates = self.aggregates();
        let known = aggregates.of::<A>();
        let adopt = |(row, at): (A, _)| {
            let entry = known.entry(row.key()).or_default();
            entry.get_or_insert(Locked { row, at }).clone()
        };
        rows.into_iter().map(adopt).collect()
    }

    /// Adds a new aggregate. The transaction writes it with its buffered rows.
    pub fn add<A: Addable>(&mut self, row: A, at: DateTime<Utc>) -> Locked<A> {
        self.buffer(Version { row: row.clone(), insert: Some(A::inserts) });
        let added = Locked { row, at };
        self.aggregates().of::<A>().insert(added.row.key(), Some(added.clone()));
        added
    }
}

/// An aggregate after one change.
struct Version<A> {
    row: A,
    /// Given if the row is not in the table yet.
    insert: Option<fn(Vec<A>) -> Vec<Write>>,
}

impl<A: Aggregate> Buffered for Version<A> {
    fn writes(versions: Vec<Self>) -> Vec<Write> {
        let mut last: BTreeMap<A::Key, Self> = BTreeMap::new();
        for Self { row, insert } in versions {
            let key = row.key();
            let insert = insert.or_else(|| last.get(&key)?.insert);
            last.insert(key, Self { row, insert });
        }
        let (mut added, mut changed, mut insert) = (Vec::new(), Vec::new(), None);
        for version in last.into_values() {
            insert = insert.or(version.insert);
            if version.insert.is_some() { added.push(version.row) } else { changed.push(version.row) }
        }
        let mut writes = insert.map_or_else(Vec::new, |insert| insert(added));
        if !changed.is_empty() {
            writes.extend(A::updates(changed));
        }
        writes
    }
}

/// By key; `None` if there was no such aggregate when it was asked for.
type Known<A> = BTreeMap<<A as Aggregate>::Key, Option<Locked<A>>>;

/// The aggregates of all types that a transaction has asked for, and the transaction's time. Boxed, because most
/// transactions have none, and futures contain several of them.
#[derive(Default)]
pub(crate) struct Aggregates(Option<Box<Contents>>);

#[derive(Default)]
struct Contents {
    /// The [`Known`] of each type.
    known: HashMap<TypeId, Box<dyn Any + Send + Sync>>,
    now: Option<DateTime<Utc>>,
}

impl Aggregates {
    pub(crate) fn now(&mut self) -> &mut Option<DateTime<Utc>> {
        &mut self.0.get_or_insert_default().now
    }

    /// Forgets the aggregates and keeps the time. The next [`Tx::lock`] reads the row again.
    pub(crate) fn forget(&mut self) {
        if let Some(contents) = &mut self.0 {
            contents.known.clear();
        }
    }

    fn of<A: Aggregate>(&mut self) -> &mut Known<A> {
        let contents = self.0.get_or_insert_default();
        let known = contents.known.entry(TypeId::of::<A>()).or_insert_with(|| Box::new(Known::<A>::new()));
        known.downcast_mut().unwrap_or_else(|| unreachable!("the entry of a type has this type"))
    }
}
