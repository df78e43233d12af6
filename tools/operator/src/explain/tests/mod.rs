//! The statements of `explain`: each is answered by an index, however long its tables are.

use audits::{Database, explain};
use chrono::{DateTime, TimeDelta, Utc};
use diesel::sql_types::{Text, Timestamptz};
use diesel::{QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use diesel_migrations::{EmbeddedMigrations, embed_migrations};
use testkit::TestDatabase;

use super::fact::Fact;

const ORDERS: EmbeddedMigrations = embed_migrations!("../../migrations/orders");
const INVENTORY: EmbeddedMigrations = embed_migrations!("../../migrations/inventory");
const PAYMENTS: EmbeddedMigrations = embed_migrations!("../../migrations/payments");
const PROVIDER: EmbeddedMigrations = embed_migrations!("../stripe-sim/migrations");

fn migrations(database: Database) -> EmbeddedMigrations {
    match database.name() {
        "orders" => ORDERS,
        "inventory" => INVENTORY,
        "payments" => PAYMENTS,
        "provider" => PROVIDER,
        other => panic!("the migrations of {other} are not embedded here"),
    }
}

/// A statement, and the types of its parameters.
type Statement = (&'static str, &'static str);

/// Asked of each service.
const SERVICE: [Statement; 3] = [
    (explain::REQUESTS, "uuid[], timestamptz[]"),
    (explain::INBOX, "uuid[], text"),
    (explain::OUTBOX, "uuid[], timestamptz[], text, bigint"),
];

/// Tables with a fixed number of rows: one, or one for each day or partition.
const SMALL: [&str; 3] = ["outbox_cursor", "outbox_lease", "outbox_dropped_day"];

#[derive(QueryableByName)]
struct PlanLine {
    #[diesel(sql_type = Text)]
    #[diesel(column_name = "QUERY PLAN")]
    text: String,
}

/// Panics if the best plan of a statement reads a table from end to end. Sequential scans are off, so that PostgreSQL uses an index
/// wherever one fits, also on empty tables.
async fn needs_no_scan(owner: &mut AsyncPgConnection, (query, types): Statement) {
    let nulls: Vec<&str> = types.split(", ").map(|_| "NULL").collect();
    // A generic plan does not depend on the values, which are NULL here.
    let prepare = format!(
        "SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan; DEALLOCATE ALL; PREPARE question ({types}) AS {query}"
    );
    owner.batch_execute(&prepare).await.unwrap();
    let explained = format!("EXPLAIN EXECUTE question ({})", nulls.join(", "));
    let plan: Vec<PlanLine> = sql_query(explained).load(owner).await.unwrap();
    let plan: Vec<String> = plan.into_iter().map(|line| line.text).collect();
    let is_small = |line: &&String| SMALL.iter().any(|table| line.contains(&format!("Seq Scan on {table}")));
    let scan = plan.iter().filter(|line| line.contains("Seq Scan on ")).find(|line| !is_small(line));
    assert!(scan.is_none(), "{scan:?} in the plan of\n{query}\n{}", plan.join("\n"));
}

async fn need_no_scan(database: Database, statements: &[Statement]) {
    let database = TestDatabase::with(vec![migrations(database)]).await;
    let mut owner = database.owner().await;
    for statement in statements {
        needs_no_scan(&mut owner, *statement).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_question_about_an_order_reads_a_growing_table_from_end_to_end() {
    for service in Database::services() {
        need_no_scan(service, &[(service.explain(), "uuid")]).await;
        need_no_scan(service, &SERVICE).await;
    }
    need_no_scan(Database::PROVIDER, &[(Database::PROVIDER.explain(), "text, timestamptz, timestamptz")])
        .await;
}

#[tokio::test(flavor = "multi_thread")]
#[should_panic(expected = "Seq Scan on audit_fact")]
async fn a_question_without_an_index_is_found() {
    need_no_scan(Database::ORDERS, &[("SELECT id FROM audit_fact WHERE subject_id = $1", "text")]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_of_the_processor_is_not_before_the_attempt_that_can_have_created_its_object() {
    let database = TestDatabase::with(vec![PROVIDER]).await;
    let mut owner = database.owner().await;
    let at = |milliseconds: i64| DateTime::UNIX_EPOCH + TimeDelta::milliseconds(milliseconds);
    for (first, last, created, expected, why) in [
        (1_400, 1_401, 1, 1_401, "the only attempt, its two times read one after the other"),
        (1_400, 9_000, 1, 1_400, "the second attempt came too late"),
        (1_400, 9_000, 9, 9_000, "the second attempt created it"),
        (1_400, 1_401, 2, 2_000, "the processor was slow"),
    ] {
        let intent = format!("pi_{first}_{last}_{created}");
        let planted = format!(
            "INSERT INTO payment_intent (id, amount, currency, status, metadata, created)
             VALUES ('{intent}', 900, 'eur', 'processing', '{{}}', {created})"
        );
        owner.batch_execute(&planted).await.unwrap();
        let query = sql_query(Database::PROVIDER.explain())
            .bind::<Text, _>(&intent)
            .bind::<Timestamptz, _>(at(first))
            .bind::<Timestamptz, _>(at(last));
        let facts: Vec<Fact> = query.load(&mut owner).await.unwrap();
        let times: Vec<Option<DateTime<Utc>>> = facts.iter().map(|fact| fact.at).collect();
        assert_eq!(times, [Some(at(expected))], "{why}");
    }
}
