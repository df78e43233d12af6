//! `ReplayCache`: completed responses in the memory of this process, so that a replay costs no round trip.
//!
//! A completed record never changes before its response expires, with one exception: an erasure. The cache answers for a
//! record only while three conditions hold; otherwise the database answers.
//!
//! - **The revision is confirmed.** A trigger raises the revision in each transaction that takes a completed response back.
//!   [`ReplayCache::confirm`] reads the revision, and the last read that succeeded must have begun less than
//!   [`ReplayCache::CONFIRMED_FOR`] ago. The revision also names the server, so a promotion or a restore changes it.
//! - **The record was read under this revision**, or committed under it: the revision was confirmed before the read or the COMMIT.
//! - **The response has not expired**, by the latest time that the database's clock may show.
//!
//! The outcome comes from [`StoredRecord::outcome`], as for a row of the database. Other records than completed ones are never
//! kept: they may change.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use database::functions::clock_timestamp;
use database::{Database, Result};
use diesel::define_sql_function;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};
use tokio::time::Instant;

use crate::metrics::{CacheLookup, IdempotencyMetrics};
use crate::record::StoredRecord;
use crate::{KeyedRequest, Operation, Outcome, Retention, StoredResponse};

diesel::table! {
    idempotency_epoch (singleton) {
        singleton -> Bool,
        raised_by -> BigInt,
    }
}

define_sql_function! {
    /// System identifier, timeline and database.
    fn outbox_server() -> Text;
}

/// The bytes of a typical entry. The cache makes its tables for so many entries.
const TYPICAL_ENTRY: u64 = 1_024;
/// The bytes of an entry beside those of its response: fields, places in the tables of the cache, headers of allocations.
const ENTRY: usize = 320;
/// The bytes of a header beside those of its texts.
const HEADER: usize = 80;

type Records = Cache<[u8; 32], Arc<CachedRecord>, Bytes>;

/// The completed responses in memory. One belongs to each [`Database`], as [`Database::attached`]; it is off until
/// [`open`](Self::open).
#[derive(Default)]
pub struct ReplayCache {
    records: OnceLock<Records>,
    confirmed: Mutex<Option<Confirmation>>,
}

/// A read of the revision.
#[derive(Clone)]
struct Confirmation {
    revision: Arc<str>,
    /// Before the statement was sent.
    began: Instant,
    /// The database's time when it ran the statement.
    at: DateTime<Utc>,
}

impl Confirmation {
    /// The latest time that the database's clock may show now. All time since `began` is added, as if the statement had been
    /// run at once.
    fn latest_time(&self) -> DateTime<Utc> {
        let elapsed = TimeDelta::from_std(self.began.elapsed()).unwrap_or(TimeDelta::MAX);
        self.at.checked_add_signed(elapsed).unwrap_or(DateTime::<Utc>::MAX_UTC)
    }
}

/// A completed record whose response had not expired when the record was read or written.
struct CachedRecord {
    record: StoredRecord,
    expires_at: DateTime<Utc>,
    revision: Arc<str>,
}

/// Counts the bytes of an entry.
#[derive(Clone)]
struct Bytes;

impl Weighter<[u8; 32], Arc<CachedRecord>> for Bytes {
    fn weight(&self, _: &[u8; 32], entry: &Arc<CachedRecord>) -> u64 {
        let response = entry.record.response.as_ref();
        let bytes = response.map_or(0, |response| {
            let headers = response.headers.iter().map(|(name, value)| HEADER + name.len() + value.len());
            response.body.len() + headers.sum::<usize>()
        });
        (ENTRY + bytes) as u64
    }
}

impl ReplayCache {
    /// The longest time between the start of a confirmation and a replay from memory. A response that was erased longer ago is
    /// replayed by no process.
    pub const CONFIRMED_FOR: Duration = Duration::from_secs(10);

    /// Keeps up to so many bytes of responses from now on. With 0 the cache stays off. Only the first call counts.
    pub fn open(&self, bytes: u64) {
        let options = OptionsBuilder::new()
            .weight_capacity(bytes)
            .estimated_items_capacity(usize::try_from(bytes / TYPICAL_ENTRY).unwrap_or(usize::MAX))
            // Half of the space is for the newest responses, because most retries come soon after the first request.
            .hot_allocation(0.5)
            .build();
        if let Ok(options) = options
            && bytes > 0
        {
            let (hasher, lifecycle) = (DefaultHashBuilder::default(), DefaultLifecycle::default());
            self.records.get_or_init(|| Cache::with_options(options, Bytes, hasher, lifecycle));
        }
    }

    /// Reads the revision of this database. Call it every few seconds: without it, no replay comes from memory.
    ///
    /// # Errors
    /// Database errors. The last confirmation then counts until its time is over.
    pub async fn confirm(database: &Database) -> Result<()> {
        use idempotency_epoch as row;
        let cache: &Self = database.attached();
        if cache.records.get().is_none() {
            return Ok(());
        }
        let began = Instant::now();
        let columns = (outbox_server(), row::raised_by, clock_timestamp());
        let (server, raised_by, at): (String, i64, DateTime<Utc>) =
            row::table.select(columns).first(&mut database.connection().await?).await?;
        cache.set_confirmed(Confirmation { revision: format!("{server}/{raised_by}").into(), began, at });
        Ok(())
    }

    /// Frees the memory of expired responses, and of those that were kept under another revision.
    fn set_confirmed(&self, confirmation: Confirmation) {
        let now = confirmation.latest_time();
        if let Some(records) = self.records.get() {
            records.retain(|_, entry| entry.revision == confirmation.revision && entry.expires_at > now);
        }
        *self.confirmed.lock().unwrap_or_else(PoisonError::into_inner) = Some(confirmation);
    }

    fn confirmed(&self) -> Option<Confirmation> {
        // A poisoned lock is safe to use: each change is a single assignment.
        self.confirmed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn find(&self, records: &Records, request: &KeyedRequest) -> Option<StoredRecord> {
        let confirmed = self.confirmed().filter(|it| it.began.elapsed() < Self::CONFIRMED_FOR)?;
        let entry = records.get(&request.record_digest())?;
        let counts = entry.revision == confirmed.revision && entry.expires_at > confirmed.latest_time();
        counts.then(|| entry.record.clone())
    }

    /// The intake of records that the caller reads, or commits, after this call.
    pub(crate) fn intake(&self) -> Intake<'_> {
        let records = self.records.get();
        Intake(records.and_then(|records| Some((records, self.confirmed()?.revision))))
    }
}

/// Puts records into the cache, under the revision that was confirmed before. If the revision has changed by then, they do not count.
pub(crate) struct Intake<'a>(Option<(&'a Records, Arc<str>)>);

impl Intake<'_> {
    /// Keeps the record that was read, if there is one.
    pub(crate) fn keep(&self, request: &KeyedRequest, record: Option<&StoredRecord>) {
        if let Some(record) = record {
            self.insert(request, || record.clone());
        }
    }

    /// Keeps the record of a command that has committed.
    pub(crate) fn keep_completed(
        &self,
        request: &KeyedRequest,
        operation: &Operation,
        response: &StoredResponse,
        retention: Retention,
    ) {
        self.insert(request, || StoredRecord::completed(request, operation, response, retention));
    }

    /// Ignores a record that may change, and one without a response.
    fn insert(&self, request: &KeyedRequest, record: impl FnOnce() -> StoredRecord) {
        let Some((records, revision)) = &self.0 else { return };
        let (record, revision) = (record(), Arc::clone(revision));
        if let Some(expires_at) = record.replayable_until() {
            records.insert(request.record_digest(), Arc::new(CachedRecord { record, expires_at, revision }));
        }
    }
}

/// The first step of every executor: logs that the request has arrived, and returns its outcome, counted, if its record is in memory.
pub(crate) fn outcome_from_memory(database: &Database, request: &KeyedRequest) -> Option<Result<Outcome>> {
    request.log_received();
    let (cache, metrics): (&ReplayCache, &IdempotencyMetrics) = (database.attached(), database.metrics());
    let record = cache.find(cache.records.get()?, request);
    metrics.cache_lookups.count(if record.is_some() { CacheLookup::Hit } else { CacheLookup::Miss });
    let outcome = record?.outcome(request);
    metrics.count(&outcome);
    Some(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Key, KeyPolicy};

    const BYTES: u64 = 256 * 1024;

    fn request(number: u32) -> KeyedRequest {
        let key = format!("00000000-0000-4000-8000-{number:012}");
        let key = Key::parse(key.as_bytes(), KeyPolicy::Uuid).unwrap();
        KeyedRequest { key, ..crate::record::tests::request("{}") }
    }

    fn confirmation(revision: &str) -> Confirmation {
        Confirmation { revision: revision.into(), began: Instant::now(), at: DateTime::UNIX_EPOCH }
    }

    fn open() -> ReplayCache {
        let cache = ReplayCache::default();
        cache.open(BYTES);
        cache.set_confirmed(confirmation("first"));
        cache
    }

    /// Keeps a response with a body of so many bytes.
    fn keep(intake: &Intake<'_>, number: u32, body: usize) {
        let request = request(number);
        let operation = request.operation(DateTime::UNIX_EPOCH);
        let response = StoredResponse { status: 201, headers: Vec::new(), body: vec![b' '; body] };
        intake.keep_completed(&request, &operation, &response, Retention::default());
    }

    fn is_found(cache: &ReplayCache, number: u32) -> bool {
        cache.find(cache.records.get().unwrap(), &request(number)).is_some()
    }

    #[test]
    fn a_response_that_was_read_before_a_new_revision_does_not_count_after_it() {
        let cache = open();
        let intake = cache.intake();
        keep(&intake, 1, 10);
        assert!(is_found(&cache, 1));
        cache.set_confirmed(confirmation("second"));
        assert_eq!(cache.records.get().unwrap().len(), 0, "its memory is free");
        // Its read began before the erasure was confirmed, and ended later.
        keep(&intake, 1, 10);
        assert!(!is_found(&cache, 1));
        keep(&cache.intake(), 1, 10);
        assert!(is_found(&cache, 1));
    }

    #[test]
    fn the_memory_of_expired_responses_is_freed() {
        let cache = open();
        keep(&cache.intake(), 1, 10);
        let expiry = DateTime::UNIX_EPOCH + Retention::default().reply;
        cache.set_confirmed(Confirmation { at: expiry, ..confirmation("first") });
        assert_eq!(cache.records.get().unwrap().len(), 0);
    }

    #[test]
    fn the_cache_is_bounded_by_bytes_and_keeps_the_newest_responses() {
        let cache = open();
        let body = 1_000;
        for number in 0..10_000 {
            keep(&cache.intake(), number, body);
            assert!(is_found(&cache, number), "{number}");
        }
        keep(&cache.intake(), 10_000, usize::try_from(BYTES).unwrap());
        assert!(!is_found(&cache, 10_000), "larger than the cache");
        let records = cache.records.get().unwrap();
        let bytes = records.iter().map(|(_, entry)| entry.record.response.as_ref().unwrap().body.len());
        let bytes = u64::try_from(bytes.sum::<usize>()).unwrap();
        assert!((BYTES / 2..=BYTES).contains(&bytes), "{bytes}");
    }
}
