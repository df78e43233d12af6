//! The postings of each movement of money, and the writes that the database refuses.

use contracts::PaymentId;
use contracts::events::OrderConfirmed;
use database::{Database, Error};
use diesel::sql_query;
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use envelope::Message;
use inbox::HandlerError;
use payments::consumers;
use serde_json::json;

use crate::ledger_audits::payment;
use crate::reading::get;
use crate::stage::{AMOUNT, Order, Stage, TENANT, VISA, brisk, message};

pub(crate) fn confirmed(order: Order) -> Message<OrderConfirmed> {
    message(OrderConfirmed { order: order.order, payment: order.payment })
}

impl Stage {
    /// Handles the confirmation of an order.
    pub(crate) async fn confirm(&self, confirmed: &Message<OrderConfirmed>) -> Result<(), HandlerError> {
        let mut tx = self.database.begin().await?;
        consumers::confirm(&mut tx, confirmed).await?;
        Ok(tx.commit().await?)
    }

    /// Returns the postings of a payment in order, each as `kind: debit > credit amount`.
    pub(crate) async fn posted(&self, payment: PaymentId) -> Vec<String> {
        let sql = format!(
            "SELECT format('%s: %s > %s %s', kind, debit.account, credit.account, debit.amount)
               FROM ledger_transaction AS posted
               JOIN ledger_entry AS debit ON debit.transaction_id = posted.id AND debit.amount > 0
               JOIN ledger_entry AS credit ON credit.transaction_id = posted.id AND credit.amount = -debit.amount
              WHERE payment_id = '{payment}' AND debit.currency = credit.currency
              ORDER BY posted.id"
        );
        self.texts(&sql).await
    }

    /// A captured payment with no call due.
    pub(crate) async fn taken(&self) -> Order {
        let order = self.request(VISA).await;
        let worker = self.worker(brisk());
        self.becomes(order, "captured").await;
        worker.stop().await;
        order
    }
}

#[tokio::test]
async fn a_capture_stays_in_clearing_until_its_order_is_confirmed() {
    let stage = Stage::new().await;
    let order = stage.taken().await;
    let taken = ["capture: receivable > clearing 1999", "fee: fees > receivable 19"];
    assert_eq!(stage.posted(order.payment).await, taken);
    for _ in 0..3 {
        stage.confirm(&confirmed(order)).await.unwrap();
    }
    let [capture, fee] = taken;
    assert_eq!(stage.posted(order.payment).await, [capture, fee, "confirmation: clearing > revenue 1999"]);
    let earned = "SELECT format('%s of %s for %s', kind, tenant_id, cause) FROM ledger_transaction WHERE kind = 'confirmation'";
    assert_eq!(stage.text(earned).await, format!("confirmation of acme for {}", order.order));
}

#[tokio::test]
async fn the_refund_of_a_cancelled_order_empties_clearing() {
    let stage = Stage::new().await;
    let order = stage.taken().await;
    stage.cancel(order).await;
    let taken = ["capture: receivable > clearing 1999", "fee: fees > receivable 19"];
    assert_eq!(stage.posted(order.payment).await, taken, "a refund is posted once it has succeeded");
    let worker = stage.worker(brisk());
    stage.is_at_rest().await;
    worker.stop().await;
    let [capture, fee] = taken;
    let all = [capture, fee, "refund: clearing > receivable 1999"];
    assert_eq!(stage.posted(order.payment).await, all);
    // `orders` never announces both ends. If it did, the message would be parked, and no revenue would be posted.
    assert!(matches!(stage.confirm(&confirmed(order)).await, Err(HandlerError::Refused(_))));
    assert_eq!(stage.posted(order.payment).await, all);
}

#[tokio::test]
async fn the_confirmation_of_an_uncaptured_payment_is_refused_and_posts_nothing() {
    let stage = Stage::new().await;
    let never_asked = Order::new();
    let declined = stage.request("pm_card_chargeDeclined").await;
    let worker = stage.worker(brisk());
    stage.becomes(declined, "declined").await;
    worker.stop().await;
    let captured = stage.taken().await;
    let not_asked_yet = stage.request(VISA).await;
    let another_payment = Order { payment: declined.payment, ..captured };
    for order in [never_asked, declined, not_asked_yet, another_payment] {
        let result = stage.confirm(&confirmed(order)).await;
        assert!(matches!(result, Err(HandlerError::Refused(_))), "{order:?}: {result:?}");
    }
    let mut another_tenants = confirmed(captured);
    another_tenants.envelope.tenant = "other".parse().unwrap();
    assert!(matches!(stage.confirm(&another_tenants).await, Err(HandlerError::Refused(_))));
    assert_eq!(stage.count("SELECT count(*) FROM payment WHERE confirmed").await, 0);
    assert_eq!(stage.count("SELECT count(*) FROM ledger_transaction WHERE kind <> 'fee'").await, 1);
}

/// The statements for a posting of the first numbered payment with these entries.
fn by_hand(entries: &str) -> String {
    format!(
        "WITH posted AS (INSERT INTO ledger_transaction (tenant_id, kind, cause, payment_id)
                         VALUES ('acme', 'fee', 'txn_by_hand', '{}') RETURNING id)
         INSERT INTO ledger_entry (transaction_id, line, tenant_id, account, currency, amount)
         SELECT posted.id, line, 'acme', account, currency, amount
           FROM posted, (VALUES {entries}) AS entry (line, account, currency, amount)",
        payment(1)
    )
}

/// Runs these statements as the service in one transaction. Returns PostgreSQL's error.
async fn says(database: &Database, statements: &[String]) -> Result<(), Error> {
    let mut tx = database.begin().await?;
    for sql in statements {
        sql_query(sql).execute(&mut tx).await?;
    }
    tx.commit().await
}

#[tokio::test]
async fn the_database_refuses_a_statement_after_which_a_transaction_does_not_sum_to_zero() {
    let stage = Stage::new().await;
    stage.numbered(1..=1).await;
    let immediately = "SET CONSTRAINTS ALL IMMEDIATE".to_owned();
    let late = "INSERT INTO ledger_entry (transaction_id, line, tenant_id, account, currency, amount)
                SELECT max(id), 3, 'acme', 'fees', 'EUR', 7 FROM ledger_transaction"
        .to_owned();
    let sound = by_hand("(1, 'fees', 'EUR', 30), (2, 'receivable', 'EUR', -30)");
    let refused = [
        vec![by_hand("(1, 'fees', 'EUR', 30)")],
        vec![by_hand("(1, 'fees', 'EUR', 30), (2, 'receivable', 'EUR', -29)")],
        vec![by_hand("(1, 'fees', 'EUR', 30), (2, 'receivable', 'USD', -30)")],
        vec![format!(
            "INSERT INTO ledger_transaction (tenant_id, kind, cause, payment_id) VALUES ('acme', 'fee', 'x', '{}')",
            payment(1)
        )],
        vec![sound.clone(), late.clone()],
        // A check of all constraints before does not replace the check of the later statement.
        vec![sound.clone(), immediately.clone(), late.clone()],
    ];
    for statements in refused {
        let result = says(&stage.database, &statements).await;
        assert!(
            matches!(&result, Err(error) if error.is_constraint("ledger_transaction_balances")),
            "{statements:?}: {result:?}"
        );
    }
    assert_eq!(stage.count("SELECT count(*) FROM ledger_entry").await, 0);

    says(&stage.database, &[sound]).await.unwrap();
    let pair = "INSERT INTO ledger_entry (transaction_id, line, tenant_id, account, currency, amount)
                SELECT max(id), line, 'acme', 'fees', 'EUR', amount
                  FROM ledger_transaction, (VALUES (3, 7), (4, -7)) AS entry (line, amount) GROUP BY line, amount";
    let result = says(&stage.database, &[pair.to_owned()]).await;
    assert!(
        matches!(&result, Err(error) if error.is_constraint("ledger_transaction_is_closed")),
        "{result:?}"
    );
}

#[tokio::test]
async fn no_row_of_the_ledger_can_be_changed_removed_or_dated_back() {
    let stage = Stage::new().await;
    let order = stage.taken().await;
    let mut forbidden = Vec::new();
    for (table, column) in [
        ("ledger_transaction", "cause = 'x'"),
        ("ledger_transaction", "xid = '1'"),
        ("ledger_entry", "amount = 1"),
    ] {
        forbidden.push(format!("UPDATE {table} SET {column}"));
        forbidden.push(format!("DELETE FROM {table}"));
        forbidden.push(format!("TRUNCATE {table} CASCADE"));
    }
    for (column, value) in [("xid", "'1'"), ("recorded_at", "'2020-01-01'"), ("id", "1")] {
        forbidden.push(format!(
            "INSERT INTO ledger_transaction (tenant_id, kind, cause, payment_id, {column})
             OVERRIDING SYSTEM VALUE VALUES ('acme', 'fee', 'x', '{}', {value})",
            order.payment
        ));
    }
    forbidden.push("ALTER TABLE ledger_entry DISABLE TRIGGER ALL".to_owned());
    for sql in forbidden {
        let refusal = says(&stage.database, std::slice::from_ref(&sql)).await.unwrap_err().to_string();
        assert!(
            refusal.contains("permission denied") || refusal.contains("must be owner"),
            "{sql}: {refusal}"
        );
    }
}

#[tokio::test]
async fn a_cause_is_posted_once() {
    let stage = Stage::new().await;
    stage.numbered(1..=1).await;
    let fee = |cause: &str| {
        by_hand("(1, 'fees', 'EUR', 30), (2, 'receivable', 'EUR', -30)").replace("txn_by_hand", cause)
    };
    says(&stage.database, &[fee("txn_1")]).await.unwrap();
    let again = says(&stage.database, &[fee("txn_1")]).await;
    assert!(matches!(&again, Err(Error::Constraint { .. })), "{again:?}");
    let another = says(&stage.database, &[fee("txn_2")]).await;
    assert!(matches!(&another, Err(error) if error.is_constraint("ledger_transaction_once")), "{another:?}");
}

#[actix_web::test]
async fn balances_are_the_tenants_own_and_sum_to_zero() {
    let stage = Stage::new().await;
    let (kept, _open) = (stage.taken().await, stage.taken().await);
    stage.confirm(&confirmed(kept)).await.unwrap();
    let path = "/v1/ledger/balances";
    let (status, body) = get(&stage, TENANT, "payments:read", path).await;
    let on = |account: &str, debit: i64, credit: i64| json!({ "account": account, "currency": "EUR", "debit": debit, "credit": credit, "balance": debit - credit });
    let balances = json!({ "data": [
        on("clearing", AMOUNT, 2 * AMOUNT),
        on("fees", 2 * 19, 0),
        on("receivable", 2 * AMOUNT, 2 * 19),
        on("revenue", 0, AMOUNT),
    ] });
    assert_eq!((status, &body), (200, &balances));
    let sum: i64 = body["data"].as_array().unwrap().iter().map(|it| it["balance"].as_i64().unwrap()).sum();
    assert_eq!(sum, 0);

    let strangers = get(&stage, "other", "payments:read", path).await;
    assert_eq!(strangers, (200, json!({ "data": [] })));
    assert_eq!(get(&stage, TENANT, "orders:read", path).await.0, 403);
}

#[tokio::test]
async fn the_migration_posts_payments_from_before_the_ledger() {
    let stage = Stage::new().await;
    let (open, kept, returned) = (stage.taken().await, stage.taken().await, stage.taken().await);
    stage.cancel(returned).await;
    let worker = stage.worker(brisk());
    stage.is_at_rest().await;
    worker.stop().await;
    // The third message of an order announces its end. Before the ledger existed, a confirmation was consumed and ignored.
    for (order, sequence) in [(open, 2), (kept, 3), (returned, 3)] {
        stage
            .meddle(&format!(
                "INSERT INTO inbox_sequence (consumer, source, aggregate_id, last_sequence)
                 VALUES ('payments', 'orders', '{}', {sequence})",
                order.order
            ))
            .await;
    }
    let mut owner = stage.database.owner().await;
    for migration in [
        include_str!("../../../../migrations/payments/2026-11-21-100305_ledger/down.sql"),
        include_str!("../../../../migrations/payments/2026-11-21-100305_ledger/up.sql"),
    ] {
        owner.batch_execute(&format!("BEGIN; {migration} COMMIT;")).await.unwrap();
    }
    let capture = format!("capture: receivable > clearing {AMOUNT}");
    let confirmation = format!("confirmation: clearing > revenue {AMOUNT}");
    let refund = format!("refund: clearing > receivable {AMOUNT}");
    assert_eq!(stage.posted(open.payment).await, std::slice::from_ref(&capture));
    assert_eq!(stage.posted(kept.payment).await, [capture.clone(), confirmation.clone()]);
    assert_eq!(stage.posted(returned.payment).await, [capture.clone(), refund]);
    // A message that was in flight during the migration is applied as usual.
    stage.confirm(&confirmed(open)).await.unwrap();
    stage.confirm(&confirmed(kept)).await.unwrap();
    assert_eq!(stage.posted(open.payment).await, [capture.clone(), confirmation.clone()]);
    assert_eq!(stage.posted(kept.payment).await, [capture, confirmation]);
}
