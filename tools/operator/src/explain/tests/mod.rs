//! The statements of `explain`: each is answered by an index, however long its tables are.

use audits::{Database, explain};
use chrono::{DateTime, TimeDelta, Utc};
use diesel::sql_query;
use diesel::sql_types::{Text, Timestamptz};
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use diesel_migrations::{EmbeddedMigrations, embed_migrations};
use testkit::{TestDatabase, assert_needs_no_scan};

use super::fact::Fact;

const PROVIDER: EmbeddedMigrations = embed_migrations!("../stripe-sim/migrations");

/// The tests of a service ask for the plan of its own statement.
#[tokio::test(flavor = "multi_thread")]
async fn no_question_about_an_order_reads_a_growing_table_from_end_to_end() {
    let database = TestDatabase::plain().await;
    for (statement, types) in [
        (explain::REQUESTS, "uuid[], timestamptz[]"),
        (explain::INBOX, "uuid[], text"),
        (explain::OUTBOX, "uuid[], timestamptz[], text, bigint"),
    ] {
        assert_needs_no_scan(&database, statement, types).await;
    }
    let provider = TestDatabase::with(vec![PROVIDER]).await;
    assert_needs_no_scan(&provider, Database::of("provider").explain(), "text, timestamptz, timestamptz")
        .await;
}

#[tokio::test(flavor = "multi_thread")]
#[should_panic(expected = "Seq Scan on audit_fact")]
async fn a_question_without_an_index_is_found() {
    let question = "SELECT id FROM audit_fact WHERE subject_id = $1";
    assert_needs_no_scan(&TestDatabase::plain().await, question, "text").await;
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
        let query = sql_query(Database::of("provider").explain())
            .bind::<Text, _>(&intent)
            .bind::<Timestamptz, _>(at(first))
            .bind::<Timestamptz, _>(at(last));
        let facts: Vec<Fact> = query.load(&mut owner).await.unwrap();
        let times: Vec<Option<DateTime<Utc>>> = facts.iter().map(|fact| fact.at).collect();
        assert_eq!(times, [Some(at(expected))], "{why}");
    }
}
