//! The statement of `explain` about these books.

use chrono::{DateTime, TimeDelta, Utc};
use diesel::sql_types::{Nullable, Text, Timestamptz};
use diesel::{QueryableByName, sql_query};
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use diesel_migrations::{EmbeddedMigrations, embed_migrations};
use testkit::{TestDatabase, assert_needs_no_scan};

const MIGRATIONS: EmbeddedMigrations = embed_migrations!("migrations");

/// A line of the page, by its time.
#[derive(QueryableByName)]
struct Line {
    #[diesel(sql_type = Nullable<Timestamptz>)]
    at: Option<DateTime<Utc>>,
}

fn statement() -> &'static str {
    services::BESIDE.iter().find(|program| program.program == "stripe-sim").unwrap().explain
}

#[tokio::test(flavor = "multi_thread")]
async fn no_question_about_an_order_reads_a_growing_table_from_end_to_end() {
    let database = TestDatabase::with(vec![MIGRATIONS]).await;
    assert_needs_no_scan(&database, statement(), "text, timestamptz, timestamptz").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_of_the_processor_is_not_before_the_attempt_that_can_have_created_its_object() {
    let database = TestDatabase::with(vec![MIGRATIONS]).await;
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
        let query = sql_query(statement())
            .bind::<Text, _>(&intent)
            .bind::<Timestamptz, _>(at(first))
            .bind::<Timestamptz, _>(at(last));
        let lines: Vec<Line> = query.load(&mut owner).await.unwrap();
        let times: Vec<Option<DateTime<Utc>>> = lines.iter().map(|line| line.at).collect();
        assert_eq!(times, [Some(at(expected))], "{why}");
    }
}
