//! `kill -9` at every crash point, at its first, second and third hit, under load; after each round the audit is clean.
//!
//! In a round, the services have their turns while customers go on ordering: a program starts with a
//! crash point, kills itself there, and starts again. Then the load ends, and the audit runs. A crash point that is not
//! reached fails the round.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::time::Instant;

use e2e::{Customer, Load, Options, Responses, Stack, crash_points, own_crash_points};
use harness::fence;
use testkit::eventually;
use uuid::Uuid;

use crate::turn;

/// The turn of a program: the crash points and hits at which it dies one after the other, such as
/// `execute.after_commit:2`.
type Turn = (&'static str, Vec<String>);

/// In this order, because a killed program is away from its consumer group for six seconds: services with crash points of their own need
/// the others to reach them, and a reader of orders needs orders.
type Round = Vec<Turn>;

const CONSUMER: &[&str] = &[
    "consume.batch_received",
    "consume.aggregates_locked",
    "consume.before_commit",
    "consume.after_commit",
    "consume.partitions_revoked",
];

fn each(points: &[&str], hits: RangeInclusive<u32>) -> Vec<String> {
    points.iter().flat_map(|point| hits.clone().map(move |hit| format!("{point}:{hit}"))).collect()
}

/// Every crash point at three hits. A process reaches `shutdown.draining` once: each program has a turn there.
fn rounds() -> Vec<Round> {
    let with_draining = |points: &[&str]| [each(points, 1..=3), each(&["shutdown.draining"], 1..=1)].concat();
    // The reader of orders with the fewest points of its own takes those of consumers, too.
    let of = |name: &str| {
        own_crash_points().iter().find(|(service, _)| *service == name).map_or(0, |(_, own)| own.len())
    };
    let readers = services::ALL.iter().filter(|service| service.reads.contains(&"orders"));
    let reader = readers.map(|service| service.name).min_by_key(|name| of(name)).unwrap();
    let (own, others): (Vec<_>, Vec<_>) = own_crash_points()
        .into_iter()
        .filter(|(_, points)| !points.is_empty())
        .partition(|(service, _)| *service == reader);
    let others: Vec<Turn> =
        others.into_iter().map(|(service, points)| (service, with_draining(points))).collect();
    let own = own.first().map_or(&[][..], |(_, points)| points);
    let consumer = with_draining(&[CONSUMER, own].concat());
    let orders = with_draining(&[
        "execute.key_claimed",
        "execute.command_done",
        "execute.before_commit",
        "execute.after_commit",
        "fence.before_commit",
        "fence.after_commit",
        "relay.page_read",
        "relay.message_sent",
        "relay.before_checkpoint",
        "relay.after_checkpoint",
        "expire.order_picked",
        "consume.batch_done",
    ]);
    let mut rounds: Vec<Round> = Vec::new();
    for hit in consumer {
        let before = others.iter().map(|(service, _)| (*service, Vec::new()));
        rounds.push(before.chain([(reader, vec![hit]), ("orders", Vec::new())]).collect());
    }
    let (count, last) = (rounds.len(), others.len() + 1);
    let hits = others.into_iter().map(|(_, hits)| hits).enumerate();
    for (turn, hits) in hits.chain([(last, orders)]) {
        for (number, hit) in hits.into_iter().enumerate() {
            rounds[number % count][turn].1.push(hit);
        }
    }
    rounds
}

#[test]
fn the_sweep_takes_every_crash_point_three_times() {
    let rounds = rounds();
    let taken: Vec<&String> = rounds.iter().flatten().flat_map(|(_, hits)| hits).collect();
    let points: BTreeSet<&str> = taken.iter().map(|hit| hit.split(':').next().unwrap()).collect();
    assert_eq!(points, crash_points());
    for point in points {
        let hits = taken.iter().filter(|hit| hit.starts_with(point)).count();
        assert_eq!(hits, if point == "shutdown.draining" { rounds[0].len() } else { 3 }, "{point}");
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

/// Runs the rounds one after the other, on a stack of its own.
async fn sweep(rounds: Vec<Round>) {
    let mut stack = Stack::with(Options { lease_seconds: Some(2), ..Options::default() }).await;
    let customer = Customer::stocked(&stack, 1_000_000).await;
    let mut responses = Responses::of(customer.tenant());
    for round in rounds {
        let began = Instant::now();
        let load = Load::with_others(&customer, &stack.services(1), 1, 1);
        for (program, hits) in &round {
            take_turn(&mut stack, &customer, program, hits).await;
        }
        for (program, _) in &round {
            stack.ready(program).await;
        }
        responses.extend(load.stop().await);
        stack.audited(&responses).await;
        println!("{:.1} s: {round:?}", began.elapsed().as_secs_f64());
    }
}

/// Kills a program at each of these hits, and starts it again.
async fn take_turn(stack: &mut Stack, customer: &Customer, program: &'static str, hits: &[String]) {
    stack.stop(program).await;
    for hit in hits {
        let crash = [("IDEM_CRASH", hit.as_str())];
        // Orders wait while the other programs come back: with so short a life they expire.
        let soon = [("IDEM_SAGA__EXPIRY_SECONDS", "1"), ("IDEM_SAGA__EXPIRY_POLL_MILLISECONDS", "50")];
        let more = if hit.starts_with("expire.order_picked") { &soon[..] } else { &[] };
        stack.launch(program, &[&crash, more].concat());
        if stack.ready_or_ended(program).await.is_none() {
            provoke(stack, customer, program, hit).await;
        }
        stack.killed_itself(program, hit).await;
    }
    stack.launch(program, &[]);
}

/// Makes the program reach a crash point that the load does not reach.
async fn provoke(stack: &mut Stack, customer: &Customer, program: &'static str, hit: &str) {
    if hit.starts_with("shutdown.draining") {
        stack.program(program).terminate().unwrap();
    } else if hit.starts_with("consume.partitions_revoked") {
        rebalance_until_dead(stack, program).await;
    } else if hit.starts_with("fence.") {
        let (endpoint, key) = (&stack.endpoints(&[program])[0], Uuid::new_v4().to_string());
        while stack.has_ended(program).is_none() {
            // The last one gets no response.
            let _ = customer.api.client().send(endpoint, &fence(endpoint.instance.part, &key)).await;
        }
    }
}

/// A second member joins and leaves the group. Each time, partitions of the first are revoked.
async fn rebalance_until_dead(stack: &mut Stack, program: &str) {
    let second = format!("{program}-2");
    while stack.has_ended(program).is_none() {
        stack.launch_ready(&second, &[]).await;
        eventually("the second member has partitions, or the first is dead", async || {
            let assigned = stack.program(&second).log().contains("partitions assigned");
            (assigned || stack.has_ended(program).is_some()).then_some(())
        })
        .await;
        stack.stop(&second).await;
    }
}
