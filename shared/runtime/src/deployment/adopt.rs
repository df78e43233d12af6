//! `SERVICE adopt`: a person says that this database is the one of the deployment that the settings name.

use audit::{Fact, Operator};
use clap::Args;
use database::{Database, Result};
use diesel::sql_query;
use diesel::sql_types::Text;
use diesel_async::RunQueryDsl;
use serde::Serialize;

use super::Identity;
use crate::CommandOutput;

/// A new id, so that the members of a consumer group show whether the original is still in use.
const ADOPT: &str = "\
    UPDATE deployment SET name = $1, id = gen_random_uuid(), server = deployment_server(), adopted_at = clock_timestamp()";

/// The arguments.
#[derive(Debug, Args)]
pub(crate) struct Adopt {
    #[command(flatten)]
    operator: Operator,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    /// The deployment that the database belonged to.
    from: String,
    to: String,
    /// False if it belonged to the deployment before.
    adopted: bool,
}

impl Adopt {
    pub(crate) async fn run(self, database: &Database, to: &str) -> Result<CommandOutput> {
        let identity = Identity::claim(database, to).await?;
        let adopted = identity.mismatch(to).is_some();
        let report = Report { from: identity.name, to: to.to_owned(), adopted };
        if adopted {
            let mut tx = database.begin().await?;
            sql_query(ADOPT).bind::<Text, _>(to).execute(&mut tx).await?;
            let fact = Fact::by_operator(&self.operator, None, "deployment.adopt", "deployment", to);
            audit::record(&mut tx, fact.with(serde_json::json!({ "from": report.from, "to": to })));
            tx.commit().await?;
        }
        Ok(CommandOutput::new(self.json, true, &report, Report::text))
    }
}

impl Report {
    fn text(&self) -> String {
        let Self { from, to, adopted } = self;
        if *adopted {
            format!("adopted: the database of {from} is the database of {to}\n")
        } else {
            format!("the database belongs to {to} already: nothing was changed\n")
        }
    }
}
