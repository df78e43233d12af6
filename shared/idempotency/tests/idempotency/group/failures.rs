//! Failures in a group: a failed command does not affect the others.

use std::time::Duration;

use database::{Database, Error, ErrorClass, Settings};
use diesel_async::SimpleAsyncConnection;
use futures_util::FutureExt;
use idempotency::Outcome;
use testkit::{Proxy, eventually};
use tokio::runtime::Handle;

use super::{Ending, ONE_AT_A_TIME, Shop, groups, key, shared, together, transactions};
use crate::commit::{slow_commit, waiting};
use crate::shop::{self, effects, open_transactions, records, request};

#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_refused_or_panicking_command_is_left_out_of_its_group() {
    let database = shop::open().await;
    let (groups, shop) = shared(&database);
    let endings = [Ending::Done, Ending::Rejected, Ending::Refused, Ending::Panics, Ending::Done];
    let commands = endings
        .iter()
        .enumerate()
        .map(|(place, ending)| shop.send(&groups, request(&key(place), "a"), *ending));
    let outcomes = together(&groups, commands).await;
    assert!(matches!(&outcomes[0], Ok(Outcome::Executed(stored)) if stored.status == 201), "{outcomes:?}");
    assert!(matches!(&outcomes[1], Ok(Outcome::Executed(stored)) if stored.status == 422), "{outcomes:?}");
    assert!(matches!(&outcomes[2], Ok(Outcome::Refused(stored)) if stored.status == 403), "{outcomes:?}");
    assert!(matches!(&outcomes[3], Err(Error::Panicked)), "{outcomes:?}");
    assert!(matches!(&outcomes[4], Ok(Outcome::Executed(stored)) if stored.status == 201), "{outcomes:?}");
    // The other commands did not run again. Buffered effects of failed commands were not written.
    assert_eq!((shop.runs.number(), transactions(&database).await), (5, 1));
    assert_eq!((effects(&database).await, records(&database).await), (2, 3));

    // The rejection is stored. The keys of the failed commands are unused.
    for (place, stored) in [(1, true), (2, false), (3, false)] {
        let again = shop.send(&groups, request(&key(place), "a"), Ending::Done).await.unwrap();
        assert_eq!(matches!(again, Outcome::Replayed { .. }), stored, "{place}: {again:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_left_out_of_a_group_can_retry_at_once() {
    let database = shop::open().await;
    let (groups, shop) = shared(&database);
    let other = super::groups(&database.second_instance(), ONE_AT_A_TIME);
    for (round, ending) in (0..40).zip([Ending::Refused, Ending::Panics].into_iter().cycle()) {
        let (left_out, kept) = (key(2 * round), key(2 * round + 1));
        let again = async {
            let _ = shop.send(&groups, request(&left_out, "a"), ending).await;
            shop.send(&other, request(&left_out, "a"), Ending::Done).await
        };
        let commands = [again.boxed(), shop.send(&groups, request(&kept, "a"), Ending::Done)];
        for outcome in futures_util::future::join_all(commands).await {
            assert!(matches!(outcome, Ok(Outcome::Executed(_))), "round {round}: {outcome:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_cannot_be_written_fails_its_own_command_only() {
    let database = shop::open().await;
    let (groups, shop) = shared(&database);
    let endings = [Ending::Done, Ending::Clashes, Ending::Done, Ending::Clashes, Ending::Rejected];
    let commands = endings
        .iter()
        .enumerate()
        .map(|(place, ending)| shop.send(&groups, request(&key(place), "a"), *ending));
    let outcomes = together(&groups, commands).await;
    for place in [0, 2, 4] {
        assert!(matches!(&outcomes[place], Ok(Outcome::Executed(_))), "{outcomes:?}");
    }
    // Of two commands with the same note, one succeeds.
    let refused = [&outcomes[1], &outcomes[3]].into_iter().filter_map(|outcome| outcome.as_ref().err());
    let refused: Vec<bool> = refused.map(|error| error.is_constraint("effect_note_key")).collect();
    assert_eq!(refused, [true], "{outcomes:?}");
    assert_eq!((effects(&database).await, records(&database).await), (3, 4));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_bad_command_costs_its_group_a_transaction_for_each_half() {
    let database = shop::open().await;
    let (groups, shop) = shared(&database);
    shop.send(&groups, request(&key(99), "a"), Ending::Clashes).await.unwrap();
    let ending = |place| if place == 5 { Ending::Clashes } else { Ending::Done };
    let commands = (0..32).map(|place| shop.send(&groups, request(&key(place), "a"), ending(place)));
    let outcomes = together(&groups, commands).await;
    let failed: Vec<usize> = (0..32).filter(|place| outcomes[*place].is_err()).collect();
    assert_eq!(failed, [5]);
    // The first command, and groups of 16, 8, 4, 2 and 1.
    assert_eq!((transactions(&database).await, effects(&database).await), (6, 32));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_waits_for_a_foreign_lock_is_the_only_one_to_fail() {
    let database = shop::open().await;
    let settings = |settings| Settings { lock_timeout: Duration::from_millis(50), ..settings };
    let (groups, shop) = (groups(&shop::instance(&database, settings), ONE_AT_A_TIME), Shop::default());
    // Another session has inserted the same note, and has not committed.
    let mut other = database.owner().await;
    let note = "BEGIN; INSERT INTO effect (operation_id, note) VALUES (gen_random_uuid(), 'the same')";
    other.batch_execute(note).await.unwrap();
    let endings = [Ending::Done, Ending::Clashes, Ending::Done];
    let commands = || {
        let send = |(place, ending): (usize, &Ending)| shop.send(&groups, request(&key(place), "a"), *ending);
        endings.iter().enumerate().map(send).collect::<Vec<_>>()
    };
    let outcomes = together(&groups, commands()).await;
    assert!(matches!(&outcomes[0], Ok(Outcome::Executed(_))), "{outcomes:?}");
    assert_eq!(outcomes[1].as_ref().unwrap_err().class(), ErrorClass::Contention, "{outcomes:?}");
    assert!(matches!(&outcomes[2], Ok(Outcome::Executed(_))), "{outcomes:?}");
    assert_eq!((effects(&database).await, records(&database).await), (2, 2));

    other.batch_execute("ROLLBACK").await.unwrap();
    let outcomes = together(&groups, commands()).await;
    assert!(matches!(&outcomes[0], Ok(Outcome::Replayed { .. })), "{outcomes:?}");
    assert!(matches!(&outcomes[1], Ok(Outcome::Executed(_))), "{outcomes:?}");
    assert_eq!((effects(&database).await, records(&database).await), (3, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_that_one_command_swallows_fails_that_command_only() {
    let database = shop::open().await;
    let (groups, shop) = shared(&database);
    let endings = [Ending::Done, Ending::Swallows, Ending::Done];
    let commands = endings
        .iter()
        .enumerate()
        .map(|(place, ending)| shop.send(&groups, request(&key(place), "a"), *ending));
    let outcomes = together(&groups, commands).await;
    assert!(matches!(&outcomes[0], Ok(Outcome::Executed(_))), "{outcomes:?}");
    assert_eq!(outcomes[1].as_ref().unwrap_err().class(), ErrorClass::Permanent, "{outcomes:?}");
    assert!(matches!(&outcomes[2], Ok(Outcome::Executed(_))), "{outcomes:?}");
    assert_eq!((effects(&database).await, records(&database).await), (2, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_broke_while_idle_costs_a_group_nothing() {
    let database = shop::open().await;
    let proxy = Proxy::to_postgres().await;
    let settings = Settings::new(database.service_url(Some(proxy.address())));
    let distant = Database::new(&settings, Handle::current()).unwrap();
    let (groups, shop) = (groups(&distant, ONE_AT_A_TIME), Shop::default());
    // Repeated, because the test is about the moment before the pool notices the failure.
    for round in 0..10 {
        distant.ping().await.unwrap();
        proxy.cut().await;
        proxy.mend();
        let keys = (3 * round..3 * round + 3).map(key);
        let commands = keys.map(|key| shop.send(&groups, request(&key, "a"), Ending::Done));
        for outcome in futures_util::future::join_all(commands).await {
            assert!(matches!(outcome, Ok(Outcome::Executed(_))), "round {round}: {outcome:?}");
        }
    }
    assert_eq!(effects(&database).await, 30);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_database_a_whole_group_fails() {
    let database = shop::open().await;
    let proxy = Proxy::to_postgres().await;
    let settings = Settings::new(database.service_url(Some(proxy.address())));
    let distant = Database::new(&settings, Handle::current()).unwrap();
    let (groups, shop) = (groups(&distant, ONE_AT_A_TIME), Shop::default());
    proxy.cut().await;
    let commands = (0..3).map(|number| shop.send(&groups, request(&key(number), "a"), Ending::Done));
    for outcome in futures_util::future::join_all(commands).await {
        assert_eq!(outcome.unwrap_err().class(), ErrorClass::Unavailable);
    }
    assert_eq!((shop.runs.number(), effects(&database).await), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_commit_is_unknown_to_its_whole_group_until_the_retries_read_the_rows() {
    let database = shop::open().await;
    let mut holder = database.owner().await;
    holder.batch_execute(&slow_commit("")).await.unwrap();
    holder.batch_execute("SELECT pg_advisory_lock(1)").await.unwrap();
    let proxy = Proxy::to_postgres().await;
    let settings = Settings {
        statement_timeout: Duration::from_mins(1),
        ..Settings::new(database.service_url(Some(proxy.address())))
    };
    let distant = Database::new(&settings, Handle::current()).unwrap();
    let (lossy, shop) = (groups(&distant, ONE_AT_A_TIME), Shop::default());
    let commands = (0..3).map(|number| shop.send(&lossy, request(&key(number), "a"), Ending::Done));
    let (outcomes, ()) = tokio::join!(together(&lossy, commands), async {
        eventually("COMMIT waits", async || (waiting(&database).await == 1).then_some(())).await;
        proxy.cut().await;
    });
    for outcome in outcomes {
        assert!(matches!(outcome, Err(Error::CommitUnknown(_))), "{outcome:?}");
    }
    holder.batch_execute("SELECT pg_advisory_unlock(1)").await.unwrap();
    eventually("COMMIT ends", async || (open_transactions(&database).await == 0).then_some(())).await;

    let direct = groups(&database, ONE_AT_A_TIME);
    for number in 0..3 {
        let again = shop.send(&direct, request(&key(number), "a"), Ending::Done).await.unwrap();
        assert!(matches!(again, Outcome::Replayed { .. }), "{again:?}");
    }
    assert_eq!((shop.runs.number(), effects(&database).await, records(&database).await), (3, 3, 3));
}
