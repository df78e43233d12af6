//! Idempotency keys, as Stripe's API has them: the first response under a key is stored with a hash of the parameters,
//! and returned to every later request with that key until the key expires.

use std::collections::HashSet;
use std::mem::take;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use chrono::{DateTime, TimeDelta, Utc};
use database::functions::{clock_timestamp, from_now};
use database::{Buffered, Connection, InsertRows, Tx, Write};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::protocol::{ApiError, Error, Form};
use crate::schema::idempotency_key;

/// The longest key, in characters: the same as Stripe's.
const MAX_KEY: usize = 255;

/// A response. The stored bytes are the bytes that are sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Response {
    status: StatusCode,
    body: Vec<u8>,
}

impl Response {
    pub(crate) fn new(status: StatusCode, body: &Value) -> Self {
        Self { status, body: body.to_string().into_bytes() }
    }

    /// 200, the only success status of this API.
    pub(crate) fn ok(body: &Value) -> Self {
        Self::new(StatusCode::OK, body)
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    pub(crate) fn into_http(self) -> HttpResponse {
        HttpResponse::build(self.status).content_type("application/json").body(self.body)
    }
}

/// The Idempotency-Key of a request, with its path and a hash of its parameters.
#[derive(Debug, Clone)]
pub(crate) struct RequestKey {
    key: String,
    path: String,
    parameters_hash: [u8; 32],
}

impl RequestKey {
    pub(crate) fn new(key: &str, path: &str, form: &Form) -> Result<Self, ApiError> {
        let printable = key.bytes().all(|byte| matches!(byte, 0x20..=0x7e));
        if key.is_empty() || key.len() > MAX_KEY || !printable {
            let message = format!("Idempotency-Key must have 1 to {MAX_KEY} printable ASCII characters.");
            return Err(ApiError::invalid(message));
        }
        let mut hash = Sha256::new();
        for (name, value) in form.sorted() {
            for part in [name, value] {
                // The length comes first. Otherwise two lists of parameters could give the same bytes.
                hash.update((part.len() as u64).to_be_bytes());
                hash.update(part);
            }
        }
        Ok(Self { key: key.to_owned(), path: path.to_owned(), parameters_hash: hash.finalize().into() })
    }

    /// The key as the client sent it.
    pub(crate) fn as_str(&self) -> &str {
        &self.key
    }
}

/// The keys whose first request is in flight in this process. Between two processes, the primary key of
/// `idempotency_key` lets only one of the requests commit.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeysInFlight(Arc<Mutex<HashSet<String>>>);

impl KeysInFlight {
    /// Claims the key, unless another request holds it.
    pub(crate) fn claim(&self, key: &str) -> Option<KeyClaim> {
        let mut keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        keys.insert(key.to_owned()).then(|| KeyClaim { keys: self.clone(), key: key.to_owned() })
    }
}

/// A key in flight. Dropping it releases the key.
#[must_use = "dropping it releases the key"]
#[derive(Debug)]
pub(crate) struct KeyClaim {
    keys: KeysInFlight,
    key: String,
}

impl Drop for KeyClaim {
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

impl Record {
    fn of(request: &RequestKey, response: &Response) -> Self {
        Self {
            key: request.key.clone(),
            path: request.path.clone(),
            parameters_hash: request.parameters_hash.to_vec(),
            status: i16::try_from(response.status.as_u16()).unwrap_or(i16::MAX),
            body: response.body.clone(),
        }
    }
}

/// Returns the stored response under the key, unless the key has expired. The error says that the key belongs to
/// another request.
pub(crate) async fn find_response(
    connection: &mut Connection,
    request: &RequestKey,
) -> Result<Option<Response>, Error> {
    let record = idempotency_key::table
        .find(&request.key)
        .filter(idempotency_key::valid_until.gt(clock_timestamp()))
        .select(Record::as_select())
        .first(connection)
        .await
        .optional()?;
    let Some(Record { path, parameters_hash, status, body, .. }) = record else { return Ok(None) };
    let same = if path != request.path {
        format!("for the same endpoint they were first used for ('{}' vs '{path}')", request.path)
    } else if parameters_hash != request.parameters_hash {
        "with the same parameters they were first used with".to_owned()
    } else {
        let status = u16::try_from(status).ok().and_then(|code| StatusCode::from_u16(code).ok());
        return Ok(Some(Response { status: status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), body }));
    };
    let message = format!(
        "Keys for idempotent requests can only be used {same}. Try using a key other than '{}' if you meant to execute \
         a different request.",
        request.key
    );
    Err(ApiError::key_reused(message).into())
}

/// A response to be stored under a key that no row has, until `valid_until`. Otherwise its transaction fails.
pub(crate) struct NewResponse {
    record: Record,
    valid_until: DateTime<Utc>,
}

impl NewResponse {
    pub(crate) fn new(request: &RequestKey, response: &Response, valid_until: DateTime<Utc>) -> Self {
        Self { record: Record::of(request, response), valid_until }
    }
}

impl Buffered for NewResponse {
    fn writes(rows: Vec<Self>) -> Vec<Write> {
        let insert = InsertRows::new(idempotency_key::table, rows)
            .column(idempotency_key::key, |row| take(&mut row.record.key))
            .column(idempotency_key::path, |row| take(&mut row.record.path))
            .column(idempotency_key::parameters_hash, |row| take(&mut row.record.parameters_hash))
            .column(idempotency_key::status, |row| row.record.status)
            .column(idempotency_key::body, |row| take(&mut row.record.body))
            .column(idempotency_key::valid_until, |row| row.valid_until);
        vec![Write::new(insert)]
    }
}

/// Stores the response under the key for `window`, in the transaction of its effect. Returns false if another process
/// has stored a response first; the caller then rolls back.
pub(crate) async fn store_response(
    tx: &mut Tx,
    request: &RequestKey,
    response: &Response,
    window: Duration,
) -> Result<bool, Error> {
    let record = || Record::of(request, response);
    let window = TimeDelta::from_std(window).unwrap_or(TimeDelta::MAX);
    let valid = || idempotency_key::valid_until.eq(from_now(window));
    let insert = diesel::insert_into(idempotency_key::table)
        .values((record(), valid()))
        .on_conflict(idempotency_key::key)
        .do_update()
        .set((record(), valid()));
    // Only an expired row is overwritten.
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
        RequestKey::new("k", "/v1/refunds", &form).unwrap().parameters_hash
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
        let keys = KeysInFlight::default();
        let claim = keys.claim("k");
        assert!(claim.is_some());
        assert!(keys.claim("k").is_none());
        drop(claim);
        assert!(keys.claim("k").is_some());
    }

    #[test]
    fn keys_that_are_empty_long_or_not_printable_are_refused() {
        for wrong in ["", "a\u{7}", "ü", &"k".repeat(256)] {
            assert!(RequestKey::new(wrong, "/v1/refunds", &Form::default()).is_err(), "{wrong:?} was taken");
        }
        assert!(RequestKey::new(&"k".repeat(255), "/v1/refunds", &Form::default()).is_ok());
    }
}
