//! Each question is asked of a sound database, where it finds nothing, and of the same one with each kind of damage
//! that it is there to see.

mod inventory;
mod orders;
mod payments;
mod provider;
mod reliability;
mod trimmed;

use std::collections::BTreeSet;
use std::path::Path;

use diesel_async::{AsyncPgConnection, SimpleAsyncConnection};
use diesel_migrations::EmbeddedMigrations;
use testkit::TestDatabase;

use super::*;

/// Ids that are easy to read.
const ID: &str = "CREATE FUNCTION id(n integer) RETURNS uuid LANGUAGE sql IMMUTABLE
    RETURN ('00000000-0000-0000-0000-' || lpad(n::text, 12, '0'))::uuid;";

/// A question's file, and damage that it must see.
type Damage = (&'static str, &'static str);

/// Asks all questions of a folder, before and after each damage.
async fn sees(folder: &str, migrations: EmbeddedMigrations, sound: &[&str], damages: &[Damage]) {
    let database = TestDatabase::with(vec![migrations]).await;
    let mut owner = database.owner().await;
    for part in std::iter::once(&ID).chain(sound) {
        owner.batch_execute(part).await.unwrap();
    }
    let questions = || all().filter(|audit| audit.file.starts_with(folder));
    for audit in questions() {
        assert_eq!(
            violations(&mut owner, audit).await,
            Vec::<String>::new(),
            "{} of a sound database",
            audit.file
        );
    }
    for (name, damage) in damages {
        let file = format!("{folder}/{name}.sql");
        let audit =
            questions().find(|audit| audit.file == file).unwrap_or_else(|| panic!("{file} is not asked"));
        owner.batch_execute("BEGIN").await.unwrap();
        owner.batch_execute(damage).await.unwrap();
        let found = violations(&mut owner, audit).await;
        owner.batch_execute("ROLLBACK").await.unwrap();
        assert!(!found.is_empty(), "{file} does not see: {damage}");
        assert!(found.iter().all(|violation| !violation.is_empty()), "{file} says nothing: {damage}");
    }
    let damaged: BTreeSet<String> = damages.iter().map(|(name, _)| format!("{folder}/{name}.sql")).collect();
    assert_eq!(questions().count(), damaged.len(), "each question needs damage that it sees");
}

async fn violations(connection: &mut AsyncPgConnection, audit: Question) -> Vec<String> {
    audit.ask(connection).await.unwrap()
}

/// The build script of `services` lists their own.
#[test]
fn every_audit_in_the_folder_is_run() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = BTreeSet::new();
    for subject in ["reliability", "provider"] {
        for entry in std::fs::read_dir(folder.join(subject)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            // The other files ask about no promise: they explain an order.
            if !name.starts_with("explain") {
                found.insert(format!("audits/{subject}/{name}"));
            }
        }
    }
    let asked = all().map(|audit| audit.file.to_owned()).filter(|file| file.starts_with("audits/"));
    assert_eq!(asked.collect::<BTreeSet<_>>(), found);
}

#[test]
fn every_audit_names_its_promise_and_its_databases() {
    for audit in all() {
        let mut lines = audit.query().lines();
        let (promise, databases) = (lines.next().unwrap(), lines.next().unwrap());
        assert!(promise.starts_with("-- Promise"), "{}", audit.file);
        assert_eq!(promise.strip_prefix("-- "), Some(audit.promise()));
        let expected = audit.of.map_or("-- Databases: of each service.", Database::name);
        assert!(databases.contains(expected), "{}: {databases}", audit.file);
    }
}
