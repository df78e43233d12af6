//! The audits find no difference in a sound ledger, and name each change that was made behind its back.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use crate::ledger::confirmed;
use crate::stage::{Stage, brisk};

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

/// The audits of the ledger.
const AUDITS: [&str; 4] =
    [SUMS, SAYS, CLEARING, "services/payments/audits/balances_are_the_sums_of_the_ledger.sql"];

/// The violations, by the audit that has found them.
async fn violations(stage: &Stage) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    for question in audits::all().filter(|question| AUDITS.contains(&question.file)) {
        let violations = question.ask(&mut stage.database.owner().await).await.unwrap();
        found.extend(violations.into_iter().map(|violation| (question.file, violation)));
    }
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
    assert_eq!(violations(&stage).await, []);
    let files = audits::all().map(|question| question.file);
    assert_eq!(files.filter(|file| AUDITS.contains(file)).count(), AUDITS.len(), "an audit has another name");
}

const SUMS: &str = "services/payments/audits/the_ledger_sums_to_zero.sql";
const SAYS: &str = "services/payments/audits/the_ledger_says_what_happened.sql";
const CLEARING: &str = "services/payments/audits/clearing_is_empty_for_a_settled_order.sql";

/// A change behind the service's back, the statement that reverts it, and the audits that report it.
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
    for (damage, mending, audits) in DAMAGES {
        stage.meddle(damage).await;
        let found = violations(&stage).await;
        let named: BTreeSet<&str> = found.iter().map(|(audit, _)| *audit).collect();
        assert_eq!(named, audits.iter().copied().collect(), "{damage}: {found:?}");
        stage.meddle(mending).await;
        assert_eq!(violations(&stage).await, [], "after {mending}");
    }
}
