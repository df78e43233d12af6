//! Each question is asked of a sound database, where it finds nothing, and of the same one with each kind of damage
//! that it is there to see.

mod reliability;
mod trimmed;

use std::collections::BTreeSet;
use std::path::Path;

use diesel_migrations::EmbeddedMigrations;
use testkit::{Damage, SoundDatabase};

use super::*;

/// The questions of a folder, each finds nothing in these rows, and something after each of its damages.
async fn sees(folder: &str, migrations: EmbeddedMigrations, sound: &[&str], damages: &[Damage]) {
    let questions = all().filter(|question| question.file.starts_with(folder));
    let questions: Vec<_> = questions.map(|question| (question.file, question.query())).collect();
    SoundDatabase::with(migrations, sound).await.sees(&questions, damages).await;
}

/// The build script of `services` lists their own.
#[test]
fn every_audit_in_the_folder_is_run() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(folder.join("reliability")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        // The other files ask about no promise: they explain an order.
        if !name.starts_with("explain") {
            found.insert(format!("audits/reliability/{name}"));
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
