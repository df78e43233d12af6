//! The end of the process: by a signal, by a failed task, or by a second signal.

use diesel::sql_types::Bool;
use diesel::{QueryableByName, sql_query};
use diesel_async::RunQueryDsl;
use testkit::{eventually, given};

use crate::greeter::{Running, Surroundings, ask, greeter};

#[derive(QueryableByName)]
pub(crate) struct Lease {
    #[diesel(sql_type = Bool)]
    pub(crate) held: bool,
    #[diesel(sql_type = Bool)]
    pub(crate) taken: bool,
}

/// Returns whether a relay has the lease, and whether a relay ever had it.
pub(crate) async fn lease(surroundings: &Surroundings) -> Lease {
    let query = "SELECT lease_until > clock_timestamp() AS held, epoch > 0 AS taken FROM outbox_lease";
    sql_query(query).get_result(&mut surroundings.database.owner().await).await.unwrap()
}

#[tokio::test]
async fn sigterm_lets_a_request_end_and_gives_the_lease_back() {
    let surroundings = Surroundings::new().await;
    let mut serve = surroundings.serve();
    let mut running = Running::start(serve.env("IDEM_GREETER__PAUSE_MILLISECONDS", "1500"));
    running.ready().await;
    eventually("the relay's lease", async || lease(&surroundings).await.held.then_some(())).await;

    let request = running.get("/v1/greeting");
    let terminate = async {
        running.logged("thinking").await;
        running.terminate();
        let admin = running.address("admin").await;
        let stopping = r#"{"status":"stopping","database":"ok","broker":"ok","keys":"ok","deployment":"ok"}"#;
        eventually("readiness to be taken back", async || {
            ask(admin, "GET", "/health/ready")
                .await
                .filter(|response| *response == (503, stopping.to_owned()))
        })
        .await;
        eventually("no more connections", async || running.get("/health/live").await.is_none().then_some(()))
            .await;
    };
    let (response, ()) = tokio::join!(request, terminate);
    assert_eq!(response, Some((200, "\"Hello\"".to_owned())));
    assert_eq!(running.exit_code().await, Some(0));
    let lease = lease(&surroundings).await;
    assert!(lease.taken && !lease.held, "a standby would have to wait for the lease to run out");
    surroundings.clear().await;
}

#[tokio::test]
async fn a_request_that_outlasts_the_drain_is_reported() {
    let surroundings = Surroundings::new().await;
    let mut serve = surroundings.serve();
    serve.env("IDEM_GREETER__PAUSE_MILLISECONDS", "60000").env("IDEM_SHUTDOWN__DRAIN_SECONDS", "1");
    let mut running = Running::start(&mut serve);
    running.ready().await;
    let end = async {
        running.logged("thinking").await;
        running.terminate();
        running.logged("greeter failed: did not end in time: requests").await;
    };
    assert_eq!(tokio::join!(running.get("/v1/greeting"), end).0, None);
    assert_eq!(running.exit_code().await, Some(1));
    surroundings.clear().await;
}

#[tokio::test]
async fn a_second_signal_ends_it_at_once() {
    let surroundings = Surroundings::new().await;
    let mut serve = surroundings.serve();
    serve.env("IDEM_GREETER__PAUSE_MILLISECONDS", "60000").env("IDEM_SHUTDOWN__DRAIN_SECONDS", "3600");
    let mut running = Running::start(&mut serve);
    running.ready().await;
    let end = async {
        running.logged("thinking").await;
        running.terminate();
        running.logged("stopping: a signal was received").await;
        running.terminate();
        running.logged("greeter failed: a second signal was received").await;
    };
    assert_eq!(tokio::join!(running.get("/v1/greeting"), end).0, None);
    assert_eq!(running.exit_code().await, Some(1));
    surroundings.clear().await;
}

#[tokio::test]
async fn a_background_task_that_ends_ends_the_process() {
    let surroundings = Surroundings::new().await;
    let mut running = Running::start(surroundings.serve().env("IDEM_GREETER__TIRED", "true"));
    assert_eq!(running.exit_code().await, Some(1));
    running.logged("stopping: the background task \"yawn\" ended before it was stopped").await;
    surroundings.clear().await;
}

#[tokio::test]
async fn it_can_be_stopped_while_it_waits_for_a_server() {
    let surroundings = Surroundings::new().await;
    let mut serve = surroundings.serve();
    let mut running = Running::start(serve.env("IDEM_KAFKA__BROKERS", "127.0.0.1:1"));
    running
        .readiness(
            503,
            r#"{"status":"starting","database":"ok","broker":"away","keys":"ok","deployment":"ok"}"#,
        )
        .await;
    running.terminate();
    assert_eq!(running.exit_code().await, Some(0));
}

#[tokio::test]
async fn the_relay_runs_on_its_own() {
    let surroundings = Surroundings::new().await;
    let mut serve = surroundings.serve();
    let serving = Running::start(serve.env("IDEM_RELAY__IN_PROCESS", "false"));
    serving.ready().await;
    assert!(!lease(&surroundings).await.taken);

    let mut relay = greeter("relay");
    relay
        .env("IDEM_DATABASE__URL", surroundings.database.service_url(None))
        .env("IDEM_KAFKA__BROKERS", given("IDEM_KAFKA_BROKERS"))
        .env("IDEM_DEPLOYMENT__NAME", surroundings.deployment())
        .env("IDEM_ADMIN__PORT", "0")
        .env("IDEM_LOG__FORMAT", "json");
    let mut relaying = Running::start(&mut relay);
    eventually("the relay's lease", async || lease(&surroundings).await.held.then_some(())).await;
    let admin = relaying.address("admin").await;
    eventually("the relay is ready", async || {
        ask(admin, "GET", "/health/ready").await.filter(|(status, _)| *status == 200)
    })
    .await;
    let (status, metrics) = ask(admin, "GET", "/metrics").await.unwrap();
    assert_eq!(status, 200);
    assert!(metrics.contains("\noutbox_holds_lease 1\n"), "{metrics}");
    relaying.terminate();
    assert_eq!(relaying.exit_code().await, Some(0));
    assert!(!lease(&surroundings).await.held);
    serving.end().await;
    surroundings.clear().await;
}
