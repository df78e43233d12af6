//! The limits of the queue: a command beyond them is refused and not executed.

use std::time::Duration;

use database::ErrorClass;
use idempotency::{GroupSettings, Outcome};

use super::{Ending, ONE_AT_A_TIME, Shop, groups, key, together};
use crate::shop::{self, CommandBarrier, effects, request};

#[tokio::test(flavor = "multi_thread")]
async fn commands_beyond_the_queue_are_refused_at_once() {
    let database = shop::open().await;
    let groups = groups(&database, GroupSettings { waiting: 3, ..ONE_AT_A_TIME });
    let shop = Shop::default();
    let commands = (0..5).map(|number| shop.send(&groups, request(&key(number), "a"), Ending::Done));
    let outcomes = together(&groups, commands).await;
    let (served, turned_away) = outcomes.split_at(3);
    assert!(served.iter().all(|outcome| matches!(outcome, Ok(Outcome::Executed(_)))), "{outcomes:?}");
    for outcome in turned_away {
        assert_eq!(outcome.as_ref().unwrap_err().class(), ErrorClass::Unavailable, "{outcome:?}");
    }
    assert_eq!((shop.runs.number(), effects(&database).await), (3, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_waits_too_long_is_refused() {
    let database = shop::open().await;
    let wait = Duration::from_secs(1);
    let groups = groups(&database, GroupSettings { wait, ..ONE_AT_A_TIME });
    let (shop, barrier) = (Shop::default(), CommandBarrier::closed());
    let mut first = barrier.hold(&groups, request(&key(0), "a"));
    assert!(futures_util::poll!(&mut first).is_pending());
    barrier.reached().await;
    let mut late = shop.send(&groups, request(&key(1), "a"), Ending::Done);
    assert!(futures_util::poll!(&mut late).is_pending());
    // The time limit is the subject of the test, so the test waits for it.
    tokio::time::sleep(2 * wait).await;
    barrier.open();
    assert!(matches!(first.await, Ok(Outcome::Refused(_))));
    assert_eq!(late.await.unwrap_err().class(), ErrorClass::Unavailable);
    assert_eq!(shop.runs.number(), 0);
    // The next command is executed.
    let next = shop.send(&groups, request(&key(1), "a"), Ending::Done).await;
    assert!(matches!(next, Ok(Outcome::Executed(_))), "{next:?}");
    assert_eq!(effects(&database).await, 1);
}
