#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]

use audit::{Fact, Operator, record};
use database::Tx;
use diesel::sql_types::BigInt;
use diesel_async::RunQueryDsl;
use envelope::{Caller, OperationId};
use testkit::TestDatabase;

fn fact(operation: OperationId) -> Fact {
    let caller = Caller { tenant: "acme".parse().unwrap(), client: "shop".parse().unwrap() };
    Fact::new(&caller, operation, "order.place", "order", "42").with(serde_json::json!({"total": 900}))
}

async fn facts(database: &TestDatabase) -> i64 {
    #[derive(diesel::QueryableByName)]
    struct Count {
        #[diesel(sql_type = BigInt)]
        count: i64,
    }
    let mut owner = database.owner().await;
    let sql = "SELECT count(*) FROM audit_fact WHERE tenant_id = 'acme' AND actor = 'shop' AND details ->> 'total' = '900'";
    let counted: Count = diesel::sql_query(sql).get_result(&mut owner).await.unwrap();
    counted.count
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fact_exists_if_and_only_if_its_transaction_does() {
    let database = TestDatabase::plain().await;
    let begin = async || -> Tx { database.begin().await.unwrap() };
    let mut undone = begin().await;
    record(&mut undone, fact(OperationId::generate()));
    undone.rollback().await.unwrap();
    assert_eq!(facts(&database).await, 0);
    let mut done = begin().await;
    record(&mut done, fact(OperationId::generate()));
    done.commit().await.unwrap();
    assert_eq!(facts(&database).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_has_one_fact() {
    let database = TestDatabase::plain().await;
    let operation = OperationId::generate();
    for first in [true, false] {
        let mut tx = database.begin().await.unwrap();
        record(&mut tx, fact(operation));
        let done = tx.commit().await;
        assert_eq!(done.is_ok(), first, "{done:?}");
    }
    assert_eq!(facts(&database).await, 1);
}

#[derive(diesel::QueryableByName)]
struct Row {
    #[diesel(sql_type = diesel::sql_types::Text)]
    line: String,
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operators_fact_says_who_and_why() {
    let operator = Operator::new("kim".parse().unwrap(), "a bug");
    let database = TestDatabase::plain().await;
    let mut tx = database.begin().await.unwrap();
    for tenant in [Some("acme".parse().unwrap()), None] {
        let fact = Fact::by_operator(&operator, tenant.as_ref(), "inbox.discard", "message", 7);
        record(&mut tx, fact.with(serde_json::json!({"offset": 1})));
    }
    tx.commit().await.unwrap();
    let sql = "SELECT concat_ws(' ', tenant_id, actor, action, details ->> 'reason', details ->> 'offset') AS line \
               FROM audit_fact ORDER BY tenant_id COLLATE \"C\"";
    let rows: Vec<Row> = diesel::sql_query(sql).load(&mut database.owner().await).await.unwrap();
    let lines: Vec<String> = rows.into_iter().map(|row| row.line).collect();
    let fact = "@operator:kim inbox.discard a bug 1";
    assert_eq!(lines, [format!("@system {fact}"), format!("acme {fact}")]);
}
