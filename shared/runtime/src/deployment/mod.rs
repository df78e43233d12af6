//! Decides whether a database is the one database of this deployment. A copy, and a database of another name, are not.
//!
//! A process on such a database answers reads. It moves no money, publishes nothing and joins no group until an operator runs `adopt`.

mod adopt;

use database::{Database, Result};
use diesel::QueryableByName;
use diesel::prelude::*;
use diesel::sql_query;
use diesel::sql_types::{Bool, Text, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

pub(crate) use adopt::Adopt;

const READ: &str = "SELECT name, id, server = deployment_server() AS is_original FROM deployment";

/// Several instances may start at the same time.
const CLAIM: &str = "INSERT INTO deployment (name) VALUES ($1) ON CONFLICT DO NOTHING";

/// The deployment that a database names.
#[derive(QueryableByName)]
pub(crate) struct Identity {
    #[diesel(sql_type = Text)]
    name: String,
    #[diesel(sql_type = SqlUuid)]
    pub(crate) id: Uuid,
    /// False after a dump was restored: the copied row names the server and the database that the dump was made of.
    #[diesel(sql_type = Bool)]
    is_original: bool,
}

impl Identity {
    /// Reads the row; `None` if no process has served this database.
    pub(crate) async fn read(database: &Database) -> Result<Option<Self>> {
        Ok(sql_query(READ).get_result(&mut database.connection().await?).await.optional()?)
    }

    /// Reads the row. Writes it for a database that no process has served.
    pub(crate) async fn claim(database: &Database, deployment: &str) -> Result<Self> {
        if let Some(identity) = Self::read(database).await? {
            return Ok(identity);
        }
        let mut connection = database.connection().await?;
        sql_query(CLAIM).bind::<Text, _>(deployment).execute(&mut connection).await?;
        Ok(sql_query(READ).get_result(&mut connection).await?)
    }

    /// Why a process with this name may only read. `None` if it may do everything.
    pub(crate) fn mismatch(&self, deployment: &str) -> Option<String> {
        let Self { name, is_original, .. } = self;
        if name != deployment {
            return Some(format!(
                "the database belongs to the deployment {name}, and the settings name {deployment}"
            ));
        }
        (!is_original)
            .then(|| format!("the database is a copy of a database of {name}, which may still be in use"))
    }

    /// The mismatch and its cure, in one sentence.
    pub(crate) fn refusal(&self, service: &str, deployment: &str) -> Option<String> {
        self.mismatch(deployment).map(|seen| format!("{seen}: {}", cure(service, deployment)))
    }
}

/// What an operator does about a mismatch.
pub(crate) fn cure(service: &str, deployment: &str) -> String {
    format!("if it is to be the one database of {deployment}, run `{service} adopt --by NAME --reason TEXT`")
}
