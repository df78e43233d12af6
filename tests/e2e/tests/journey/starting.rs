//! Programs that start without their servers, or with a wrong configuration.

use e2e::{Options, Part, Stack};
use testkit::eventually;

#[tokio::test(flavor = "multi_thread")]
async fn a_service_without_its_servers_waits_and_says_which_is_missing() {
    let mut stack = Stack::prepared(Options::default()).await;
    // Port 1 has no listener.
    let nowhere = "postgres://nobody:nothing@127.0.0.1:1/nothing";
    let away = [("IDEM_DATABASE__URL", nowhere), ("IDEM_DATABASE__MIGRATION_URL", nowhere)];
    stack.launch("orders", &away);
    stack.program("orders").address().await.unwrap();
    let ready = stack.api().get(Part::ORDERS, "/health/ready").await.unwrap();
    assert_eq!(ready.status, 503);
    assert_ne!(ready.json()["database"], "ok");
    assert_eq!(stack.api().get(Part::ORDERS, "/health/live").await.unwrap().status, 200);
    assert!(stack.has_ended("orders").is_none());

    stack.kill("orders").await;
    stack.launch("orders", &[("IDEM_KAFKA__BROKERS", "127.0.0.1:1")]);
    stack.program("orders").address().await.unwrap();
    let health = eventually("the database is reached and the broker is not", async || {
        let ready = stack.api().get(Part::ORDERS, "/health/ready").await.unwrap();
        (ready.json()["database"] == "ok").then_some(ready)
    })
    .await;
    assert_eq!(health.status, 503, "not ready before it has reached a broker: {}", health.json());
    assert_ne!(health.json()["broker"], "ok");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_configuration_is_reported_whole_and_exits_with_2() {
    let mut stack = Stack::prepared(Options::default()).await;
    let wrong = [("IDEM_HTTP__PORT", "eighty"), ("IDEM_DATABASE__URL", ""), ("IDEM_HTP__PORT", "1")];
    for service in Part::SERVICES.map(Part::name) {
        stack.launch(service, &wrong);
        let error = stack.program(service).address().await.unwrap_err().to_string();
        assert!(error.contains("ended before it listened"), "{error}");
        assert_eq!(stack.program(service).ended().await.unwrap().code(), Some(2), "{service}");
        let log = stack.program(service).log();
        for (variable, _) in wrong {
            assert!(log.contains(variable), "{service} does not name {variable}: {log}");
        }
    }
}
