//! The chain: whatever commits when, and whoever seals.

use std::ops::RangeInclusive;
use std::time::Duration;

use database::{Database, Tx};
use diesel::sql_query;
use diesel_async::RunQueryDsl;
use payments::Sealer;
use serde_json::{Value, json};
use testkit::eventually;
use tokio::task::JoinSet;

use crate::stage::Stage;

/// The payment of this number.
pub(crate) fn payment(n: usize) -> String {
    format!("00000000-0000-0000-0000-{n:012}")
}

impl Stage {
    /// Payments without an order, captured and not posted yet, by these numbers.
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

    /// Posts the captures of these numbers, in a transaction that is left open.
    async fn posting(&self, numbers: RangeInclusive<usize>) -> Tx {
        let mut tx = self.database.begin().await.unwrap();
        post(&mut tx, numbers).await;
        tx
    }

    /// Posts them for good, each number in a transaction of its own.
    pub(crate) async fn post(&self, numbers: RangeInclusive<usize>) {
        for n in numbers {
            self.posting(n..=n).await.commit().await.unwrap();
        }
    }

    fn sealer(&self) -> Sealer {
        Sealer::new(self.database.second_instance())
    }

    /// Seals until so many transactions are in the chain. Others use the same server: while one of them has an older
    /// transaction open, the chain waits.
    pub(crate) async fn sealed(&self, transactions: i64) {
        let sealer = Sealer::new(Database::clone(&self.database));
        eventually("the chain", async || {
            // A server that is busy with other tests may let it wait.
            let _ = sealer.round().await;
            (self.count("SELECT position AS count FROM ledger_head").await == transactions).then_some(())
        })
        .await;
    }

    /// The payments in the chain, by number.
    async fn chain(&self) -> Vec<String> {
        self.texts(
            "SELECT right(payment_id::text, 4) FROM ledger_seal
               JOIN ledger_transaction ON id = transaction_id ORDER BY position",
        )
        .await
    }

    /// What the audit says about the chain, which it computes by itself.
    pub(crate) async fn audited_chain(&self) -> Vec<String> {
        let audit = include_str!("../../../../audits/payments/the_ledger_is_sealed.sql");
        self.texts(audit.trim().trim_end_matches(';')).await
    }

    /// The heads that were told, in order.
    async fn heads(&self) -> Vec<Value> {
        let told = self
            .texts(
                "SELECT json_build_array(sequence, topic, tenant_id, convert_from(payload, 'UTF8')::json)::text
                   FROM outbox_event WHERE type = 'payments.LedgerSealed.v1' ORDER BY id",
            )
            .await;
        told.iter().map(|text| serde_json::from_str(text).unwrap()).collect()
    }
}

async fn post(tx: &mut Tx, numbers: RangeInclusive<usize>) {
    for n in numbers {
        let sql = format!(
            "WITH posted AS (INSERT INTO ledger_transaction (tenant_id, kind, cause, payment_id)
                             VALUES ('acme', 'capture', '{0}', '{0}') RETURNING id)
             INSERT INTO ledger_entry (transaction_id, line, tenant_id, account, currency, amount)
             SELECT posted.id, line, 'acme', account, 'EUR', amount
               FROM posted, (VALUES (1, 'receivable', 450), (2, 'revenue', -450)) AS entry (line, account, amount)",
            payment(n)
        );
        sql_query(sql).execute(tx).await.unwrap();
    }
}

#[tokio::test]
async fn what_commits_late_with_a_smaller_id_is_neither_skipped_nor_sealed_twice() {
    let stage = Stage::new().await;
    stage.numbered(1..=3).await;
    let sealer = stage.sealer();
    let late = stage.posting(1..=1).await;
    stage.post(2..=2).await;
    // The second is committed, but the first may still come before it.
    assert_eq!(sealer.round().await.unwrap(), 0);
    late.commit().await.unwrap();
    stage.sealed(2).await;
    assert_eq!(stage.chain().await, ["0001", "0002"], "within a range by id");
    stage.post(3..=3).await;
    stage.sealed(3).await;
    assert_eq!(sealer.round().await.unwrap(), 0);
    assert_eq!(stage.chain().await, ["0001", "0002", "0003"]);
    assert_eq!(stage.audited_chain().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_transaction_that_began_later_and_took_a_smaller_id_is_sealed_when_it_commits() {
    let stage = Stage::new().await;
    stage.numbered(1..=2).await;
    // It has its number before the other one begins, and posts after it: the ids are the other way round.
    let mut old = stage.database.begin().await.unwrap();
    sql_query("SELECT pg_current_xact_id()").execute(&mut old).await.unwrap();
    let young = stage.posting(1..=1).await;
    post(&mut old, 2..=2).await;
    old.commit().await.unwrap();
    stage.sealed(1).await;
    assert_eq!(stage.chain().await, ["0002"], "who is still open has a larger number: nothing holds it back");
    young.commit().await.unwrap();
    stage.sealed(2).await;
    assert_eq!(stage.chain().await, ["0002", "0001"]);
    assert_eq!(stage.audited_chain().await, Vec::<String>::new());
}

#[tokio::test]
async fn any_number_of_sealers_make_one_chain_and_each_round_tells_its_head_once() {
    const POSTINGS: usize = 120;
    let stage = Stage::new().await;
    stage.numbered(1..=POSTINGS + 1_000).await;
    let mut sealing = JoinSet::new();
    let done = tokio_util::sync::CancellationToken::new();
    for _ in 0..4 {
        let (sealer, done) = (stage.sealer(), done.clone());
        sealing.spawn(async move {
            while !done.is_cancelled() {
                sealer.round().await.unwrap();
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        });
    }
    stage.post(1..=POSTINGS).await;
    // Two large transactions, more than one round takes.
    stage.posting(POSTINGS + 1..=POSTINGS + 600).await.commit().await.unwrap();
    stage.posting(POSTINGS + 601..=POSTINGS + 1_000).await.commit().await.unwrap();
    let all = i64::try_from(POSTINGS + 1_000).unwrap();
    stage.sealed(all).await;
    done.cancel();
    sealing.join_all().await;
    assert_eq!(stage.count("SELECT count(*) FROM ledger_seal").await, all);
    assert_eq!(stage.count("SELECT count(DISTINCT transaction_id) FROM ledger_seal").await, all);
    assert_eq!(stage.audited_chain().await, Vec::<String>::new());

    let heads = stage.heads().await;
    let mut position = 0;
    for (sequence, head) in (1..).zip(&heads) {
        position += head[3]["transactions"].as_i64().unwrap();
        let hash = format!("SELECT encode(hash, 'hex') FROM ledger_seal WHERE position = {position}");
        assert_eq!(head[0], json!(sequence));
        assert_eq!((&head[1], &head[2]), (&json!("payments.ledger"), &json!("unknown")));
        assert_eq!(
            (&head[3]["position"], &head[3]["hash"]),
            (&json!(position), &json!(stage.text(&hash).await))
        );
    }
    assert_eq!(position, all);
    assert_eq!(
        stage.count("SELECT sequence AS count FROM ledger_head").await,
        i64::try_from(heads.len()).unwrap()
    );
}

#[tokio::test]
async fn a_sealer_that_dies_on_the_way_leaves_no_trace_and_others_go_on() {
    let stage = Stage::new().await;
    stage.numbered(1..=2).await;
    stage.post(1..=2).await;
    // It gets as far as writing its seals, and no further.
    let mut barrier = stage.database.owner().await;
    for sql in ["BEGIN", "LOCK TABLE ledger_seal IN SHARE MODE"] {
        sql_query(sql).execute(&mut barrier).await.unwrap();
    }
    let waits = "SELECT count(*) FROM pg_locks WHERE relation = 'ledger_seal'::regclass AND NOT granted";
    let mut dying = JoinSet::new();
    let sealer = stage.sealer();
    dying.spawn(async move {
        loop {
            let _ = sealer.round().await;
        }
    });
    eventually("a sealer in the middle", async || (stage.count(waits).await == 1).then_some(())).await;
    // The others do not queue behind it.
    let other = stage.sealer();
    eventually("a round that leaves it alone", async || matches!(other.round().await, Ok(0)).then_some(()))
        .await;
    dying.abort_all();
    while dying.join_next().await.is_some() {}
    eventually("its connection to end", async || (stage.count(waits).await == 0).then_some(())).await;
    sql_query("COMMIT").execute(&mut barrier).await.unwrap();
    assert_eq!(stage.chain().await, Vec::<String>::new());
    assert_eq!(stage.heads().await, Vec::<Value>::new());

    stage.sealed(2).await;
    assert_eq!(stage.chain().await, ["0001", "0002"]);
    assert_eq!(stage.audited_chain().await, Vec::<String>::new());
}

#[tokio::test]
async fn with_nothing_to_seal_nothing_is_written() {
    let stage = Stage::new().await;
    stage.numbered(1..=1).await;
    stage.post(1..=1).await;
    stage.sealed(1).await;
    // Where a row stands, who wrote it, who has locked it since.
    let head = "SELECT format('%s %s %s', ctid, xmin, xmax) FROM ledger_head";
    let (before, told) = (stage.text(head).await, stage.heads().await);
    for _ in 0..5 {
        assert_eq!(stage.sealer().round().await.unwrap(), 0);
    }
    assert_eq!(stage.text(head).await, before);
    assert_eq!(stage.heads().await, told);
}
