//! A sender that was restored to an earlier time numbers its messages from there again. Such a message is not dropped.

use contracts::OrderId;
use testkit::TestTopics;

use crate::common::{
    Operator, audited, cancelled, confirmed, database, effects, parked, publish, record, recording, rewind,
    run, wait_until_done,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_message_of_another_history_is_parked_and_not_dropped() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let order = OrderId::generate();
    let first = [1, 2, 3].map(|sequence| record(&topics, sequence, &confirmed(order)));
    publish(&topics, &first).await;
    let runner = run(&database, &topics, recording("one"));
    wait_until_done(&topics).await;
    let applied = effects(&database).await;
    assert_eq!(applied.len(), 3);

    // The restored sender sends its surviving events again, and then its second history.
    let second = [record(&topics, 2, &cancelled(order)), record(&topics, 4, &confirmed(order))];
    publish(&topics, &[&first[..1], &second[..]].concat()).await;
    wait_until_done(&topics).await;
    runner.stop().await;
    let waiting = parked(&database).await;
    assert_eq!(
        waiting.iter().map(|it| (it.sequence, it.state.as_str())).collect::<Vec<_>>(),
        [(2, "parked")]
    );
    let error = waiting[0].error.as_deref().unwrap();
    assert!(error.contains("the sender was restored to an earlier time"), "{error}");
    assert_eq!(effects(&database).await, [applied, vec![(order.uuid(), 4)]].concat());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_of_another_history_is_not_redriven_and_its_discard_is_final() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let order = OrderId::generate();
    let records = [1, 2, 1].map(|sequence| record(&topics, sequence, &confirmed(order)));
    publish(&topics, &records).await;
    let runner = run(&database, &topics, recording("one"));
    wait_until_done(&topics).await;
    runner.stop().await;
    let id = parked(&database).await[0].message_id;
    let operator = Operator::new(&database, &topics, recording("operator"));
    let (done, report) = operator.does(&format!("redrive {id}")).await;
    assert!(!done && report.to_string().contains("another message took effect under its number"), "{report}");
    assert!(operator.does(&format!("discard {id}")).await.0);
    rewind(&topics).await;
    let runner = run(&database, &topics, recording("another"));
    wait_until_done(&topics).await;
    runner.stop().await;
    assert!(parked(&database).await.is_empty());
    assert_eq!(effects(&database).await.len(), 2);
    audited(&database).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_histories_in_one_batch_are_told_apart() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let order = OrderId::generate();
    let records = [1, 2, 2].map(|sequence| record(&topics, sequence, &confirmed(order)));
    publish(&topics, &records).await;
    let runner = run(&database, &topics, recording("one"));
    wait_until_done(&topics).await;
    runner.stop().await;
    assert_eq!(effects(&database).await, [1, 2].map(|sequence| (order.uuid(), sequence)));
    assert_eq!(parked(&database).await.len(), 1);
}
