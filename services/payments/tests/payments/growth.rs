//! The rows that a request or a reconciliation reads, among many that it does not need.

use diesel::sql_query;
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use serde_json::json;
use testkit::eventually;

use crate::ledger::confirmed;
use crate::listing::{Listing, OURS};
use crate::reading::{get, get_from};
use crate::stage::{AMOUNT, Stage, TENANT};

/// The number of rows that are not needed.
const MANY: i64 = 20_000;

const BALANCES: &str = "/v1/ledger/balances";

/// Captured payments of last month, with their calls and postings, which are in the balances. Returns once PostgreSQL has
/// counted everything that this has read.
async fn fill(stage: &Stage) {
    let statements = format!(
        "CREATE TABLE made AS SELECT gen_random_uuid() AS id, now() - interval '30 days' AS at FROM generate_series(1, {MANY});
         INSERT INTO payment (id, tenant_id, amount, currency, payment_method, state, processor_intent, expires_at)
         SELECT id, 'acme', 7, 'EUR', 'pm_x', 'captured', 'pi_' || id, at FROM made;
         INSERT INTO processor_call (id, tenant_id, kind, payment_id, provider_key, request, attempt, sent_since,
                                     processor_object, due_at)
         SELECT id, 'acme', 'charge', id, id, '', 1, at, 'pi_' || id, NULL FROM made;
         ALTER TABLE ledger_entry DISABLE TRIGGER ledger_entry_balances;
         ALTER TABLE ledger_transaction DISABLE TRIGGER ledger_transaction_balances;
         INSERT INTO ledger_transaction (tenant_id, kind, cause, payment_id) SELECT 'acme', 'capture', id, id FROM made;
         INSERT INTO ledger_entry (transaction_id, line, tenant_id, account, currency, amount)
         SELECT id, line, 'acme', account, 'EUR', amount
           FROM ledger_transaction, (VALUES (1, 'receivable', 7), (2, 'revenue', -7)) AS side (line, account, amount);
         SELECT ledger_settle();
         SELECT ledger_fold({MANY});
         ANALYZE;
         CREATE TABLE counted (n int);
         INSERT INTO counted VALUES (1)"
    );
    stage.database.owner().await.batch_execute(&statements).await.unwrap();
    eventually("the counters of the session that filled the tables", async || {
        let counted = "SELECT n_tup_ins AS count FROM pg_stat_user_tables WHERE relname = 'counted'";
        (stage.count(counted).await == 1).then_some(())
    })
    .await;
}

impl Stage {
    /// Moves the mark of the balances by so many ledger transactions.
    async fn fold(&self, ids: i64) {
        self.database
            .owner()
            .await
            .batch_execute(&format!("SELECT ledger_settle(); SELECT ledger_fold({ids})"))
            .await
            .unwrap();
    }

    /// Returns the rows and index entries of these tables that ended sessions have read.
    async fn rows_read(&self, tables: &str) -> i64 {
        self.count(&format!(
            "SELECT ((SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = ANY ('{{{tables}}}'))
                   + (SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE relname = ANY ('{{{tables}}}')))::bigint AS count"
        ))
        .await
    }
}

#[actix_web::test]
async fn balances_are_the_same_wherever_the_mark_is() {
    let stage = Stage::new().await;
    let (kept, _open) = (stage.taken().await, stage.taken().await);
    stage.confirm(&confirmed(kept)).await.unwrap();
    let (status, balances) = get(&stage, TENANT, "payments:read", BALANCES).await;
    assert_eq!(status, 200);
    for marked in 1..=5 {
        stage.fold(1).await;
        assert_eq!(stage.count("SELECT folded_id AS count FROM ledger_mark").await, marked);
        assert_eq!(get(&stage, TENANT, "payments:read", BALANCES).await, (200, balances.clone()));
    }
    assert_eq!(get(&stage, "other", "payments:read", BALANCES).await, (200, json!({ "data": [] })));
}

#[tokio::test]
async fn the_mark_does_not_pass_a_posting_that_is_not_committed_yet() {
    let stage = Stage::new().await;
    let (order, later) = (stage.taken().await, stage.taken().await);
    let mut late = stage.database.begin().await.unwrap();
    payments::consumers::confirm(&mut late, &confirmed(order)).await.unwrap();
    late.flush().await.unwrap(); // draws the id
    stage.confirm(&confirmed(later)).await.unwrap(); // with a larger id
    let refused = stage.database.owner().await.batch_execute("SELECT ledger_settle()").await.unwrap_err();
    assert!(refused.to_string().contains("lock timeout"), "{refused}");
    assert_eq!(stage.count("SELECT settled_id AS count FROM ledger_mark").await, 0);
    late.commit().await.unwrap();
    stage.fold(100).await;
    let of_revenue = "SELECT credit AS count FROM ledger_balance WHERE account = 'revenue'";
    assert_eq!(stage.count(of_revenue).await, 2 * AMOUNT);
}

#[tokio::test]
async fn no_service_can_write_a_balance() {
    let stage = Stage::new().await;
    for sql in ["UPDATE ledger_mark SET folded_id = 0", "DELETE FROM ledger_balance"] {
        let mut tx = stage.database.begin().await.unwrap();
        let refused = sql_query(sql).execute(&mut tx).await.unwrap_err();
        assert!(refused.to_string().contains("permission denied"), "{sql}: {refused}");
    }
}

#[actix_web::test]
async fn balances_read_no_posting_before_the_mark() {
    let stage = Stage::new().await;
    fill(&stage).await;
    let tables = "ledger_entry,ledger_transaction,ledger_balance";
    let before = stage.rows_read(tables).await;
    let instance = stage.database.second_instance(); // its sessions end with it, and report their counters
    let (status, body) = get_from(instance, &stage, TENANT, "payments:read", BALANCES).await;
    assert_eq!((status, &body["data"][0]["debit"]), (200, &json!(7 * MANY)), "{body}");
    let read = eventually("the counters of the request", async || {
        Some(stage.rows_read(tables).await - before).filter(|read| *read > 0)
    })
    .await;
    assert!(read < 100, "{read} rows were read");
}

#[tokio::test]
async fn a_reconciliation_reads_only_the_records_of_its_period() {
    let (stage, listing) = (Stage::new().await, Listing::start().await);
    fill(&stage).await;
    let order = stage.captured("pi_1").await;
    listing.took("pi_1", &order.payment.to_string(), OURS, AMOUNT);
    let tables = "payment,processor_call,refund";
    let before = stage.rows_read(tables).await;
    let (code, report) = listing.reconcile(&stage).await; // the end of its process reports its counters
    assert_eq!((code, &report["counts"]["charges"]["matched"]), (0, &json!(1)), "{report}");
    let read = eventually("the counters of the reconciliation", async || {
        Some(stage.rows_read(tables).await - before).filter(|read| *read > 0)
    })
    .await;
    assert!(read < 200, "{read} rows were read");
}
