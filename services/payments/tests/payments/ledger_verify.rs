//! `payments ledger verify`: it finds nothing in a sound ledger, and names each thing that was done behind its back.

use std::collections::BTreeSet;

use clap::Parser;
use contracts::Topics;
use database::Database;
use payments::{Payments, Settings};
use runtime::{Context, Service, ServiceCommand};
use serde_json::Value;

use crate::ledger::confirmed;
use crate::stage::{Stage, brisk, forms};

/// The command line below `payments`.
#[derive(Debug, Parser)]
struct CommandLine {
    #[command(subcommand)]
    command: <Payments as Service>::Command,
}

/// What it says, and whether all agrees.
async fn verify(stage: &Stage, words: &[&str]) -> (String, bool) {
    let words = ["payments", "ledger", "verify"].iter().chain(words);
    let line = CommandLine::try_parse_from(words).unwrap();
    let settings = Settings::new(stage.processor.client(), forms(), brisk());
    let context = Context::<Payments> {
        database: Database::clone(&stage.database),
        topics: Topics::with_prefix(""),
        settings,
    };
    let answer = line.command.run(&context).await.unwrap();
    (answer.text, answer.done)
}

/// The differences, by what was checked.
async fn differences(stage: &Stage, words: &[&str]) -> Vec<(String, String)> {
    let words: Vec<&str> = words.iter().copied().chain(["--json"]).collect();
    let (text, agrees) = verify(stage, &words).await;
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
/// fees, all sealed.
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
    stage.sealed(10).await;
    stage
}

/// The seal at this position, as it was published.
async fn head(stage: &Stage, position: i64) -> String {
    let hash = format!("SELECT encode(hash, 'hex') FROM ledger_seal WHERE position = {position}");
    format!("{position}:{}", stage.text(&hash).await)
}

#[tokio::test]
async fn a_sound_ledger_agrees_with_everything() {
    let stage = sound().await;
    assert_eq!(differences(&stage, &[]).await, []);
    let (text, agrees) = verify(&stage, &[]).await;
    assert!(agrees, "{text}");
    assert!(text.starts_with("10 transactions with 20 entries, 10 sealed, head "), "{text}");
    assert!(text.ends_with("the ledger agrees\n"), "{text}");
    for position in [3, 10] {
        let published = head(&stage, position).await;
        assert_eq!(differences(&stage, &["--head", &published]).await, []);
    }
}

const SUMS: &str = "every transaction sums to zero";
const SAYS: &str = "the ledger says what happened";
const CLEARING: &str = "clearing is empty for settled orders";
const CHAIN: &str = "the chain holds";
const WAITS: &str = "nothing waits to be sealed";

/// Something done behind the ledger's back, what undoes it, and the checks that name it.
type Damage = (&'static str, &'static str, &'static [&'static str]);

const DAMAGES: [Damage; 13] = [
    (
        "UPDATE ledger_entry SET amount = amount + sign(amount) WHERE transaction_id = (SELECT max(id) FROM ledger_transaction)",
        "UPDATE ledger_entry SET amount = amount - sign(amount) WHERE transaction_id = (SELECT max(id) FROM ledger_transaction)",
        &[SAYS, CHAIN],
    ),
    (
        "UPDATE ledger_entry SET amount = amount + 1 WHERE transaction_id = (SELECT max(id) FROM ledger_transaction) AND line = 1",
        "UPDATE ledger_entry SET amount = amount - 1 WHERE transaction_id = (SELECT max(id) FROM ledger_transaction) AND line = 1",
        &[SUMS, SAYS, CHAIN],
    ),
    (
        "UPDATE ledger_entry SET currency = 'USD' WHERE transaction_id = (SELECT max(id) FROM ledger_transaction)",
        "UPDATE ledger_entry SET currency = 'EUR' WHERE transaction_id = (SELECT max(id) FROM ledger_transaction)",
        &[SAYS, CHAIN],
    ),
    (
        "UPDATE ledger_transaction SET recorded_at = recorded_at + interval '1 microsecond' WHERE id = (SELECT max(id) FROM ledger_transaction)",
        "UPDATE ledger_transaction SET recorded_at = recorded_at - interval '1 microsecond' WHERE id = (SELECT max(id) FROM ledger_transaction)",
        &[CHAIN],
    ),
    (
        "UPDATE ledger_seal SET hash = set_bit(hash, 7, 1 - get_bit(hash, 7)) WHERE position = 4",
        "UPDATE ledger_seal SET hash = set_bit(hash, 7, 1 - get_bit(hash, 7)) WHERE position = 4",
        &[CHAIN],
    ),
    (
        "UPDATE ledger_seal SET position = 11 WHERE position = 4",
        "UPDATE ledger_seal SET position = 4 WHERE position = 11",
        &[CHAIN],
    ),
    ("UPDATE ledger_head SET position = 11", "UPDATE ledger_head SET position = 10", &[CHAIN]),
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
async fn each_change_behind_its_back_is_named() {
    let stage = sound().await;
    for (damage, mending, checks) in DAMAGES {
        stage.meddle(damage).await;
        let found = differences(&stage, &[]).await;
        let named: BTreeSet<&str> = found.iter().map(|(check, _)| check.as_str()).collect();
        assert_eq!(named, checks.iter().copied().collect(), "{damage}: {found:?}");
        assert!(!verify(&stage, &[]).await.1, "{damage}");
        stage.meddle(mending).await;
        assert_eq!(differences(&stage, &[]).await, [], "after {mending}");
    }
    // Without a seal for longer than a minute.
    stage.numbered(3..=3).await;
    stage.post(3..=3).await;
    assert_eq!(differences(&stage, &[]).await, []);
    stage.meddle("UPDATE ledger_transaction SET recorded_at = recorded_at - interval '61 seconds' WHERE cause LIKE '%0003'").await;
    let found = differences(&stage, &[]).await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, WAITS);
    assert!(found[0].1.contains("(capture of payment 00000000-0000-0000-0000-000000000003)"), "{found:?}");
}

#[tokio::test]
async fn a_chain_that_was_made_anew_or_cut_off_shows_against_a_head_that_was_published() {
    let stage = sound().await;
    let (fifth, last) = (head(&stage, 5).await, head(&stage, 10).await);
    // Who may write everything can also make the head agree. What was published, nobody can take back.
    stage.meddle("DELETE FROM ledger_seal WHERE position > 5").await;
    stage
        .meddle(
            "UPDATE ledger_head SET position = 5, hash = (SELECT hash FROM ledger_seal WHERE position = 5)",
        )
        .await;
    assert_eq!(differences(&stage, &[]).await, []);
    assert_eq!(differences(&stage, &["--head", &fifth]).await, []);
    let found = differences(&stage, &["--head", &last]).await;
    assert_eq!(found, [(CHAIN.to_owned(), "position 10 was published, but the chain ends at 5".to_owned())]);
    let forged = format!("5:{}", last.split_once(':').unwrap().1);
    let found = differences(&stage, &["--head", &forged]).await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].1.contains("was published for position 5"), "{found:?}");
}
