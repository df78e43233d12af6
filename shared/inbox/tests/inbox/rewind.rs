//! Rewind: the consumer reads its topics again.

use contracts::{OrderId, streams};
use diesel_async::SimpleAsyncConnection;
use messaging::admin;
use serde_json::json;
use testkit::{TestDatabase, TestTopics, eventually};

use crate::common::{
    CONSUMER, Operator, confirmed, database, effects, facts, parked, publish, record, recording, run,
    wait_until_done,
};

/// Publishes twenty messages, and waits until all are consumed.
async fn consumed() -> (TestDatabase, TestTopics) {
    let (database, topics) = (database().await, TestTopics::create().await);
    let runner = run(&database, &topics, recording("one"));
    let records: Vec<_> =
        std::iter::repeat_with(|| record(&topics, 1, &confirmed(OrderId::generate()))).take(20).collect();
    publish(&topics, &records).await;
    wait_until_done(&topics).await;
    runner.stop().await;
    (database, topics)
}

async fn places(topics: &TestTopics) -> i64 {
    let (group, topic) = (topics.group(CONSUMER), topics.events(streams::ORDERS));
    let places = admin::committed_offsets(&topics.brokers(), &group, &topic).await.unwrap();
    places.into_values().flatten().sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rewound_consumer_reads_everything_again_and_nothing_happens_twice() {
    let (database, topics) = consumed().await;
    let operator = Operator::new(&database, &topics, recording("one"));
    let once = effects(&database).await;
    let (done, report) = operator.does("rewind --to-beginning --dry-run").await;
    assert!(done && report["rewound"] == false, "{report:#}");
    assert_eq!((places(&topics).await, facts(&database).await.len()), (20, 0));

    let (done, report) = operator.does("rewind --to-beginning --topic orders.events").await;
    assert!(done && report["rewound"] == true, "{report:#}");
    assert_eq!(places(&topics).await, 0);
    let written = facts(&database).await;
    assert_eq!((written[0].action.as_str(), written[0].tenant_id.as_str()), ("inbox.rewind", "@system"));
    assert_eq!(written[0].details["places"], report["places"]);

    let (done, report) = operator.does("rewind --to-beginning").await;
    assert!(done && report["rewound"] == false, "{report:#}");
    assert_eq!(facts(&database).await.len(), 1, "there was nothing to rewind");

    let runner = run(&database, &topics, recording("another"));
    wait_until_done(&topics).await;
    runner.stop().await;
    assert_eq!(effects(&database).await, once);
    assert!(parked(&database).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_is_rewound_to_a_moment_and_never_forward() {
    let (database, topics) = consumed().await;
    let operator = Operator::new(&database, &topics, recording("one"));
    let (done, report) = operator.does("rewind --since 2999-01-01T00:00:00Z").await;
    assert_eq!((done, &report["places"]), (true, &json!([])), "forward would skip messages");
    let (done, report) = operator.does("rewind --since 2000-01-01T00:00:00Z").await;
    assert!(done && report["rewound"] == true, "{report:#}");
    assert_eq!(places(&topics).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_that_runs_is_not_rewound() {
    let (database, topics) = consumed().await;
    let operator = Operator::new(&database, &topics, recording("one"));
    let runner = run(&database, &topics, recording("one"));
    let group = topics.group(CONSUMER);
    eventually("a member", async || {
        let members = admin::members(&topics.brokers(), &group).await.unwrap();
        (!members.is_empty()).then_some(())
    })
    .await;
    let (done, report) = operator.does("rewind --to-beginning").await;
    assert!(!done && report["rewound"] == false, "{report:#}");
    assert!(report["refused"].as_str().unwrap().contains("stop every instance"), "{report:#}");
    assert_eq!(report["members"].as_array().map(Vec::len), Some(1));
    assert_eq!((places(&topics).await, facts(&database).await.len()), (20, 0));
    runner.stop().await;
    let output = operator.types("rewind --to-beginning --topic coffee --by kim --reason x").await;
    assert!(!output.done && output.text.contains("does not read coffee"), "{}", output.text);
}

/// The database accepts the fact and refuses COMMIT, the last moment at which it can fail.
#[tokio::test(flavor = "multi_thread")]
async fn a_rewind_whose_fact_cannot_be_kept_moves_nothing() {
    let (database, topics) = consumed().await;
    let mut owner = database.owner().await;
    owner
        .batch_execute(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no facts today'; END $$; \
             CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON audit_fact DEFERRABLE INITIALLY DEFERRED \
             FOR EACH ROW EXECUTE FUNCTION refuse()",
        )
        .await
        .unwrap();
    let operator = Operator::new(&database, &topics, recording("one"));
    let refused = operator.tries("rewind --to-beginning --by kim --reason x").await.unwrap_err();
    assert!(refused.to_string().contains("no facts today"), "{refused}");
    assert_eq!((places(&topics).await, facts(&database).await.len()), (20, 0));
}
