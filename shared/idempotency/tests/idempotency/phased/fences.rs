//! A fence and a phased command: what is under way is told, and goes on.

use idempotency::{Conclusion, Outcome, RecordState};

use super::{LONG, Shop, assert_replayed, conclude, created, not_executed, under_way};
use crate::fence::fence;
use crate::shop::{self, KEY, effects, request};

#[tokio::test(flavor = "multi_thread")]
async fn a_phased_command_whose_key_was_fenced_never_begins() {
    let database = shop::open().await;
    fence(&database, KEY).await.unwrap();
    let shop = Shop::default();
    assert_eq!(shop.send(&database, LONG, request(KEY, "a")).await.unwrap(), Outcome::Fenced);
    assert_eq!((shop.begun.number(), effects(&database).await), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_phased_command_that_is_under_way_is_told_and_goes_on() {
    let database = shop::open().await;
    let shop = Shop::default();
    let worker = async {
        let id = under_way(&database).await;
        let told = fence(&database, KEY).await.unwrap();
        let [record] = told.data.as_slice() else { panic!("{told:?}") };
        assert_eq!((record.operation_id, record.state), (id, RecordState::Started));
        // Its attempt had no effect. The retry continues the operation that the fence has told.
        assert!(conclude(&database, id, Conclusion::Retryable(not_executed())).await);
        assert_eq!(fence(&database, KEY).await.unwrap().data[0].state, RecordState::FailedRetryable);
        id
    };
    let (refused, id) = tokio::join!(shop.send(&database, LONG, request(KEY, "a")), worker);
    assert_eq!(refused.unwrap(), Outcome::Refused(not_executed()));
    let worker = async {
        assert_eq!(under_way(&database).await, id);
        conclude(&database, id, Conclusion::Succeeded(created())).await
    };
    let (executed, moved) = tokio::join!(shop.send(&database, LONG, request(KEY, "a")), worker);
    assert_eq!((executed.unwrap(), moved), (Outcome::Executed(created()), true));
    assert_replayed(&shop.send(&database, LONG, request(KEY, "a")).await.unwrap(), &created());
    assert_eq!((shop.begun.number(), shop.resumed.number()), (1, 1));
}
