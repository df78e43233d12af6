//! The migrations of a service, and whether they are applied. The serving role can check this; the owner applies them.

use database::Database;
use diesel::migration::MigrationSource;
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use diesel_migrations::EmbeddedMigrations;

use crate::Service;

diesel::table! {
    /// Diesel maintains this table. The serving role may read it.
    __diesel_schema_migrations (version) {
        version -> Text,
    }
}

/// All migrations of a service, in the order in which they are applied.
pub(crate) fn migrations<S: Service>() -> Vec<EmbeddedMigrations> {
    vec![database::RELIABILITY, S::migrations()]
}

/// The versions of these migrations. Fails if an embedded migration cannot be read.
pub(crate) fn versions(sets: Vec<EmbeddedMigrations>) -> Result<Vec<String>, String> {
    let mut versions = Vec::new();
    for set in sets {
        let migrations = MigrationSource::<Pg>::migrations(&set).map_err(|error| error.to_string())?;
        versions.extend(migrations.iter().map(|migration| migration.name().version().to_string()));
    }
    Ok(versions)
}

/// Returns the number of these versions that are not applied.
pub(crate) async fn pending(database: &Database, mut expected: Vec<String>) -> database::Result<usize> {
    let mut connection = database.connection().await?;
    let applied: Vec<String> = __diesel_schema_migrations::table
        .select(__diesel_schema_migrations::version)
        .load(&mut connection)
        .await?;
    expected.retain(|version| !applied.contains(version));
    Ok(expected.len())
}
