//! One group is one transaction; the number of its statements.

use database::{Database, GroupSettings, Settings};
use futures_util::future::join_all;
use idempotency::Outcome;
use testkit::{RoundTrips, eventually};
use tokio::runtime::Handle;

use super::{Ending, ONE_AT_A_TIME, Shop, groups, key, shared, together, transactions};
use crate::shop::{self, effects, records, request};

#[tokio::test(flavor = "multi_thread")]
async fn commands_that_wait_at_the_same_time_share_one_transaction() {
    let database = shop::open().await;
    let (groups, shop) = shared(&database);
    let commands = (0..20).map(|number| shop.send(&groups, request(&key(number), "a"), Ending::Done));
    for outcome in together(&groups, commands).await {
        assert!(matches!(outcome, Ok(Outcome::Executed(_))), "{outcome:?}");
    }
    assert_eq!((effects(&database).await, records(&database).await), (20, 20));
    assert_eq!(transactions(&database).await, 1);
    // Each command is replayed with its own response, alone and in a group.
    let again = (0..20).map(|number| shop.send(&groups, request(&key(number), "a"), Ending::Done));
    for outcome in together(&groups, again).await {
        assert!(matches!(outcome, Ok(Outcome::Replayed { .. })), "{outcome:?}");
    }
    assert_eq!(shop.runs.number(), 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_is_no_larger_than_its_limit() {
    let database = shop::open().await;
    let groups = groups(&database, GroupSettings { size: 8, ..ONE_AT_A_TIME });
    let shop = Shop::default();
    let commands = (0..20).map(|number| shop.send(&groups, request(&key(number), "a"), Ending::Done));
    together(&groups, commands).await;
    assert_eq!((effects(&database).await, transactions(&database).await), (20, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_needs_no_more_round_trips_than_one_command() {
    let counter = RoundTrips::to_postgres().await;
    let database = shop::open().await;
    let settings = Settings { pool_size: 1, ..Settings::new(database.service_url(Some(counter.address()))) };
    let distant = Database::new(&settings, Handle::current()).unwrap();
    let (groups, shop) = (groups(&distant, ONE_AT_A_TIME), Shop::default());
    let (mut of_one, mut of_many) = (Vec::new(), Vec::new());
    for round in 0..5 {
        for (counts, number) in [(&mut of_one, 1), (&mut of_many, 30)] {
            let keys = (0..number).map(|place| key(100 * number + round * 10_000 + place));
            let commands: Vec<_> =
                keys.map(|key| shop.send(&groups, request(&key, "a"), Ending::Done)).collect();
            let (outcomes, count) = counter.of(together(&groups, commands)).await;
            assert!(
                outcomes.iter().all(|outcome| matches!(outcome, Ok(Outcome::Executed(_)))),
                "{outcomes:?}"
            );
            counts.push(count);
        }
    }
    // The same command runs before each group.
    assert_eq!(of_one.iter().min(), of_many.iter().min(), "one: {of_one:?}, thirty: {of_many:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_key_several_times_in_a_group_takes_effect_once() {
    let database = shop::open().await;
    let (groups, shop) = shared(&database);
    let send = |body| shop.send(&groups, request(&key(0), body), Ending::Done);
    let outcomes = together(&groups, [send("a"), send("a"), send("b")]).await;
    assert!(matches!(outcomes[0], Ok(Outcome::Executed(_))), "{outcomes:?}");
    assert_eq!(outcomes[1].as_ref().unwrap(), &Outcome::InProgress);
    assert_eq!(outcomes[2].as_ref().unwrap(), &Outcome::InProgress);
    assert_eq!((effects(&database).await, shop.runs.number()), (1, 1));

    let outcomes = together(&groups, [send("a"), send("b"), send("a")]).await;
    assert!(matches!(outcomes[0], Ok(Outcome::Replayed { .. })), "{outcomes:?}");
    assert_eq!(outcomes[1].as_ref().unwrap(), &Outcome::Reused);
    assert!(matches!(outcomes[2], Ok(Outcome::Replayed { .. })), "{outcomes:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_of_two_instances_execute_each_key_once() {
    let database = shop::open().await;
    let shop = Shop::default();
    let instances = [database.second_instance(), database.second_instance()];
    let instances = instances.each_ref().map(|instance| groups(instance, GroupSettings::default()));
    for round in 0..30 {
        let keys: Vec<String> = (0..6).map(|place| key(round * 10 + place)).collect();
        // The order is reversed. If the groups waited for locks, they would deadlock.
        let there = keys.iter().map(|key| shop.send(&instances[0], request(key, "a"), Ending::Done));
        let back = keys.iter().rev().map(|key| shop.send(&instances[1], request(key, "a"), Ending::Done));
        let outcomes = join_all(there.chain(back).map(|sent| database.spawn(sent))).await;
        let executed =
            outcomes.iter().filter(|outcome| matches!(outcome, Ok(Ok(Outcome::Executed(_))))).count();
        assert_eq!(executed, 6, "round {round}: {outcomes:?}");
    }
    assert_eq!((effects(&database).await, shop.runs.number()), (180, 180));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disconnected_caller_stops_no_group() {
    let database = shop::open().await;
    let (groups, shop) = shared(&database);
    let mut dropped = shop.send(&groups, request(&key(0), "a"), Ending::Done);
    let leave = async move {
        assert!(futures_util::poll!(&mut dropped).is_pending());
        drop(dropped);
        Ok(Outcome::InProgress)
    };
    let stays = shop.send(&groups, request(&key(1), "a"), Ending::Done);
    let outcomes = together(&groups, [Box::pin(leave) as _, stays]).await;
    assert!(matches!(outcomes[1], Ok(Outcome::Executed(_))), "{outcomes:?}");
    eventually("both are carried out", async || (effects(&database).await == 2).then_some(())).await;
}
