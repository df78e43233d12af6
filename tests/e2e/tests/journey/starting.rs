//! Starting without what is needed, and with a wrong configuration.

use e2e::{Options, Stack};
use serde_json::Value;
use testkit::{eventually, http};

async fn readiness(url: &str) -> (u16, Value) {
    let answer = http::client().get(format!("{url}/health/ready")).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_without_its_servers_waits_and_says_which_is_missing() {
    let mut stack = Stack::prepared(Options::default()).await;
    // Nobody listens on port 1.
    let nowhere = "postgres://nobody:nothing@127.0.0.1:1/nothing";
    let away = [("IDEM_DATABASE__URL", nowhere), ("IDEM_DATABASE__MIGRATION_URL", nowhere)];
    stack.launch("orders", &away);
    let url = stack.url("orders").await;
    let (status, health) = eventually("readiness is answered", async || Some(readiness(&url).await)).await;
    assert_eq!(status, 503);
    assert_ne!(health["database"], "ok");
    assert_eq!(http::client().get(format!("{url}/health/live")).send().await.unwrap().status(), 200);
    assert!(stack.program("orders").has_ended().is_none());

    stack.launch("orders", &[("IDEM_KAFKA__BROKERS", "127.0.0.1:1")]);
    let url = stack.url("orders").await;
    let health = eventually("the database is there and the broker is missed", async || {
        let (status, health) = readiness(&url).await;
        (health["database"] == "ok").then_some((status, health))
    })
    .await;
    assert_eq!(health.0, 503, "not ready before it has seen a broker: {}", health.1);
    assert_ne!(health.1["broker"], "ok");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_configuration_is_told_whole_and_ends_with_2() {
    let mut stack = Stack::prepared(Options::default()).await;
    for name in ["orders", "inventory", "payments"] {
        let wrong = [("IDEM_HTTP__PORT", "eighty"), ("IDEM_DATABASE__URL", ""), ("IDEM_HTP__PORT", "1")];
        if name == "payments" {
            stack.launch("provider", &[]);
        }
        stack.launch(name, &wrong);
        assert_eq!(stack.program(name).ended().await.code(), Some(2), "{name}");
        let said = stack.program(name).log();
        for fault in ["IDEM_HTTP__PORT", "IDEM_DATABASE__URL", "IDEM_HTP__PORT"] {
            assert!(said.contains(fault), "{name} does not name {fault}: {said}");
        }
    }
}
