//! `SERVICE adopt`: a person says that this database is the one of the deployment that the settings name.

use clap::Args;
use database::{Database, Result, Tx};
use diesel::sql_query;
use diesel::sql_types::Text;
use diesel_async::RunQueryDsl;
use operators::{Change, CommandOutput, Outcome};
use serde::Serialize;
use serde_json::json;

use super::{CLAIM, Identity, READ};

/// A new id, so that the members of a consumer group show whether the original is still in use.
const ADOPT: &str = "\
    UPDATE deployment SET name = $1, id = gen_random_uuid(), server = deployment_server(), adopted_at = clock_timestamp()";

/// The arguments.
#[derive(Debug, Args)]
pub(crate) struct Adopt {
    #[command(flatten)]
    change: Change,
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
        let adopt = async |tx: &mut Tx| {
            let is_new = sql_query(CLAIM).bind::<Text, _>(to).execute(tx).await? == 1;
            let identity: Identity = sql_query(READ).get_result(tx).await?;
            let adopted = is_new || identity.mismatch(to).is_some();
            let from = identity.name;
            let report = Report { from: from.clone(), to: to.to_owned(), adopted };
            if !adopted {
                let sentence = format!("the database belongs to {to} already: nothing was changed");
                return Ok(Outcome::unchanged(report, sentence));
            }
            sql_query(ADOPT).bind::<Text, _>(to).execute(tx).await?;
            let fact = self.change.fact(None, "deployment.adopt", "deployment", to);
            let sentence = format!("adopted: the database of {from} is the database of {to}");
            Ok(Outcome::changed(report, sentence, fact.with(json!({ "from": from, "to": to }))))
        };
        self.change.run(database, adopt).await
    }
}
