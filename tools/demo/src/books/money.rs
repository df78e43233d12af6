//! What payments and the processor have written down about money, each in its own books.

use audits::Standing;
use diesel::sql_types::{Array, BigInt, Text, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use uuid::Uuid;

use super::Books;
use crate::part::Part;
use crate::trouble::Trouble;

/// What payments has asked the processor about a charge.
#[derive(Debug, Clone, PartialEq, Eq, QueryableByName)]
pub(crate) struct Asked {
    /// Requests under the charge's key, and look-ups.
    #[diesel(sql_type = BigInt)]
    pub(crate) times: i64,
    /// What it asks when its turn comes: `request`, or `look_up` once the key can tell no more.
    #[diesel(sql_type = Text)]
    pub(crate) how: String,
}

#[derive(QueryableByName)]
struct Name {
    #[diesel(sql_type = Text)]
    name: String,
}

#[derive(QueryableByName)]
struct Made {
    #[diesel(sql_type = BigInt)]
    charges: i64,
    #[diesel(sql_type = BigInt)]
    refunds: i64,
}

impl Books {
    /// What payments has asked about a payment's charge.
    pub(crate) async fn asked(&self, payment: Uuid) -> Result<Asked, Trouble> {
        let query = sql_query("SELECT attempt::bigint AS times, asks AS how FROM intent WHERE id = $1");
        self.one(Part::Payments, query.bind::<SqlUuid, _>(payment)).await
    }

    /// What the ledger says of a payment: the kinds of its transactions.
    pub(crate) async fn postings(&self, payment: Uuid) -> Result<Vec<String>, Trouble> {
        let query =
            sql_query("SELECT kind AS name FROM ledger_transaction WHERE payment_id = $1 ORDER BY kind");
        let kinds: Vec<Name> = self.load(Part::Payments, query.bind::<SqlUuid, _>(payment)).await?;
        Ok(kinds.into_iter().map(|row| row.name).collect())
    }

    /// How many events of the processor with this id payments has stored.
    pub(crate) async fn webhook_events(&self, id: &str) -> Result<i64, Trouble> {
        let query = sql_query("SELECT count(*) AS number FROM webhook_event WHERE id = $1");
        self.number(Part::Payments, query.bind::<Text, _>(id.to_owned())).await
    }

    /// How many events payments has told about a payment.
    pub(crate) async fn told_of(&self, payment: Uuid) -> Result<i64, Trouble> {
        let query = sql_query("SELECT count(*) AS number FROM outbox_event WHERE aggregate_id = $1");
        self.number(Part::Payments, query.bind::<SqlUuid, _>(payment)).await
    }

    /// How many charges and refunds are not settled yet, and how many postings are not sealed.
    pub(crate) async fn unsettled(&self) -> Result<i64, Trouble> {
        let query = sql_query(
            "SELECT (SELECT count(*) FROM intent WHERE due_at IS NOT NULL)
                  + (SELECT count(*) FROM ledger_transaction
                      WHERE id NOT IN (SELECT transaction_id FROM ledger_seal)) AS number",
        );
        self.number(Part::Payments, query).await
    }

    /// How much of what has happened the processor has still to tell at these addresses, or to decide.
    pub(crate) async fn untold(&self, addresses: Vec<String>) -> Result<i64, Trouble> {
        let query = sql_query(
            "SELECT (SELECT count(*) FROM event WHERE NOT planned) + (SELECT count(*) FROM bank_decision)
                  + (SELECT count(*) FROM delivery WHERE due_at IS NOT NULL AND url = ANY ($1)) AS number",
        );
        self.number(Part::Provider, query.bind::<Array<Text>, _>(addresses)).await
    }

    /// How often the processor has given back a part of a payment.
    pub(crate) async fn refunds_there(&self, payment: Uuid) -> Result<usize, Trouble> {
        Ok(self.made_for(&[payment]).await?.1)
    }

    /// How many charges and refunds the processor has made for these payments.
    pub(crate) async fn made_for(&self, payments: &[Uuid]) -> Result<(usize, usize), Trouble> {
        let query = sql_query(
            "WITH own AS (SELECT id FROM payment_intent WHERE metadata ->> 'reference' = ANY ($1))
             SELECT (SELECT count(*) FROM charge WHERE payment_intent IN (SELECT id FROM own)) AS charges,
                    (SELECT count(*) FROM refund WHERE payment_intent IN (SELECT id FROM own)) AS refunds",
        );
        let Made { charges, refunds } =
            self.one(Part::Provider, query.bind::<Array<Text>, _>(names(payments))).await?;
        Ok((count(charges), count(refunds)))
    }

    /// What the processor owes for these payments, and what it has kept of them: by our ledger, and by its own balance.
    pub(crate) async fn standings(&self, payments: &[Uuid]) -> Result<[Vec<Standing>; 2], Trouble> {
        let names = names(payments);
        let own = |rows: Vec<Standing>| {
            let is_own = |row: &Standing| row.payment.as_ref().is_some_and(|name| names.contains(name));
            rows.into_iter().filter(is_own).collect()
        };
        let ledger = self.load(Part::Payments, sql_query(Standing::LEDGER)).await?;
        let balance = self.load(Part::Provider, sql_query(Standing::BALANCE)).await?;
        Ok([own(ledger), own(balance)])
    }
}

/// The processor knows our payments as the references of its own.
fn names(payments: &[Uuid]) -> Vec<String> {
    payments.iter().map(Uuid::to_string).collect()
}

fn count(number: i64) -> usize {
    usize::try_from(number).unwrap_or_default()
}
