//! The auditor: the command `audit`, and the job that asks again and again.

use std::process::Output;

use diesel_async::SimpleAsyncConnection;
use serde_json::Value;
use testkit::{Metrics, eventually};

use crate::greeter::{Running, Surroundings, ask, greeter, stderr};

const PARKED: &str = "invariant_violations_total{invariant=\"nothing_waits_in_the_inbox\"}";

async fn audit(surroundings: &Surroundings, arguments: &[&str]) -> Output {
    let mut audit = greeter("audit");
    audit.args(arguments).env("IDEM_DATABASE__URL", surroundings.database.service_url(None));
    audit.output().await.unwrap()
}

/// Parks a message without a handler's error, as no program does.
pub(crate) async fn plant(surroundings: &Surroundings) {
    let parked = "INSERT INTO inbox_parked (consumer, message_id, source, aggregate_id, sequence, state, topic, \
                                            partition, record_offset, headers, payload, error) \
                  VALUES ('greeter', gen_random_uuid(), 'orders', gen_random_uuid(), 1, 'parked', 't', 0, 0, '[]', '', 'planted')";
    surroundings.database.owner().await.batch_execute(parked).await.unwrap();
}

#[tokio::test]
async fn the_command_lists_each_violation_and_ends_with_1_while_there_is_one() {
    let surroundings = Surroundings::new().await;
    let sound = audit(&surroundings, &[]).await;
    let text = String::from_utf8(sound.stdout.clone()).unwrap();
    assert_eq!(sound.status.code(), Some(0), "{text}{}", stderr(&sound));
    let invariants = audits::of_service("greeter").count();
    assert!(text.ends_with(&format!("{invariants} invariants, 0 violations\n")), "{text}");
    for question in audits::of_service("greeter") {
        assert!(text.contains(&format!("holds     {}\n", question.invariant())), "{text}");
    }

    plant(&surroundings).await;
    let damaged = audit(&surroundings, &["--json"]).await;
    assert_eq!(damaged.status.code(), Some(1), "{}", stderr(&damaged));
    let report: Value = serde_json::from_slice(&damaged.stdout).unwrap();
    assert_eq!(report["violations"], 1);
    let violated = report["invariants"].as_array().unwrap().iter();
    let violated: Vec<_> =
        violated.filter(|invariant| invariant["violations"] != Value::Array(vec![])).collect();
    assert_eq!(violated.len(), 1);
    assert_eq!(violated[0]["name"], "nothing_waits_in_the_inbox");
    assert!(violated[0]["violations"][0].as_str().unwrap().contains("planted"), "{report}");
    surroundings.clear().await;
}

#[tokio::test]
async fn the_job_counts_and_logs_a_violation_and_none_while_every_invariant_holds() {
    let surroundings = Surroundings::new().await;
    let running = Running::start(surroundings.serve().env("IDEM_AUDIT__PAUSE_SECONDS", "1"));
    running.ready().await;
    let admin = running.address("admin").await;
    let metrics = async || Metrics::parse(&ask(admin, "GET", "/metrics").await.unwrap().1);
    eventually("a first audit", async || {
        let audited = metrics().await.series_of("job_since_success_seconds{name=\"audit\"}").len();
        (audited == 1).then_some(())
    })
    .await;
    let sound = metrics().await;
    assert_eq!(sound.count(PARKED), 0);
    assert_eq!(sound.by_label("invariant_violations_total"), []);

    plant(&surroundings).await;
    eventually("a counted violation", async || (metrics().await.count(PARKED) > 0).then_some(())).await;
    let line = running.logged("InvariantViolated").await;
    assert_eq!(line["invariant"], "nothing_waits_in_the_inbox");
    assert!(line["violation"].as_str().unwrap().contains("planted"), "{line}");
    running.end().await;
    surroundings.clear().await;
}
