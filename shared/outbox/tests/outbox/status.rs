//! The report of `status`: lease, cursor, backlog, days.

use contracts::{OrderId, streams};
use outbox::make_partitions;
use serde_json::{Value, json};
use testkit::{TestDatabase, TestTopics, eventually};
use tokio_util::sync::CancellationToken;

use crate::common::{
    HalfDone, append_one, confirmed, context, json_output, patient, progress, relay, settings, text_output,
    wait_for, write,
};

#[tokio::test(flavor = "multi_thread")]
async fn status_shows_whether_a_relay_is_active() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let context = context(&database, &topics);
    let never = json_output(&context, &["status"]).await;
    let no_relay = json!({ "active": false, "owner": "nobody", "epoch": 0, "lease_seconds": null });
    assert_eq!(never["relay"], no_relay);
    assert!(text_output(&context, &["status"]).await.contains("relay.lease_seconds -"));

    let relay = relay(&database, &topics, settings());
    append_one(&database, 1, &confirmed(OrderId::generate())).await;
    wait_for(&topics, streams::ORDERS, 1).await;
    let working = json_output(&context, &["status"]).await["relay"].take();
    assert_eq!((&working["active"], &working["epoch"]), (&json!(true), &json!(1)));
    let left = working["lease_seconds"].as_f64().unwrap();
    assert!(0.0 < left && left <= settings().lease.as_secs_f64(), "{left}");
    relay.stop().await;

    let ended = json_output(&context, &["status"]).await["relay"].take();
    assert_eq!((&ended["active"], &ended["owner"]), (&json!(false), &working["owner"]));
    assert!(ended["lease_seconds"].as_f64().unwrap() <= 0.0, "{ended}");
}

#[tokio::test(flavor = "multi_thread")]
async fn status_counts_committed_unpublished_rows() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let context = context(&database, &topics);
    assert_eq!(
        json_output(&context, &["status"]).await["backlog"],
        json!({ "rows": 0, "oldest_seconds": null })
    );
    for _ in 0..3 {
        append_one(&database, 1, &confirmed(OrderId::generate())).await;
    }
    let mut open = patient(&database).begin().await.unwrap();
    write(&mut open, 1, &confirmed(OrderId::generate())).await;
    let waiting = json_output(&context, &["status"]).await["backlog"].take();
    assert_eq!(waiting["rows"], 3, "a row that is not committed is not in the backlog");
    assert!(waiting["oldest_seconds"].as_f64().unwrap() > 0.0, "{waiting}");
    assert!(text_output(&context, &["status"]).await.contains("backlog.rows 3"));

    let relay = relay(&database, &topics, settings());
    wait_for(&topics, streams::ORDERS, 3).await;
    relay.stop().await;
    let after = json_output(&context, &["status"]).await;
    assert_eq!(after["backlog"], json!({ "rows": 0, "oldest_seconds": null }));
    assert_eq!(after["cursor"]["gaps"], progress(&database).await.gaps);
    assert!(after["cursor"]["age_seconds"].as_f64().unwrap() >= 0.0, "{after}");
    open.commit().await.unwrap();
    assert_eq!(
        json_output(&context, &["status"]).await["backlog"]["rows"],
        1,
        "it was open as the cursor passed"
    );
}

/// Of the three rows one is published, one was under way, and one was committed after the relay had passed it.
#[tokio::test(flavor = "multi_thread")]
async fn status_counts_the_rows_of_gaps_as_the_next_relay_will_find_them() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::names());
    HalfDone::prepare(&database, &topics).await;
    let report = json_output(&context(&database, &topics), &["status"]).await;
    assert_eq!(report["backlog"]["rows"], 2, "{report}");
    assert_eq!(report["cursor"]["position"], 3, "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn status_names_the_days_and_says_whether_rows_lie_outside_of_them() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::names());
    let context = context(&database, &topics);
    make_partitions(&database, &CancellationToken::new()).await.unwrap();
    append_one(&database, 1, &confirmed(OrderId::generate())).await;
    let report = json_output(&context, &["status"]).await;
    assert_eq!(report["default_holds_rows"], false);
    let names: Vec<&str> = partitions(&report).map(|part| part["name"].as_str().unwrap()).collect();
    assert_eq!((names.len(), *names.last().unwrap()), (9, "outbox_event_default"));
    // The server counts with a delay.
    eventually("today's row in the statistics", async || {
        let report = json_output(&context, &["status"]).await;
        (partitions(&report).next()?["rows_estimate"] == 1).then_some(())
    })
    .await;

    let without_days = TestDatabase::plain().await;
    append_one(&without_days, 1, &confirmed(OrderId::generate())).await;
    let context = crate::common::context(&without_days, &topics);
    assert_eq!(json_output(&context, &["status"]).await["default_holds_rows"], true);
    assert!(text_output(&context, &["status"]).await.contains("default_holds_rows true"));
}

fn partitions(report: &Value) -> impl Iterator<Item = &Value> {
    report["partitions"].as_array().unwrap().iter()
}
