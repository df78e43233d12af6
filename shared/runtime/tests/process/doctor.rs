//! The command `doctor`: each fault is planted, found, and named with its cure.

use std::collections::BTreeSet;

use contracts::OrderId;
use diesel_async::SimpleAsyncConnection;
use serde_json::Value;
use testkit::{configure_topic, eventually, given, remove_records};
use tokio::process::Command;

use crate::audits::plant;
use crate::greeter::{Running, Surroundings, greeter, stderr};
use crate::operators::{confirm, greeted};

/// `doctor` with the settings of the role that serves.
pub(crate) fn doctor(surroundings: &Surroundings) -> Command {
    let mut doctor = greeter("doctor");
    doctor
        .arg("--json")
        .env("IDEM_DATABASE__URL", surroundings.database.service_url(None))
        .env("IDEM_KAFKA__BROKERS", given("IDEM_KAFKA_BROKERS"))
        .env("IDEM_DEPLOYMENT__NAME", surroundings.deployment());
    doctor
}

/// The subjects at fault. Each fault has a cure, and the exit code says whether there is one.
pub(crate) async fn faults(doctor: &mut Command) -> BTreeSet<String> {
    let output = doctor.output().await.unwrap();
    let report: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    let findings = report["findings"].as_array().unwrap().iter();
    let faults: Vec<&Value> = findings.filter(|finding| finding["grade"] == "fault").collect();
    assert!(
        faults.iter().all(|fault| fault["cure"].as_str().is_some_and(|cure| !cure.is_empty())),
        "{report}"
    );
    assert_eq!(output.status.code(), Some(i32::from(!faults.is_empty())), "{report}");
    faults.into_iter().map(|fault| fault["subject"].as_str().unwrap().to_owned()).collect()
}

pub(crate) fn subjects<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
    names.map(str::to_owned).into()
}

#[tokio::test]
async fn a_service_that_runs_has_no_fault_and_one_that_never_ran_lacks_migrations_topics_and_relay() {
    let surroundings = Surroundings::new().await;
    let deployment = surroundings.deployment();
    let topics = ["orders.events", "greeter.dlq"];
    let topics = topics.map(|topic| format!("topic {deployment}.{topic}"));
    let mut expected = subjects(["migrations", "relay", "consumer"]);
    expected.extend(topics);
    assert_eq!(faults(&mut doctor(&surroundings)).await, expected);

    let running = Running::start(&mut surroundings.serve());
    running.ready().await;
    eventually("no fault", async || faults(&mut doctor(&surroundings)).await.is_empty().then_some(())).await;
    running.end().await;
    surroundings.clear().await;
}

#[tokio::test]
async fn each_fault_in_the_database_is_found() {
    let surroundings = Surroundings::new().await;
    let running = Running::start(&mut surroundings.serve());
    running.ready().await;
    eventually("no fault", async || faults(&mut doctor(&surroundings)).await.is_empty().then_some(())).await;
    let mut owner = surroundings.database.owner().await;
    let risky = "DO $$ BEGIN
                     EXECUTE format('ALTER DATABASE %I SET synchronous_commit = off', current_database());
                 END $$";
    let blocked =
        "INSERT INTO outbox_blocked (id, aggregate_id, error) VALUES (1000000, gen_random_uuid(), 'planted')";
    let mut expected = BTreeSet::new();
    for (subject, damage) in [
        ("failing jobs", "UPDATE job_lease SET last_error = 'planted' WHERE name = 'tombstones'"),
        (
            "jobs",
            "UPDATE job_lease SET last_succeeded_at = now() - interval '4 hours' WHERE name = 'operations'",
        ),
        ("blocked events", blocked),
        ("PostgreSQL", risky),
    ] {
        owner.batch_execute(damage).await.unwrap();
        expected.insert(subject.to_owned());
        assert_eq!(faults(&mut doctor(&surroundings)).await, expected);
    }
    plant(&surroundings).await;
    expected.insert("parked messages".to_owned());
    assert_eq!(faults(&mut doctor(&surroundings)).await, expected);
    expected.insert("role".to_owned());
    let mut as_owner = doctor(&surroundings);
    as_owner.env("IDEM_DATABASE__URL", surroundings.database.owner_url());
    assert_eq!(faults(&mut as_owner).await, expected);
    running.end().await;
    surroundings.clear().await;
}

#[tokio::test]
async fn records_that_kafka_removed_before_they_were_read_are_a_fault() {
    let surroundings = Surroundings::new().await;
    let running = Running::start(&mut surroundings.serve());
    running.ready().await;
    let order = OrderId::generate();
    confirm(&surroundings, order, 1..=1).await;
    eventually("the message is consumed", async || (!greeted(&surroundings).await.is_empty()).then_some(()))
        .await;
    running.end().await;
    confirm(&surroundings, order, 2..=2).await;
    let topic = format!("{}.orders.events", surroundings.deployment());
    remove_records(&topic).await;
    assert!(faults(&mut doctor(&surroundings)).await.contains("consumer"));
    configure_topic(&topic, "cleanup.policy", "compact,delete").await;
    assert!(faults(&mut doctor(&surroundings)).await.contains("topic properties"));
    surroundings.clear().await;
}

#[tokio::test]
async fn servers_that_are_away_are_findings() {
    let surroundings = Surroundings::new().await;
    let mut away = doctor(&surroundings);
    away.env("IDEM_DATABASE__URL", "postgres://a:b@127.0.0.1:1/c").env("IDEM_KAFKA__BROKERS", "127.0.0.1:1");
    assert_eq!(faults(&mut away).await, subjects(["PostgreSQL", "Kafka"]));
}
