//! The stored response: written once, by the handler or the worker, and the same for every retry.

use std::time::Duration;

use database::{Database, Settings};
use diesel_async::SimpleAsyncConnection;
use idempotency::{Conclusion, OperationState, Outcome};
use testkit::{Proxy, eventually, labelled};
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::{
    LONG, NONE, SHORT, Shop, accepted, assert_replayed, conclude, concluded, created, declined, operation,
    promised, send, state, under_way,
};
use crate::replay_cache::{lookups, remember};
use crate::shop::{self, KEY, effects, records, request};

#[tokio::test(flavor = "multi_thread")]
async fn an_outcome_in_time_is_the_stored_response() {
    let database = shop::open().await;
    let (id, outcome) = concluded(&database, request(KEY, "a"), Conclusion::Succeeded(created())).await;
    assert_eq!(outcome, Outcome::Executed(created()));
    assert_replayed(&send(&database, LONG, request(KEY, "a")).await, &created());
    assert_eq!(state(&database, id).await, "completed");
    let operation = operation(&database, id).await;
    assert_eq!((operation.state, operation.reply), (OperationState::Succeeded, Some(created())));
    assert_eq!(effects(&database).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_in_time_is_the_stored_response_too() {
    let database = shop::open().await;
    let (id, outcome) = concluded(&database, request(KEY, "a"), Conclusion::Failed(declined())).await;
    assert_eq!(outcome, Outcome::Executed(declined()));
    assert_replayed(&send(&database, LONG, request(KEY, "a")).await, &declined());
    assert_eq!(operation(&database, id).await.state, OperationState::Failed);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outcome_that_another_process_records_is_found() {
    let database = shop::open().await;
    // Without the notification the handler would find the outcome only at the time limit.
    let soon = timeout(LONG / 10, send(&database, LONG, request(KEY, "a")));
    let (outcome, ()) = tokio::join!(soon, async {
        let id = under_way(&database).await;
        // No handler in this process is notified.
        let elsewhere = format!(
            "UPDATE idempotency_record SET state = 'completed', status = 201, expires_at = '2999-01-01'; \
             INSERT INTO idempotency_snapshot VALUES ('{id}', '[[\"content-type\", \"text/plain\"]]', 'created')"
        );
        database.owner().await.batch_execute(&elsewhere).await.unwrap();
    });
    assert_eq!(outcome.expect("the outcome is found long before the limit"), Outcome::Executed(created()));
}

#[tokio::test(flavor = "multi_thread")]
async fn past_the_limit_the_stored_response_is_202_and_stays_202() {
    let database = shop::open().await;
    let outcome = send(&database, SHORT, request(KEY, "a")).await;
    let id = super::operation_ids(&database).await[0];
    assert_eq!(outcome, Outcome::Executed(accepted(id)));
    assert_eq!(
        (state(&database, id).await.as_str(), operation(&database, id).await.reply),
        ("unknown", None)
    );
    assert_replayed(&send(&database, LONG, request(KEY, "a")).await, &accepted(id));

    assert!(conclude(&database, id, Conclusion::Succeeded(created())).await);
    assert_replayed(&send(&database, LONG, request(KEY, "a")).await, &accepted(id));
    assert_eq!(send(&database, LONG, request(KEY, "b")).await, Outcome::Reused);
    assert_eq!(state(&database, id).await, "completed");
    let operation = operation(&database, id).await;
    assert_eq!((operation.state, operation.reply), (OperationState::Succeeded, Some(created())));
    assert_eq!(effects(&database).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_whose_outcome_cannot_be_read_is_in_progress() {
    let (database, proxy) = (shop::open().await, Proxy::to_postgres().await);
    let settings = Settings::new(database.service_url(Some(proxy.address())));
    let distant = Database::new(&settings, Handle::current()).unwrap();
    let (outcome, ()) = tokio::join!(send(&distant, Duration::from_secs(1), request(KEY, "a")), async {
        under_way(&database).await;
        proxy.cut().await;
    });
    assert_eq!(outcome, Outcome::InProgress, "it is committed: an error would say that it was not executed");
    let id = under_way(&database).await;
    assert!(conclude(&database, id, Conclusion::Succeeded(created())).await);
    assert_replayed(&send(&database, NONE, request(KEY, "a")).await, &created());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_of_the_command_is_stored_and_starts_nothing() {
    let database = shop::open().await;
    let refuse = async |tx: &mut database::Tx, operation: &idempotency::Operation| {
        shop::leave(tx, operation, "undone").await?;
        Err(idempotency::CommandError::Rejected(declined()))
    };
    let never = async |_: &mut database::Tx, _: &idempotency::Operation| panic!("nothing to resume");
    for attempt in 0..2 {
        let policy = idempotency::WaitPolicy { limit: LONG, accepted };
        let retention = idempotency::Retention::default();
        let outcome =
            idempotency::start(&database, retention, policy, request(KEY, "a"), refuse, never).await.unwrap();
        match attempt {
            0 => assert_eq!(outcome, Outcome::Executed(declined())),
            _ => assert_replayed(&outcome, &declined()),
        }
    }
    assert_eq!((effects(&database).await, records(&database).await), (0, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_in_progress_never_expires_and_every_stored_response_does() {
    let database = shop::open().await;
    let mut owner = database.owner().await;
    let id = promised(&database, request(KEY, "a")).await;
    let age = "UPDATE idempotency_record SET expires_at = clock_timestamp() WHERE expires_at IS NOT NULL";
    for conclusion in [None, Some(Conclusion::Succeeded(created()))] {
        if let Some(conclusion) = conclusion {
            conclude(&database, id, conclusion).await;
        }
        owner.batch_execute(age).await.unwrap();
        assert_eq!(send(&database, LONG, request(KEY, "a")).await, Outcome::Expired);
    }
    assert_eq!(operation(&database, id).await.state, OperationState::Succeeded);

    // An operation that started years ago, and whose handlers have ended, still gets a response.
    owner.batch_execute("DELETE FROM idempotency_record; DELETE FROM idempotency_operation").await.unwrap();
    let database = &database;
    let waiting = timeout(SHORT * 10, send(database, LONG, request(KEY, "a"))).await;
    assert!(waiting.is_err());
    let id = under_way(database).await;
    owner
        .batch_execute(&format!("{age}; UPDATE idempotency_operation SET started_at = '2020-01-01'"))
        .await
        .unwrap();
    assert_eq!(send(database, LONG, request(KEY, "a")).await, Outcome::Executed(accepted(id)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_response_is_kept_for_the_retention_of_the_start() {
    let database = shop::open().await;
    promised(&database, request(KEY, "a")).await;
    let kept = "DO $$ BEGIN ASSERT (SELECT expires_at - completed_at BETWEEN interval '24 h' AND interval '24 h 1 s' \
                AND tombstone_until - completed_at BETWEEN interval '30 d' AND interval '30 d 1 s' \
                FROM idempotency_record); END $$";
    database.owner().await.batch_execute(kept).await.unwrap();
    let key = "00000000-0000-4000-8000-000000000000";
    database.owner().await.batch_execute("DELETE FROM idempotency_record").await.unwrap();
    concluded(&database, request(key, "a"), Conclusion::Succeeded(created())).await;
    database.owner().await.batch_execute(kept).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_is_shown_to_its_tenant_alone() {
    let database = shop::open().await;
    let id = promised(&database, request(KEY, "a")).await;
    let mut connection = database.connection().await.unwrap();
    for (tenant, there) in [("acme", true), ("globex", false)] {
        let tenant = tenant.parse().unwrap();
        let found = idempotency::operation(&mut connection, &tenant, id).await.unwrap();
        assert_eq!(found.is_some(), there);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_request_holds_no_connection() {
    let database = shop::open().await;
    let narrow = shop::instance(&database, |settings| Settings { pool_size: 1, ..settings });
    let shop = Shop::default();
    let keys: Vec<String> = (0..30).map(|number| format!("00000000-0000-4000-8000-{number:012}")).collect();
    let sent = keys.iter().map(|key| shop.send(&narrow, LONG, request(key, "a")));
    let (outcomes, ()) = tokio::join!(futures_util::future::join_all(sent), async {
        eventually("all are under way", async || (records(&database).await == 30).then_some(())).await;
        eventually("no transaction is open", async || {
            (shop::open_transactions(&database).await == 0).then_some(())
        })
        .await;
        // The only connection serves other requests meanwhile.
        assert!(matches!(send(&narrow, NONE, request(KEY, "a")).await, Outcome::Executed(_)));
        for id in super::operation_ids(&database).await {
            conclude(&database, id, Conclusion::Succeeded(created())).await;
        }
    });
    assert!(outcomes.into_iter().all(|outcome| outcome.unwrap() == Outcome::Executed(created())));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_may_change_is_never_in_memory() {
    // An operator can free the key of the second one, and the 202 is not the end of its record.
    for end in [None, Some(Conclusion::Terminal(declined())), Some(Conclusion::Succeeded(created()))] {
        let database = shop::open().await;
        remember(&database).await;
        let is_final = matches!(end, Some(Conclusion::Succeeded(_)));
        match end {
            None => drop(promised(&database, request(KEY, "a")).await),
            Some(conclusion) => drop(concluded(&database, request(KEY, "a"), conclusion).await),
        }
        for _ in 0..2 {
            let again = send(&database, LONG, request(KEY, "a")).await;
            assert!(matches!(again, Outcome::Replayed { .. }), "{again:?}");
        }
        let counted = if is_final { labelled(&[("hit", 1), ("miss", 2)]) } else { labelled(&[("miss", 3)]) };
        assert_eq!(lookups(&database), counted);
    }
}
