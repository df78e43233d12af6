//! The plan of a statement: a table that grows is read by an index.

use diesel::sql_types::Text;
use diesel::{QueryableByName, sql_query};
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};

use crate::TestDatabase;

/// Tables with a fixed number of rows: one, or one for each day or partition.
const SMALL: [&str; 3] = ["outbox_cursor", "outbox_lease", "outbox_dropped_day"];

#[derive(QueryableByName)]
struct PlanLine {
    #[diesel(sql_type = Text)]
    #[diesel(column_name = "QUERY PLAN")]
    text: String,
}

/// Panics if the best plan of a statement with parameters of these types reads a table that grows from end to end. Sequential scans
/// are off, so that PostgreSQL uses an index wherever one fits, also on empty tables.
pub async fn assert_needs_no_scan(database: &TestDatabase, statement: &str, types: &str) {
    let mut owner = database.owner().await;
    let nulls: Vec<&str> = types.split(", ").map(|_| "NULL").collect();
    // A generic plan does not depend on the values, which are NULL here.
    let prepare = format!(
        "SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan; PREPARE question ({types}) AS {statement}"
    );
    owner.batch_execute(&prepare).await.unwrap();
    let explained = format!("EXPLAIN EXECUTE question ({})", nulls.join(", "));
    let plan: Vec<PlanLine> = sql_query(explained).load(&mut owner).await.unwrap();
    let plan: Vec<String> = plan.into_iter().map(|line| line.text).collect();
    let is_small = |line: &&String| SMALL.iter().any(|table| line.contains(&format!("Seq Scan on {table}")));
    let scan = plan.iter().filter(|line| line.contains("Seq Scan on ")).find(|line| !is_small(line));
    assert!(scan.is_none(), "{scan:?} in the plan of\n{statement}\n{}", plan.join("\n"));
}
