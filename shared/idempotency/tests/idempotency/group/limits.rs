//! The limits of the queue: a command beyond them is refused and not executed.

use std::time::Duration;

use database::{ErrorClass, GroupSettings, Settings};
use diesel_async::SimpleAsyncConnection;
use idempotency::Outcome;
use testkit::eventually;
use tokio::time::timeout;

use super::{Ending, ONE_AT_A_TIME, Shop, groups, key, together};
use crate::commit::{slow_commit, waiting};
use crate::shop::{self, CommandBarrier, effects, open_transactions, request};

/// One group at a time. Commands do not wait long for their group.
const HASTY: GroupSettings = GroupSettings { wait: Duration::from_millis(100), ..ONE_AT_A_TIME };

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
async fn a_command_that_waits_too_long_is_refused_while_the_groups_still_run() {
    let database = shop::open().await;
    let groups = groups(&database, HASTY);
    let (shop, barrier) = (Shop::default(), CommandBarrier::closed());
    let mut first = barrier.hold(&groups, request(&key(0), "a"));
    assert!(futures_util::poll!(&mut first).is_pending());
    barrier.reached().await;
    let late = shop.send(&groups, request(&key(1), "a"), Ending::Done);
    let late = timeout(Duration::from_mins(1), late).await.expect("an answer while the group runs");
    assert_eq!(late.unwrap_err().class(), ErrorClass::Unavailable);
    barrier.open();
    assert!(matches!(first.await, Ok(Outcome::Refused(_))));
    assert_eq!(shop.runs.number(), 0);
    // The next command is executed.
    let next = shop.send(&groups, request(&key(1), "a"), Ending::Done).await;
    assert!(matches!(next, Ok(Outcome::Executed(_))), "{next:?}");
    assert_eq!(effects(&database).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_gets_no_answer_is_unknown_to_its_group_and_frees_the_slot() {
    let database = shop::open().await;
    let mut holder = database.owner().await;
    holder.batch_execute(&slow_commit("")).await.unwrap();
    holder.batch_execute("SELECT pg_advisory_lock(1)").await.unwrap();
    let statement_timeout = Duration::from_millis(100);
    let instance = shop::instance(&database, |settings| Settings { statement_timeout, ..settings });
    let (groups, shop) = (groups(&instance, HASTY), Shop::default());

    let send = |number| shop.send(&groups, request(&key(number), "a"), Ending::Done);
    let first = database.spawn(send(0));
    eventually("COMMIT waits", async || (waiting(&database).await == 1).then_some(())).await;
    let second = timeout(Duration::from_mins(1), send(1)).await.expect("an answer while the first hangs");
    assert_eq!(second.unwrap_err().class(), ErrorClass::Unavailable);
    let first = timeout(Duration::from_mins(1), first).await.expect("an answer although COMMIT hangs");
    assert_eq!(first.unwrap().unwrap_err().class(), ErrorClass::CommitUnknown);

    holder.batch_execute("SELECT pg_advisory_unlock(1)").await.unwrap();
    eventually("COMMIT ends", async || (open_transactions(&database).await == 0).then_some(())).await;
    assert!(matches!(send(0).await, Ok(Outcome::Replayed { .. })));
    assert!(matches!(send(1).await, Ok(Outcome::Executed(_))));
    assert_eq!((shop.runs.number(), effects(&database).await), (2, 2));
}
