//! The protocol's idempotency: the first answer under a key is kept, with a hash of what was asked, and given again.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use chrono::TimeDelta;
use database::functions::{clock_timestamp, from_now};
use database::{Connection, Tx};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::protocol::{Expand, Failure, Form, Refusal};
use crate::schema::idempotency_key;

/// A key has at most so many characters, as the real processor's.
const MAX_KEY: usize = 255;

/// The answer to an operation: what is sent is what is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    status: StatusCode,
    body: Vec<u8>,
}

impl Answer {
    /// An answer with this JSON.
    pub(crate) fn new(status: StatusCode, body: &Value) -> Self {
        Self { status, body: body.to_string().into_bytes() }
    }

    /// 200, as every success of this protocol is.
    pub(crate) fn ok(body: &Value) -> Self {
        Self::new(StatusCode::OK, body)
    }

    /// Its status.
    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    /// The same with whole objects in the place of ids; a refusal stays as it is.
    pub(crate) async fn expanded(self, tx: &mut Tx, expand: &Expand) -> Result<Self, Failure> {
        if !self.status.is_success() || *expand == Expand::default() {
            return Ok(self);
        }
        let mut object = [serde_json::from_slice(&self.body).unwrap_or_default()];
        expand.apply(tx, &mut object).await?;
        Ok(Self::new(self.status, &object[0]))
    }

    /// The same, for the wire.
    pub(crate) fn into_response(self) -> HttpResponse {
        HttpResponse::build(self.status).content_type("application/json").body(self.body)
    }
}

/// Who asks again, and for what: the key of a request with a hash of its parameters.
#[derive(Debug, Clone)]
pub(crate) struct Stamp {
    key: String,
    path: String,
    parameters_hash: [u8; 32],
}

impl Stamp {
    /// The stamp of a request to `path`.
    pub(crate) fn new(key: &str, path: &str, form: &Form) -> Result<Self, Refusal> {
        let printable = key.bytes().all(|byte| matches!(byte, 0x20..=0x7e));
        if key.is_empty() || key.len() > MAX_KEY || !printable {
            let message = format!("Idempotency-Key must have 1 to {MAX_KEY} printable ASCII characters.");
            return Err(Refusal::invalid(message));
        }
        let mut hash = Sha256::new();
        for (name, value) in form.sorted() {
            for part in [name, value] {
                // Framed by length, so that no two lists of parameters give the same bytes.
                hash.update((part.len() as u64).to_be_bytes());
                hash.update(part);
            }
        }
        Ok(Self { key: key.to_owned(), path: path.to_owned(), parameters_hash: hash.finalize().into() })
    }

    /// The key as it was sent.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }
}

/// The keys whose first request is being executed in this process. Two processes on the same books are kept apart by
/// the primary key of `idempotency_key`.
#[derive(Debug, Clone, Default)]
pub(crate) struct InFlight(Arc<Mutex<HashSet<String>>>);

impl InFlight {
    /// Takes the key, unless another request holds it.
    pub(crate) fn claim(&self, key: &str) -> Option<Claim> {
        let mut keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        keys.insert(key.to_owned()).then(|| Claim { keys: self.clone(), key: key.to_owned() })
    }
}

/// A key in use; free again when dropped.
#[must_use = "the key is free again once this is dropped"]
#[derive(Debug)]
pub(crate) struct Claim {
    keys: InFlight,
    key: String,
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.keys.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}

#[derive(Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = idempotency_key)]
struct Record {
    key: String,
    path: String,
    parameters_hash: Vec<u8>,
    status: i16,
    body: Vec<u8>,
}

/// The answer stored under the key, if that is not too long ago; a refusal if it was the answer to something else.
pub(crate) async fn recall(connection: &mut Connection, stamp: &Stamp) -> Result<Option<Answer>, Failure> {
    let record = idempotency_key::table
        .find(&stamp.key)
        .filter(idempotency_key::valid_until.gt(clock_timestamp()))
        .select(Record::as_select())
        .first(connection)
        .await
        .optional()?;
    let Some(Record { path, parameters_hash, status, body, .. }) = record else { return Ok(None) };
    if path != stamp.path {
        return Err(Refusal::key_reused(format!(
            "Keys for idempotent requests can only be used for the same endpoint they were first used for ('{}' vs \
             '{path}'). Try using a key other than '{}' if you meant to execute a different request.",
            stamp.path, stamp.key
        ))
        .into());
    }
    if parameters_hash != stamp.parameters_hash {
        return Err(Refusal::key_reused(format!(
            "Keys for idempotent requests can only be used with the same parameters they were first used with. Try \
             using a key other than '{}' if you meant to execute a different request.",
            stamp.key
        ))
        .into());
    }
    let status = u16::try_from(status).ok().and_then(|code| StatusCode::from_u16(code).ok());
    Ok(Some(Answer { status: status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), body }))
}

/// Stores the answer in the unit of work that it answers for, and keeps it for `window`. `false` if another process has
/// stored one first; the caller then gives its own work up.
pub(crate) async fn remember(
    tx: &mut Tx,
    stamp: &Stamp,
    answer: &Answer,
    window: Duration,
) -> Result<bool, Failure> {
    let record = || Record {
        key: stamp.key.clone(),
        path: stamp.path.clone(),
        parameters_hash: stamp.parameters_hash.to_vec(),
        status: i16::try_from(answer.status.as_u16()).unwrap_or(i16::MAX),
        body: answer.body.clone(),
    };
    let window = TimeDelta::from_std(window).unwrap_or(TimeDelta::MAX);
    let valid = || idempotency_key::valid_until.eq(from_now(window));
    let insert = diesel::insert_into(idempotency_key::table)
        .values((record(), valid()))
        .on_conflict(idempotency_key::key)
        .do_update()
        .set((record(), valid()));
    // Past its window the key is free, and the next to use it takes the row over.
    let insert = diesel::query_dsl::methods::FilterDsl::filter(
        insert,
        idempotency_key::valid_until.le(clock_timestamp()),
    );
    Ok(insert.execute(tx).await? == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(encoded: &str) -> [u8; 32] {
        let form = Form::parse(encoded.as_bytes()).unwrap();
        Stamp::new("k", "/v1/refunds", &form).unwrap().parameters_hash
    }

    #[test]
    fn the_order_and_the_escaping_of_parameters_do_not_matter() {
        assert_eq!(hash("amount=1&metadata[a]=x"), hash("metadata%5Ba%5D=x&amount=1"));
    }

    #[test]
    fn parameters_do_not_run_into_each_other() {
        assert_ne!(hash("a=bc"), hash("ab=c"));
        assert_ne!(hash("a=1&b=2"), hash("a=1b2"));
    }

    #[test]
    fn a_key_is_held_by_one_request_at_a_time() {
        let keys = InFlight::default();
        let claim = keys.claim("k");
        assert!(claim.is_some());
        assert!(keys.claim("k").is_none());
        drop(claim);
        assert!(keys.claim("k").is_some());
    }

    #[test]
    fn keys_that_are_empty_long_or_not_printable_are_refused() {
        for wrong in ["", "a\u{7}", "ü", &"k".repeat(256)] {
            assert!(Stamp::new(wrong, "/v1/refunds", &Form::default()).is_err(), "{wrong:?} was taken");
        }
        assert!(Stamp::new(&"k".repeat(255), "/v1/refunds", &Form::default()).is_ok());
    }
}
