//! Whether the tables are as this program expects them, seen with the eyes of the role that serves.

use database::{Database, Result};
use diesel::migration::MigrationSource;
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use diesel_migrations::EmbeddedMigrations;

use crate::Service;

diesel::table! {
    /// Kept by diesel. The role that serves may read it.
    __diesel_schema_migrations (version) {
        version -> Text,
    }
}

/// All tables of a service, in the order in which they are made.
pub(crate) fn migrations<S: Service>() -> Vec<EmbeddedMigrations> {
    vec![database::RELIABILITY, S::migrations()]
}

/// How many migrations this program has that the database has not.
pub(crate) async fn pending(database: &Database, sets: Vec<EmbeddedMigrations>) -> Result<usize> {
    let mut expected: Vec<String> = Vec::new();
    for set in sets {
        let migrations = MigrationSource::<Pg>::migrations(&set).unwrap_or_default();
        expected.extend(migrations.iter().map(|migration| migration.name().version().to_string()));
    }
    let mut connection = database.connection().await?;
    let applied: Vec<String> = __diesel_schema_migrations::table
        .select(__diesel_schema_migrations::version)
        .load(&mut connection)
        .await?;
    expected.retain(|version| !applied.contains(version));
    Ok(expected.len())
}
