//! The statements of `explain`: each is answered by an index, however long its tables are.

use audits::explain;
use testkit::{TestDatabase, assert_needs_no_scan};

/// The tests of a service, and of a program beside it, ask for the plan of its own statement.
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
}

#[tokio::test(flavor = "multi_thread")]
#[should_panic(expected = "Seq Scan on audit_fact")]
async fn a_question_without_an_index_is_found() {
    let question = "SELECT id FROM audit_fact WHERE subject_id = $1";
    assert_needs_no_scan(&TestDatabase::plain().await, question, "text").await;
}
