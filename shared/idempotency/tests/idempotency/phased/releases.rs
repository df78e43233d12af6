//! Keys that an operator releases.

use database::Tx;
use envelope::OperationId;
use idempotency::{
    CommandError, Conclusion, KeyRelease, Operation, Outcome, RecordState, Retention, WaitPolicy, release_key,
};
use testkit::TestDatabase;

use super::{
    LONG, NONE, accepted, conclude, concluded, created, declined, not_executed, operation_ids, promised,
    send, state, under_way,
};
use crate::shop::{self, CommandBarrier, KEY, effects, request};

/// Releases the key of an operation.
async fn release(database: &TestDatabase, id: OperationId) -> KeyRelease {
    let mut tx = database.begin().await.unwrap();
    let release = release_key(&mut tx, id).await.unwrap();
    tx.commit().await.unwrap();
    release
}

/// The state of a key that was not released.
#[track_caller]
fn kept(release: &KeyRelease) -> RecordState {
    let KeyRelease::Kept(key) = release else { panic!("{release:?}") };
    key.state
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_release_the_key_of_a_command_without_an_effect_belongs_to_the_next_request() {
    for failure in [Conclusion::Retryable(not_executed()), Conclusion::Terminal(declined())] {
        let database = shop::open().await;
        let (first, _) = concluded(&database, request(KEY, "a"), failure).await;
        assert_eq!(send(&database, LONG, request(KEY, "b")).await, Outcome::Reused);
        let KeyRelease::Released(key) = release(&database, first).await else { panic!("it is kept") };
        assert_eq!((key.tenant().unwrap().as_str(), key.method.as_str()), ("acme", "POST"));
        assert_eq!(release(&database, first).await, KeyRelease::NotFound);
        let (second, outcome) =
            concluded(&database, request(KEY, "b"), Conclusion::Succeeded(created())).await;
        assert_eq!(outcome, Outcome::Executed(created()));
        assert_ne!(second, first);
        assert_eq!(operation_ids(&database).await, [second]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_key_of_a_command_that_took_effect_or_may_have_is_never_released() {
    let database = shop::open().await;
    let ((), outcome) = tokio::join!(
        async {
            let id = under_way(&database).await;
            assert_eq!(kept(&release(&database, id).await), RecordState::Started);
            conclude(&database, id, Conclusion::Failed(declined())).await;
            assert_eq!(kept(&release(&database, id).await), RecordState::Completed);
        },
        send(&database, LONG, request(KEY, "a"))
    );
    assert_eq!(outcome, Outcome::Executed(declined()));

    let database = shop::open().await;
    let id = promised(&database, request(KEY, "a")).await;
    assert_eq!(kept(&release(&database, id).await), RecordState::Unknown);
    assert_eq!(state(&database, id).await, "unknown");
    assert_eq!(effects(&database).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_not_released_while_a_request_with_it_runs() {
    let database = shop::open().await;
    let (id, _) = concluded(&database, request(KEY, "a"), Conclusion::Retryable(not_executed())).await;
    let barrier = CommandBarrier::closed();
    let (held, policy) = (barrier.clone(), WaitPolicy { limit: NONE, accepted });
    let begin = async |_: &mut Tx, _: &Operation| panic!("it was begun before");
    let resume = async move |_: &mut Tx, _: &Operation| -> Result<(), CommandError> {
        held.pass().await;
        Ok(())
    };
    let retry = idempotency::start(&database, Retention::default(), policy, request(KEY, "a"), begin, resume);
    let (outcome, released) = tokio::join!(retry, async {
        barrier.reached().await;
        let released = release(&database, id).await;
        barrier.open();
        released
    });
    assert!(matches!(released, KeyRelease::InUse(_)), "{released:?}");
    assert_eq!(outcome.unwrap(), Outcome::Executed(accepted(id)));
}
