//! Applies the migrations that are embedded in the programs, so that a deployment needs no other tool.
//!
//! Migrations run as the database's owner. The service itself connects with a role that owns nothing.

use diesel_async::{AsyncMigrationHarness, RunQueryDsl};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};
use secrecy::{ExposeSecret, SecretString};
use thiserror::Error;

use crate::address::connect;
use crate::functions::pg_advisory_lock;

/// The tables of idempotency, outbox, inbox and audit. Every service's database has the same.
pub const RELIABILITY: EmbeddedMigrations = embed_migrations!("../../migrations/reliability");

/// The number of the advisory lock. It is arbitrary, but all instances of all versions must use the same number.
const LOCK: i64 = 0x6964_656d_6d69_6772;

/// Why the migrations were not applied.
#[derive(Debug, Error)]
pub enum MigrateError {
    /// The database at the owner's URL cannot be reached.
    #[error("the database cannot be reached with the migration URL: {0}")]
    Connect(#[from] diesel::ConnectionError),
    /// The lock was not granted. The lock keeps two instances from migrating at the same time.
    #[error("the migration lock was not granted: {0}")]
    Lock(#[from] diesel::result::Error),
    /// A migration failed and was rolled back.
    #[error("a migration failed and was rolled back: {0}")]
    Migration(String),
}

/// Applies the pending migrations of each set, in order, as the owner. Several instances may call it at the same time.
pub async fn migrate(url: &SecretString, sets: Vec<EmbeddedMigrations>) -> Result<(), MigrateError> {
    let mut owner = connect(url.expose_secret()).await?;
    // The session holds the lock, so PostgreSQL releases it with the connection, also if this process dies.
    diesel::select(pg_advisory_lock(LOCK)).execute(&mut owner).await?;
    let applied = tokio::task::spawn_blocking(move || {
        let mut harness = AsyncMigrationHarness::new(owner);
        for set in sets {
            let applied = harness.run_pending_migrations(set).map_err(|e| e.to_string())?;
            for version in applied {
                tracing::info!(%version, "migration applied");
            }
        }
        Ok::<(), String>(())
    });
    match applied.await {
        Ok(done) => done.map_err(MigrateError::Migration),
        Err(panic) => Err(MigrateError::Migration(panic.to_string())),
    }
}
