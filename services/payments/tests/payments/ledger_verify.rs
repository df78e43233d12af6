//! `payments ledger verify` finds no difference in a sound ledger, and names each change that was made behind its back.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use clap::Parser;
use database::Database;
use envelope::Topics;
use operators::OperatorCommand;
use payments::Payments;
use runtime::{Context, Service};
use serde_json::Value;

use crate::ledger::confirmed;
use crate::stage::{Stage, brisk};

/// The command line below `payments`.
#[derive(Debug, Parser)]
struct CommandLine {
    #[command(subcommand)]
    command: <Payments as Service>::Command,
}

/// The id of the numbered payment.
pub(crate) fn payment(n: usize) -> String {
    format!("00000000-0000-0000-0000-{n:012}")
}

impl Stage {
    /// Inserts captured payments without an order and without postings, with these numbers.
    pub(crate) async fn numbered(&self, numbers: RangeInclusive<usize>) {
        let (first, last) = numbers.into_inner();
        self.meddle(&format!(
            "INSERT INTO payment (id, tenant_id, amount, currency, payment_method, state, processor_intent, expires_at)
             SELECT ('00000000-0000-0000-0000-' || lpad(n::text, 12, '0'))::uuid, 'acme', 450, 'EUR', 'pm_card_visa',
                    'captured', 'pi_numbered_' || n, '2099-01-01'
               FROM generate_series({first}, {last}) AS n"
        ))
        .await;
    }

    /// Posts the captures of the payments with these numbers, each in a transaction of its own.
    async fn post(&self, numbers: RangeInclusive<usize>) {
        for n in numbers {
            self.meddle(&format!(
                "WITH posted AS (INSERT INTO ledger_transaction (tenant_id, kind, cause, payment_id)
                                 VALUES ('acme', 'capture', '{0}', '{0}') RETURNING id)
                 INSERT INTO ledger_entry (transaction_id, line, tenant_id, account, currency, amount)
                 SELECT posted.id, line, 'acme', account, 'EUR', amount
                   FROM posted, (VALUES (1, 'receivable', 450), (2, 'revenue', -450)) AS entry (line, account, amount)",
                payment(n)
            ))
            .await;
        }
    }
}

/// Returns the output of the command, and whether the ledger agrees.
async fn verify(stage: &Stage, words: &[&str]) -> (String, bool) {
    let words = ["payments", "ledger", "verify"].iter().chain(words);
    let line = CommandLine::try_parse_from(words).unwrap();
    let settings = stage.settings();
    let context = Context::<Payments> {
        database: Database::clone(&stage.database),
        topics: Topics::of("test"),
        settings,
    };
    let result = line.command.run(&context).await.unwrap();
    (result.text, result.done)
}

/// The differences, by what was checked.
async fn differences(stage: &Stage) -> Vec<(String, String)> {
    let (text, agrees) = verify(stage, &["--json"]).await;
    let report: Value = serde_json::from_str(&text).unwrap();
    let mut found = Vec::new();
    for check in report["checks"].as_array().unwrap() {
        let name = check["check"].as_str().unwrap();
        let differences = check["differences"].as_array().unwrap().iter();
        found.extend(differences.map(|it| (name.to_owned(), it.as_str().unwrap().to_owned())));
    }
    assert_eq!((agrees, &report["agrees"]), (found.is_empty(), &Value::from(found.is_empty())));
    found
}

/// A confirmed order, a cancelled one, an open one, and two payments without an order: ten postings with the
/// fees.
async fn sound() -> Stage {
    let stage = Stage::new().await;
    let (kept, returned, _open) = (stage.taken().await, stage.taken().await, stage.taken().await);
    stage.confirm(&confirmed(kept)).await.unwrap();
    stage.cancel(returned).await;
    let worker = stage.worker(brisk());
    stage.is_at_rest().await;
    worker.stop().await;
    stage.numbered(1..=2).await;
    stage.post(1..=2).await;
    stage
}

#[tokio::test]
async fn a_sound_ledger_agrees_with_everything() {
    let stage = sound().await;
    assert_eq!(differences(&stage).await, []);
    let (text, agrees) = verify(&stage, &[]).await;
    assert!(agrees, "{text}");
    assert!(text.starts_with("the ledger agrees: 10 transactions with 20 entries\n"), "{text}");
}

const SUMS: &str = "every transaction sums to zero";
const SAYS: &str = "the ledger says what happened";
const CLEARING: &str = "clearing is empty for settled orders";

/// A change behind the service's back, the statement that reverts it, and the checks that report it.
type Damage = (&'static str, &'static str, &'static [&'static str]);

const DAMAGES: [Damage; 9] = [
    (
        "UPDATE ledger_entry SET amount = amount + sign(amount) WHERE transaction_id = (SELECT max(id) FROM ledger_transaction)",
        "UPDATE ledger_entry SET amount = amount - sign(amount) WHERE transaction_id = (SELECT max(id) FROM ledger_transaction)",
        &[SAYS],
    ),
    (
        "UPDATE ledger_entry SET amount = amount + 1 WHERE transaction_id = (SELECT max(id) FROM ledger_transaction) AND line = 1",
        "UPDATE ledger_entry SET amount = amount - 1 WHERE transaction_id = (SELECT max(id) FROM ledger_transaction) AND line = 1",
        &[SUMS, SAYS],
    ),
    (
        "UPDATE ledger_entry SET currency = 'USD' WHERE transaction_id = (SELECT max(id) FROM ledger_transaction)",
        "UPDATE ledger_entry SET currency = 'EUR' WHERE transaction_id = (SELECT max(id) FROM ledger_transaction)",
        &[SAYS],
    ),
    (
        "UPDATE payment SET state = 'unknown' WHERE processor_intent = 'pi_numbered_1'",
        "UPDATE payment SET state = 'captured' WHERE processor_intent = 'pi_numbered_1'",
        &[SAYS],
    ),
    (
        "UPDATE payment SET amount = amount + 1 WHERE processor_intent = 'pi_numbered_1'",
        "UPDATE payment SET amount = amount - 1 WHERE processor_intent = 'pi_numbered_1'",
        &[SAYS],
    ),
    // The open order becomes a confirmed one.
    (
        "UPDATE payment SET confirmed = true, currency = 'EUR'
          WHERE order_id IS NOT NULL AND NOT cancel_requested AND NOT confirmed",
        "UPDATE payment SET confirmed = false
          WHERE confirmed AND NOT EXISTS (SELECT FROM ledger_transaction
                                           WHERE payment_id = payment.id AND kind = 'confirmation')",
        &[SAYS, CLEARING],
    ),
    (
        "UPDATE payment SET expires_at = '2020-01-01'",
        "UPDATE payment SET expires_at = '2099-01-01'",
        &[CLEARING],
    ),
    (
        "UPDATE refund SET state = 'failed', failure_code = 'returned'",
        "UPDATE refund SET state = 'succeeded', failure_code = NULL",
        &[SAYS],
    ),
    (
        "UPDATE payment SET fee = 30, fee_currency = 'EUR', fee_transaction = 'txn' WHERE processor_intent = 'pi_numbered_1'",
        "UPDATE payment SET fee = NULL, fee_currency = NULL, fee_transaction = NULL WHERE processor_intent = 'pi_numbered_1'",
        &[SAYS],
    ),
];

#[tokio::test]
async fn each_change_of_the_ledger_behind_its_back_is_reported() {
    let stage = sound().await;
    for (damage, mending, checks) in DAMAGES {
        stage.meddle(damage).await;
        let found = differences(&stage).await;
        let named: BTreeSet<&str> = found.iter().map(|(check, _)| check.as_str()).collect();
        assert_eq!(named, checks.iter().copied().collect(), "{damage}: {found:?}");
        assert!(!verify(&stage, &[]).await.1, "{damage}");
        stage.meddle(mending).await;
        assert_eq!(differences(&stage).await, [], "after {mending}");
    }
}
