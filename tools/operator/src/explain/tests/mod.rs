//! Each question of `explain` is answered by an index, however long its tables are.

use diesel::sql_types::Text;
use diesel::{QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use diesel_migrations::{EmbeddedMigrations, embed_migrations};
use testkit::TestDatabase;

use super::inventory::{MovementRow, ReservationRow};
use super::messages::{EnteredRow, EventRow, RelayRow, WaitingRow};
use super::orders::{OrderRow, TimelineRow};
use super::payments::{CallRow, EntryRow, PaymentRow, RefundRow, ReviewRow};
use super::provider::{ChargeRow, ProviderRefundRow};
use super::requests::RequestRow;

const ORDERS: EmbeddedMigrations = embed_migrations!("../../migrations/orders");
const INVENTORY: EmbeddedMigrations = embed_migrations!("../../migrations/inventory");
const PAYMENTS: EmbeddedMigrations = embed_migrations!("../../migrations/payments");
const PROVIDER: EmbeddedMigrations = embed_migrations!("../stripe-sim/migrations");

/// A question, and the types of its parameters.
type Question = (&'static str, &'static str);

/// Asked of each service.
const SERVICE: [Question; 5] = [
    (RequestRow::QUERY, "uuid[]"),
    (EventRow::QUERY, "uuid[], timestamptz[], timestamptz[]"),
    (EnteredRow::QUERY, "uuid[], text"),
    (WaitingRow::QUERY, "uuid[], text"),
    (RelayRow::QUERY, ""),
];

/// Tables with a fixed number of rows: one, or one for each day or partition.
const SMALL: [&str; 3] = ["outbox_cursor", "outbox_lease", "outbox_dropped_day"];

#[derive(QueryableByName)]
struct PlanLine {
    #[diesel(sql_type = Text)]
    #[diesel(column_name = "QUERY PLAN")]
    text: String,
}

/// Panics if the best plan of a question reads a table from end to end. Sequential scans are off, so that PostgreSQL uses an index
/// wherever one fits, also on empty tables.
async fn needs_no_scan(owner: &mut AsyncPgConnection, (query, types): Question) {
    let parameters = if types.is_empty() { String::new() } else { format!("({types})") };
    let nulls: Vec<&str> = types.split(", ").filter(|it| !it.is_empty()).map(|_| "NULL").collect();
    let arguments = if types.is_empty() { String::new() } else { format!("({})", nulls.join(", ")) };
    // A generic plan does not depend on the values, which are NULL here.
    let prepare = format!(
        "SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan; DEALLOCATE ALL; PREPARE question {parameters} AS {query}"
    );
    owner.batch_execute(&prepare).await.unwrap();
    let plan: Vec<PlanLine> =
        sql_query(format!("EXPLAIN EXECUTE question {arguments}")).load(owner).await.unwrap();
    let plan: Vec<String> = plan.into_iter().map(|line| line.text).collect();
    let is_small = |line: &&String| SMALL.iter().any(|table| line.contains(&format!("Seq Scan on {table}")));
    let scan = plan.iter().filter(|line| line.contains("Seq Scan on ")).find(|line| !is_small(line));
    assert!(scan.is_none(), "{scan:?} in the plan of\n{query}\n{}", plan.join("\n"));
}

async fn need_no_scan(migrations: EmbeddedMigrations, own: &[Question], service: &[Question]) {
    let database = TestDatabase::with(vec![migrations]).await;
    let mut owner = database.owner().await;
    for question in own.iter().chain(service) {
        needs_no_scan(&mut owner, *question).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_question_about_an_order_reads_a_growing_table_from_end_to_end() {
    need_no_scan(ORDERS, &[(OrderRow::QUERY, "uuid"), (TimelineRow::QUERY, "uuid")], &SERVICE).await;
    need_no_scan(INVENTORY, &[(ReservationRow::QUERY, "uuid"), (MovementRow::QUERY, "uuid")], &SERVICE).await;
    let own = [
        (PaymentRow::QUERY, "uuid"),
        (CallRow::QUERY, "uuid[]"),
        (RefundRow::QUERY, "uuid"),
        (EntryRow::QUERY, "uuid"),
        (ReviewRow::QUERY, "text[]"),
    ];
    need_no_scan(PAYMENTS, &own, &SERVICE).await;
    need_no_scan(PROVIDER, &[(ChargeRow::QUERY, "text"), (ProviderRefundRow::QUERY, "text")], &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
#[should_panic(expected = "Seq Scan on audit_fact")]
async fn a_question_without_an_index_is_found() {
    let question = ("SELECT id FROM audit_fact WHERE subject_id = $1", "text");
    need_no_scan(ORDERS, &[question], &[]).await;
}
