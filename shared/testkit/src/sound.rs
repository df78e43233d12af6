//! `SoundDatabase`: rows that break no promise, and the damage that an audit must find in them.

use std::collections::BTreeSet;

use diesel::sql_types::Text;
use diesel::{QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use diesel_migrations::EmbeddedMigrations;

use crate::TestDatabase;

/// Ids that are easy to read.
const ID: &str = "CREATE FUNCTION id(n integer) RETURNS uuid LANGUAGE sql IMMUTABLE
    RETURN ('00000000-0000-0000-0000-' || lpad(n::text, 12, '0'))::uuid;";

/// A question's name, and damage that it must see.
pub type Damage = (&'static str, &'static str);

/// A database whose rows break no promise. SQL may call an id `id(1)`.
pub struct SoundDatabase {
    owner: AsyncPgConnection,
    _database: TestDatabase,
}

#[derive(QueryableByName)]
struct Violation {
    #[diesel(sql_type = Text)]
    violation: String,
}

impl SoundDatabase {
    /// The tables of these migrations, with the rows of these statements.
    pub async fn with(migrations: EmbeddedMigrations, statements: &[&str]) -> Self {
        let database = TestDatabase::with(vec![migrations]).await;
        let mut owner = database.owner().await;
        for statement in std::iter::once(&ID).chain(statements) {
            owner.batch_execute(statement).await.unwrap();
        }
        Self { owner, _database: database }
    }

    /// The violations that a question finds after these changes, which are rolled back.
    pub async fn violations(&mut self, question: &str, changes: &[&str]) -> Vec<String> {
        self.owner.batch_execute("BEGIN").await.unwrap();
        for change in changes {
            self.owner.batch_execute(change).await.unwrap();
        }
        let found: Vec<Violation> = sql_query(question).load(&mut self.owner).await.unwrap();
        self.owner.batch_execute("ROLLBACK").await.unwrap();
        found.into_iter().map(|row| row.violation).collect()
    }

    /// Returns for each case whether the question finds a violation after its changes.
    pub async fn finds<const N: usize>(&mut self, question: &str, cases: [&[&str]; N]) -> [bool; N] {
        let mut found = [false; N];
        for (changes, found) in cases.into_iter().zip(&mut found) {
            *found = !self.violations(question, changes).await.is_empty();
        }
        found
    }

    /// Asks each question, by file and text, before and after each of its damages. Each needs a damage.
    pub async fn sees(&mut self, questions: &[(&str, &str)], damages: &[Damage]) {
        for (file, question) in questions {
            assert_eq!(self.violations(question, &[]).await, [""; 0], "{file} of a sound database");
        }
        let name_of = |file: &str| file.rsplit('/').next().unwrap().trim_end_matches(".sql").to_owned();
        for (name, damage) in damages {
            let question = questions.iter().find(|(file, _)| name_of(file) == *name);
            let (_, question) = question.unwrap_or_else(|| panic!("{name} is not asked"));
            let found = self.violations(question, &[damage]).await;
            assert!(!found.is_empty(), "{name} does not see: {damage}");
            assert!(found.iter().all(|violation| !violation.is_empty()), "{name} says nothing: {damage}");
        }
        let damaged: BTreeSet<String> = damages.iter().map(|(name, _)| (*name).to_owned()).collect();
        let asked: BTreeSet<String> = questions.iter().map(|(file, _)| name_of(file)).collect();
        assert_eq!(asked, damaged, "each question needs damage that it sees");
    }
}
