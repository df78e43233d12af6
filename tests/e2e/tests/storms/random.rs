//! Kills and freezes of everything at random, under load: both instances of each service, all other programs, PostgreSQL and Kafka.
//! `./dev storm` runs it for minutes. The seed decides what is hit, how, and for how long; the load is not repeatable.

use std::env::VarError;
use std::time::{Duration, Instant};

use e2e::{Customer, Load, Options, Part, Stack};
use harness::Instance;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use testkit::{Broker, Postgres};

use crate::turn;

/// The length of a fault in milliseconds. Leases are 2 s long, and sessions of consumers 6 s.
const FAULT: std::ops::Range<u64> = 200..9_000;

/// The time between two faults in milliseconds.
const PAUSE: std::ops::Range<u64> = 200..2_500;

/// At most so many orders are open when the last fault ends. A backlog would measure the machine.
const CUSTOMERS: usize = 20;

const OPEN_ORDERS: &str = "SELECT count(*) FROM orders WHERE state NOT IN ('confirmed', 'cancelled')";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Program(Instance),
    Postgres,
    Kafka,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Kill,
    Freeze,
}

/// An installation, and the servers of its own. Fields are dropped in this order: databases before their server.
struct Storm {
    stack: Stack,
    postgres: Postgres,
    kafka: Broker,
}

impl Storm {
    async fn begin(&mut self, target: Target, fault: Fault) {
        match (target, fault) {
            (Target::Program(one), Fault::Kill) => self.stack.kill(&one.to_string()).await,
            (Target::Program(one), Fault::Freeze) => self.stack.program(&one.to_string()).pause().unwrap(),
            (Target::Postgres, Fault::Kill) => self.postgres.kill().await,
            (Target::Postgres, Fault::Freeze) => self.postgres.pause(),
            (Target::Kafka, Fault::Kill) => self.kafka.kill().await,
            (Target::Kafka, Fault::Freeze) => self.kafka.pause(),
        }
    }

    /// A killed program is started, and not awaited: the next fault may hit it while it starts.
    async fn end(&mut self, target: Target, fault: Fault) {
        match (target, fault) {
            (Target::Program(one), Fault::Kill) => self.stack.launch(&one.to_string(), &[]),
            (Target::Program(one), Fault::Freeze) => self.stack.program(&one.to_string()).resume().unwrap(),
            (Target::Postgres, Fault::Kill) => self.postgres.start_again().await,
            (Target::Postgres, Fault::Freeze) => self.postgres.resume(),
            (Target::Kafka, Fault::Kill) => self.kafka.start_again().await,
            (Target::Kafka, Fault::Freeze) => self.kafka.resume(),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_kills_and_freezes_of_everything_at_random_every_order_ends_as_promised() {
    let _turn = turn().await;
    let length = Duration::from_secs(given("IDEM_STORM_SECONDS").unwrap_or(45));
    let seed = given("IDEM_STORM_SEED").unwrap_or_else(rand::random);
    println!("a storm of {} s with the seed {seed}", length.as_secs());
    let mut random = StdRng::seed_from_u64(seed);

    let (postgres, kafka) = tokio::join!(Postgres::start(), Broker::start());
    let servers =
        Options { brokers: Some(kafka.brokers()), postgres: Some(postgres.url()), ..Options::default() };
    let stack = Stack::with(Options { two_of_each: true, lease_seconds: Some(2), ..servers }).await;
    let customer = Customer::stocked(&stack, 1_000_000).await;
    let mut load = Load::of_waiting_customers(&customer, &stack.services(2), CUSTOMERS);

    let mut storm = Storm { stack, postgres, kafka };
    let instances = Instance::all(2, false);
    let programs: Vec<Target> = instances.iter().copied().map(Target::Program).collect();
    let targets = [&programs[..], &[Target::Postgres, Target::Kafka]].concat();
    let start = Instant::now();
    let mut faults = 0;
    while start.elapsed() < length {
        // In one of three cases, two faults at the same time.
        let several = if random.random_ratio(1, 3) { 2 } else { 1 };
        let mut hit = Vec::new();
        let sampled: Vec<Target> = targets.sample(&mut random, several).copied().collect();
        for target in sampled {
            hit.push((target, if random.random_ratio(1, 2) { Fault::Kill } else { Fault::Freeze }));
        }
        let lasts = Duration::from_millis(random.random_range(FAULT));
        println!("{:5.1} s: {hit:?} for {:.1} s", start.elapsed().as_secs_f64(), lasts.as_secs_f64());
        for (target, fault) in &hit {
            storm.begin(*target, *fault).await;
        }
        // These are the lengths of the fault and of the pause, and wait for no condition.
        tokio::time::sleep(lasts).await;
        for (target, fault) in &hit {
            storm.end(*target, *fault).await;
        }
        tokio::time::sleep(Duration::from_millis(random.random_range(PAUSE))).await;
        faults += hit.len();
    }

    println!("{faults} faults, the last of them now over");
    // Waits at most a minute, beside the last requests of the customers.
    let (responses, ()) = tokio::join!(load.finish(), storm.stack.counts(Part::ORDERS, OPEN_ORDERS, 0));
    for instance in instances {
        storm.stack.ready(&instance.to_string()).await;
    }
    load.replay(&responses).await;
    storm.stack.audited(&responses).await;
}

/// A number from the environment, as `./dev storm` sets it.
fn given<T: std::str::FromStr>(name: &str) -> Option<T> {
    match std::env::var(name) {
        Ok(text) => Some(text.parse().unwrap_or_else(|_| panic!("{name} is '{text}'"))),
        Err(VarError::NotPresent) => None,
        Err(error) => panic!("{name}: {error}"),
    }
}
