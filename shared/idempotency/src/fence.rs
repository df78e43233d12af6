//! `fence_key`: no command that has not been executed under a key is executed under it later.
//!
//! A client that got no response, and gives up, fences the key before it makes a new command.
//!
//! What goes wrong without it: the client looks for its order and finds none. It sends a new command under a new key. Then the
//! first request arrives, which a proxy or a client's own queue had held back, and there are two orders.

use chrono::{DateTime, Utc};
use database::functions::pg_try_advisory_xact_lock;
use database::{Connection, Database, Result, Tx};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use envelope::Caller;
use tracing::Instrument;
use uuid::Uuid;

use crate::Key;
use crate::keyed_request::{key_digest, lock_number};

diesel::table! {
    idempotency_fence (key_digest) {
        key_digest -> Uuid,
        fenced_at -> Timestamptz,
    }
}

/// Fences a key on all routes, for ever. What was executed under the key, or is under way, stays as it is: afterwards
/// [`records_of`](crate::records_of) shows all of it. Fencing a key again changes nothing.
///
/// Returns false, with nothing changed, if a command with the key runs now.
///
/// # Errors
/// Database errors. After [`Error::CommitUnknown`](database::Error::CommitUnknown), fence the key again.
pub async fn fence_key(database: &Database, caller: &Caller, key: &Key) -> Result<bool> {
    let (worker, digest, key) = (database.clone(), key_digest(caller, key), key.short_hash());
    let unit = async move {
        let is_fenced = fence(&worker, digest).await?;
        if is_fenced {
            tracing::info!(key, "KeyFenced");
        }
        Ok(is_fenced)
    };
    database.detach(unit.in_current_span()).await?
}

/// Inserts the row under the lock of the key. So a command either has committed its record before, or reads the row.
async fn fence(database: &Database, digest: Uuid) -> Result<bool> {
    let lock = diesel::select(pg_try_advisory_xact_lock(lock_number(digest)));
    let (mut tx, is_locked): (Tx, bool) = database
        .begin_reading(async |mut tx| Ok::<_, database::Error>(lock.get_result(&mut tx).await?))
        .await?;
    if !is_locked {
        tx.rollback().await?;
        return Ok(false);
    }
    let row = diesel::insert_into(idempotency_fence::table).values(idempotency_fence::key_digest.eq(digest));
    row.on_conflict_do_nothing().execute(&mut tx).await?;
    crashpoint::reach!("fence.before_commit");
    tx.commit().await?;
    crashpoint::reach!("fence.after_commit");
    Ok(true)
}

/// Reads when the key was fenced.
pub(crate) async fn fenced_at(connection: &mut Connection, digest: Uuid) -> Result<Option<DateTime<Utc>>> {
    use idempotency_fence as fence;
    Ok(fence::table.find(digest).select(fence::fenced_at).first(connection).await.optional()?)
}
