//! Applies the migrations that are embedded in the programs, so that a deployment needs no other tool.
//!
//! Migrations run as the database's owner. The service itself connects with a role that owns nothing.

use std::time::Duration;

use diesel::migration::Migration;
use diesel::pg::Pg;
use diesel_async::async_connection_wrapper::AsyncConnectionWrapper;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};
use secrecy::{ExposeSecret, SecretString};
use thiserror::Error;

use crate::connect::connect;
use crate::error::LOCK_TIMEOUT;
use crate::functions::{pg_try_advisory_lock, set_config};

/// The tables of idempotency, outbox, inbox and audit. Every service's database has the same.
pub const RELIABILITY: EmbeddedMigrations = embed_migrations!("migrations");

/// The number of the advisory lock. It is arbitrary, but all instances of all versions must use the same number.
const LOCK: i64 = 0x6964_656d_6d69_6772;

/// The pause between two looks at the advisory lock.
const LOOK: Duration = Duration::from_millis(100);

/// How long a migration waits for the lock of a table. Meanwhile, commands that need the table wait behind it.
const LOCK_WAIT: &str = "1s";

/// The pause after a wait in vain, in which the others go on, and the number of attempts.
const PAUSE: Duration = Duration::from_secs(1);
const ATTEMPTS: u32 = 30;

/// Why the migrations were not applied.
#[derive(Debug, Error)]
pub enum MigrateError {
    /// The database at the owner's URL cannot be reached.
    #[error("the database cannot be reached with the migration URL: {0}")]
    Connect(#[from] diesel::ConnectionError),
    /// The lock was not granted. The lock keeps two instances from migrating at the same time.
    #[error("the migration lock was not granted: {0}")]
    Lock(#[from] diesel::result::Error),
    /// A transaction holds the lock of a table that a migration changes. Nothing of the migration is applied.
    #[error(
        "the migration {0} waits for a table that another transaction uses: pg_stat_activity shows it, and pg_terminate_backend ends it"
    )]
    Busy(String),
    /// A migration failed and was rolled back.
    #[error("a migration failed and was rolled back: {0}")]
    Migration(String),
}

/// Applies the pending migrations of each set, in order, as the owner. Several instances may call it at the same time, and others may
/// use the database: a migration that waits for a table gives way to them, and tries again.
///
/// # Errors
/// [`MigrateError::Connect`] if there is no connection, and [`MigrateError::Lock`] if a statement around the migrations fails;
/// [`MigrateError::Busy`] if a migration has waited for a table for a minute, and [`MigrateError::Migration`] if one fails. The
/// migrations before it stay applied.
pub async fn migrate(url: &SecretString, sets: Vec<EmbeddedMigrations>) -> Result<(), MigrateError> {
    let mut owner = connect(url.expose_secret()).await?;
    // The session holds the lock, so PostgreSQL releases it with the connection, also if this process dies. A statement that waited for
    // it would be an open transaction, and CREATE INDEX CONCURRENTLY waits for all of these.
    while !diesel::select(pg_try_advisory_lock(LOCK)).get_result(&mut owner).await? {
        tokio::time::sleep(LOOK).await;
    }
    let applied = tokio::task::spawn_blocking(move || {
        let mut owner = AsyncConnectionWrapper::from(owner);
        for set in sets {
            let pending = owner.pending_migrations(set);
            for migration in pending.map_err(|error| MigrateError::Migration(error.to_string()))? {
                apply(&mut owner, migration.as_ref())?;
                tracing::info!(version = %migration.name().version(), "migration applied");
            }
        }
        Ok(())
    });
    applied.await.unwrap_or_else(|panic| Err(MigrateError::Migration(panic.to_string())))
}

fn apply(
    owner: &mut AsyncConnectionWrapper<AsyncPgConnection>,
    migration: &dyn Migration<Pg>,
) -> Result<(), MigrateError> {
    // A migration without a transaction, such as CREATE INDEX CONCURRENTLY, waits for open transactions. No command waits behind it.
    let wait = if migration.metadata().run_in_transaction() { LOCK_WAIT } else { "0" };
    diesel::RunQueryDsl::execute(diesel::select(set_config("lock_timeout", wait, false)), owner)?;
    for _ in 0..ATTEMPTS {
        match owner.run_migration(migration) {
            Ok(_) => return Ok(()),
            Err(error) if error.to_string().contains(LOCK_TIMEOUT) => {
                tracing::info!(version = %migration.name().version(), "the migration waits for a table");
                std::thread::sleep(PAUSE);
            }
            Err(error) => return Err(MigrateError::Migration(error.to_string())),
        }
    }
    Err(MigrateError::Busy(migration.name().to_string()))
}
