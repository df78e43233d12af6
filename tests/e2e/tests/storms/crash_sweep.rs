//! `kill -9` at every crash point, at its first, second and third hit, under load; and after each round everything is
//! as if nothing had been.
//!
//! In a round payments, inventory and orders have their turns while customers go on ordering: a program is started
//! with a crash point, kills itself there, and is started again. Then everybody comes to the end of what was begun, and
//! every question of the audit is asked. A point that is not reached fails the round.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::time::Instant;

use e2e::{Answers, Customer, Load, Options, Stack, crash_points};
use testkit::eventually;

use crate::turn;

/// A program's turn: where it is to end, such as at `execute.after_commit:2`, one after the other.
type Turn = (&'static str, Vec<String>);

/// In this order, because who dies is away from its consumer group for six seconds: until payments has died, the
/// others must be well, and inventory needs orders.
type Round = [Turn; 3];

fn each(points: &[&str], hits: RangeInclusive<u32>) -> Vec<String> {
    points.iter().flat_map(|point| hits.clone().map(move |hit| format!("{point}:{hit}"))).collect()
}

/// Every place at three hits. `shutdown.draining` is reached once in a process's life: each program has its own.
fn rounds() -> Vec<Round> {
    let with_draining = |points: &[&str]| [each(points, 1..=3), each(&["shutdown.draining"], 1..=1)].concat();
    let payments = with_draining(&[
        "charge.attempt_committed",
        "charge.request_sent",
        "charge.response_read",
        "charge.outcome_recorded",
        "consume.offset_stored",
        "refund.attempt_committed",
        "refund.request_sent",
        "refund.outcome_recorded",
        "webhook.event_verified",
        "webhook.before_commit",
        "webhook.after_commit",
    ]);
    let inventory = with_draining(&[
        "consume.batch_received",
        "consume.ids_entered",
        "consume.before_commit",
        "consume.after_commit",
        "consume.partitions_revoked",
    ]);
    let orders = with_draining(&[
        "execute.key_claimed",
        "execute.command_done",
        "execute.before_commit",
        "execute.after_commit",
        "relay.window_read",
        "relay.message_sent",
        "relay.before_checkpoint",
        "relay.after_checkpoint",
        "expire.order_picked",
    ]);
    let mut rounds: Vec<Round> = Vec::new();
    for inventory in inventory {
        rounds.push([("payments", Vec::new()), ("inventory", vec![inventory]), ("orders", Vec::new())]);
    }
    let count = rounds.len();
    for (turn, places) in [(0, payments), (2, orders)] {
        for (number, place) in places.into_iter().enumerate() {
            rounds[number % count][turn].1.push(place);
        }
    }
    rounds
}

#[test]
fn the_sweep_takes_every_crash_point_three_times() {
    let rounds = rounds();
    let taken: Vec<&String> = rounds.iter().flatten().flat_map(|(_, places)| places).collect();
    let points: BTreeSet<&str> = taken.iter().map(|place| place.split(':').next().unwrap()).collect();
    assert_eq!(points, crash_points());
    for point in points {
        let hits = taken.iter().filter(|place| place.starts_with(point)).count();
        assert_eq!(hits, 3, "{point}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_crash_point_is_survived() {
    let _turn = turn().await;
    // Most of a round is waiting for consumer groups: three at once take a third of the time.
    let mut thirds = [Vec::new(), Vec::new(), Vec::new()];
    for (number, round) in rounds().into_iter().enumerate() {
        thirds[number % 3].push(round);
    }
    let [first, second, third] = thirds;
    tokio::join!(sweep(first), sweep(second), sweep(third));
}

/// Takes the rounds one after the other, on a stack of its own.
async fn sweep(rounds: Vec<Round>) {
    let mut stack = Stack::with(Options { lease_seconds: Some(2), ..Options::default() }).await;
    let customer = Customer::stocked(&stack, 1_000_000).await;
    let mut answers = Answers::of(customer.tenant());
    for round in rounds {
        let began = Instant::now();
        let load =
            Load::with_buyers(&customer, &[stack.address("orders")], 1, &[stack.address("payments")], 1);
        for (program, places) in &round {
            take_turn(&mut stack, program, places).await;
        }
        for (program, _) in &round {
            stack.ready(program).await;
        }
        answers.extend(load.stop().await);
        stack.audited(&answers).await;
        println!("{:.1} s: {round:?}", began.elapsed().as_secs_f64());
    }
}

/// Kills a program at each of these places, and leaves it as it was.
async fn take_turn(stack: &mut Stack, program: &'static str, places: &[String]) {
    stack.program(program).terminate();
    assert!(stack.program(program).ended().await.success(), "{program} was asked to end");
    for place in places {
        let crash = [("IDEM_CRASH", place.as_str())];
        // Orders wait while the other programs come back: with so little time they are due.
        let soon = [("IDEM_SAGA__EXPIRY_SECONDS", "1"), ("IDEM_SAGA__EXPIRY_POLL_MILLISECONDS", "50")];
        let more = if place.starts_with("expire.order_picked") { &soon[..] } else { &[] };
        stack.launch(program, &[&crash, more].concat());
        if stack.ready_or_ended(program).await.is_none() {
            provoke(stack, program, place).await;
        }
        let what = format!("{program} reaches {place}");
        let status = eventually(&what, async || stack.program(program).has_ended()).await;
        assert!(stack.program(program).was_killed(), "{program} at {place} ended otherwise: {status}");
    }
    stack.launch(program, &[]);
}

/// Customers reach most places; for the others something is done.
async fn provoke(stack: &mut Stack, program: &str, place: &str) {
    if place.starts_with("shutdown.draining") {
        stack.program(program).terminate();
    } else if place.starts_with("consume.partitions_revoked") {
        rebalance_until_dead(stack, program).await;
    }
}

/// A second member comes into the group and leaves it: with each, the partitions of the first are taken back.
async fn rebalance_until_dead(stack: &mut Stack, program: &str) {
    let second = format!("{program}-2");
    while stack.program(program).has_ended().is_none() {
        stack.launch_ready(&second, &[]).await;
        eventually("the second member has partitions, or the first is dead", async || {
            let assigned = stack.program(&second).log().contains("partitions assigned");
            (assigned || stack.program(program).has_ended().is_some()).then_some(())
        })
        .await;
        stack.program(&second).terminate();
        assert!(stack.program(&second).ended().await.success());
    }
}
