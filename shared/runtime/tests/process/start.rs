//! The start of the process: wrong configurations, missing servers and missing tables.

use std::process::Stdio;

use testkit::{Proxy, given};
use tokio::process::Command;

use crate::greeter::{Running, Surroundings, ask, greeter, stderr};

#[tokio::test]
async fn a_wrong_configuration_is_one_list_and_exit_code_2() {
    let mut wrong = greeter("serve");
    wrong
        .env_remove("IDEM_DEPLOYMENT__NAME")
        .env("IDEM_HTTP__PORT", "many")
        .env("IDEM_HTTP__PROT", "1")
        .env("IDEM_GREETER__TIRED", "a bit");
    let output = wrong.output().await.unwrap();
    assert_eq!(output.status.code(), Some(2));
    let text = stderr(&output);
    for line in [
        "greeter: 7 errors in the configuration; `greeter defaults` prints every setting",
        "  - IDEM_HTTP__PORT must be a whole number from 0 to 65535",
        "  - IDEM_AUTH__JWKS is missing: the path or URL of the keys that tokens are checked with",
        "  - IDEM_DATABASE__URL is missing: the database, as the role that serves: postgres://role:password@host:port/database",
        "  - IDEM_KAFKA__BROKERS is missing: the brokers, host:port, several separated by commas",
        "  - IDEM_DEPLOYMENT__NAME must be a name that only this deployment has; IDEM_MODE__DEVELOPMENT=true accepts it",
        "  - IDEM_GREETER__TIRED must be true or false",
        "  - IDEM_HTTP__PROT is not a setting of greeter; correct or unset it",
    ] {
        assert!(text.lines().any(|found| found == line), "no line {line:?} in\n{text}");
    }
}

#[tokio::test]
async fn openapi_and_defaults_need_no_configuration() {
    let mut openapi = greeter("openapi");
    let output = openapi.arg("--described").env("IDEM_HTTP__PORT", "many").output().await.unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["info"]["title"], "Greeter");
    assert_eq!(document["paths"]["/v1/greeting"]["get"]["operationId"], "greet");

    let output = greeter("defaults").output().await.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("\nreply_seconds = 86400 ") && text.contains("\ntired = false "), "{text}");
}

#[tokio::test]
async fn readiness_says_which_server_is_missing() {
    let surroundings = Surroundings::new().await;
    let server = given("IDEM_POSTGRES_URL");
    let postgres = Proxy::to(server.rsplit('@').next().unwrap().split('/').next().unwrap()).await;
    let kafka = Proxy::to(given("IDEM_KAFKA_BROKERS")).await;
    postgres.cut().await;
    kafka.cut().await;
    let mut serve = surroundings.serve();
    serve
        .env("IDEM_DATABASE__URL", surroundings.database.service_url(Some(postgres.address())))
        .env("IDEM_KAFKA__BROKERS", kafka.address().to_string());
    let running = Running::start(&mut serve);

    running
        .readiness(
            503,
            r#"{"status":"starting","database":"away","broker":"away","keys":"ok","deployment":"unknown"}"#,
        )
        .await;
    assert_eq!(running.get("/health/live").await, Some((200, r#"{"status":"live"}"#.to_owned())));
    let (status, problem) = running.get("/v1/greeting").await.unwrap();
    assert_eq!(status, 503);
    assert!(problem.contains("\"service-unavailable\""), "{problem}");
    running.logged("waiting for PostgreSQL: ").await;

    postgres.mend();
    running
        .readiness(
            503,
            r#"{"status":"starting","database":"ok","broker":"away","keys":"ok","deployment":"ok"}"#,
        )
        .await;
    assert_eq!(running.get("/v1/greeting").await, Some((200, "\"Hello\"".to_owned())));
    running.logged("waiting for Kafka: ").await;

    kafka.mend();
    running.ready().await;
    // Each server has one log line, although it was tried several times.
    assert_eq!(running.entries("waiting for PostgreSQL: ").len(), 1);

    postgres.cut().await;
    running
        .readiness(
            503,
            r#"{"status":"unavailable","database":"away","broker":"ok","keys":"ok","deployment":"ok"}"#,
        )
        .await;
    assert_eq!(running.get("/health/live").await.unwrap().0, 200);
    postgres.mend();
    running.ready().await;
    running.end().await;
    surroundings.clear().await;
}

#[tokio::test]
async fn without_its_tables_the_service_waits_for_a_migration() {
    let surroundings = Surroundings::new().await;
    let mut serve = surroundings.serve();
    let running = Running::start(serve.env_remove("IDEM_DATABASE__MIGRATION_URL"));
    running
        .readiness(503, r#"{"status":"starting","database":"not migrated","broker":"away","keys":"ok","deployment":"unknown"}"#)
        .await;
    assert_eq!(running.get("/v1/greeting").await.unwrap().0, 503);
    running.logged("waiting for the migrations: ").await;

    for _ in 0..2 {
        let mut migrate = greeter("migrate");
        migrate.env("IDEM_DATABASE__MIGRATION_URL", surroundings.database.owner_url());
        let output = migrate.output().await.unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
    }
    running.ready().await;
    assert_eq!(running.get("/v1/greeting").await, Some((200, "\"Hello\"".to_owned())));
    running.end().await;
    surroundings.clear().await;
}

#[tokio::test]
async fn two_instances_may_start_at_once() {
    let surroundings = Surroundings::new().await;
    let (one, two) = (Running::start(&mut surroundings.serve()), Running::start(&mut surroundings.serve()));
    one.ready().await;
    two.ready().await;
    one.end().await;
    two.end().await;
    surroundings.clear().await;
}

/// A frozen member keeps the group from assigning partitions, until its session ends.
#[tokio::test]
async fn an_instance_is_ready_once_its_consumer_has_been_assigned_partitions() {
    let surroundings = Surroundings::new().await;
    let frozen = Running::start(&mut surroundings.serve());
    frozen.ready().await;
    frozen.signal("-STOP");
    let running = Running::start(&mut surroundings.serve());
    running.ready().await;
    let assigned = running.logged("partitions assigned").await;
    let ready = running.logged("ready").await;
    assert!(assigned["timestamp"].as_str() <= ready["timestamp"].as_str(), "{assigned} {ready}");
    frozen.signal("-CONT");
    frozen.end().await;
    running.end().await;
    surroundings.clear().await;
}

#[tokio::test]
async fn a_port_in_use_is_named_with_the_remedy() {
    let surroundings = Surroundings::new().await;
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let mut serve = surroundings.serve();
    serve.env("IDEM_HTTP__PORT", port.to_string()).env("IDEM_ADMIN__PORT", "0");
    let output = serve.output().await.unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    assert!(text.contains(&format!("cannot listen on 127.0.0.1:{port}")), "{text}");
    assert!(text.contains("IDEM_HTTP__PORT chooses another port"), "{text}");
}

#[tokio::test]
async fn operators_have_a_listener_of_their_own() {
    let surroundings = Surroundings::new().await;
    let running = Running::start(surroundings.serve().env("IDEM_HTTP__BIND", "0.0.0.0"));
    running.ready().await;
    let admin = running.address("admin").await;
    assert!(admin.ip().is_loopback(), "{admin}");
    assert_eq!(ask(admin, "GET", "/health/ready").await.unwrap().0, 200);
    let (status, metrics) = ask(admin, "GET", "/metrics").await.unwrap();
    assert_eq!(status, 200);
    assert!(metrics.lines().any(|line| line == "idem_ready 1"), "{metrics}");
    assert!(metrics.contains("idem_build_info{service=\"greeter\""), "{metrics}");
    assert_eq!(running.get("/metrics").await.unwrap().0, 404, "clients do not see metrics");

    let public = running.address("address").await;
    assert_eq!(ask(public, "HEAD", "/health/ready").await, Some((200, String::new())));
    let (status, problem) = ask(public, "POST", "/health/ready").await.unwrap();
    assert_eq!(status, 405);
    assert!(problem.contains("\"method-not-allowed\""), "{problem}");
    running.end().await;
    surroundings.clear().await;
}

/// `serve` under this limit of open files, in the words of `ulimit`.
fn serve_limited(surroundings: &Surroundings, limit: &str) -> Command {
    let serve = surroundings.serve();
    let mut limited = Command::new("sh");
    limited.args(["-c", &format!("ulimit {limit} && exec \"$0\" serve")]).arg(serve.as_std().get_program());
    limited.env_clear().envs(serve.as_std().get_envs().filter_map(|(name, value)| Some((name, value?))));
    limited.stdin(Stdio::null()).kill_on_drop(true);
    limited
}

#[tokio::test]
async fn a_process_that_may_open_too_few_files_says_how_many_it_needs() {
    let surroundings = Surroundings::new().await;
    for limit in [24, 40, 127] {
        let output = serve_limited(&surroundings, &format!("-n {limit}")).output().await.unwrap();
        let log = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{log}");
        assert!(log.contains(&format!("this process may open {limit} files, and needs 128")), "{log}");
        assert!(!log.contains("panicked"), "{log}");
    }
    let running = Running::start(&mut serve_limited(&surroundings, "-S -n 40"));
    running.ready().await;
    running.end().await;
    surroundings.clear().await;
}

#[tokio::test]
async fn a_page_of_a_configured_origin_may_call_the_service() {
    const PAGE: &str = "https://shop.example";
    let surroundings = Surroundings::new().await;
    let mut serve = surroundings.serve();
    serve.env("IDEM_HTTP__CORS_ORIGINS", PAGE);
    let running = Running::start(&mut serve);
    running.ready().await;
    let url = format!("http://{}/v1/greeting", running.address("address").await);
    let response = testkit::http::client().get(url).header("Origin", PAGE).send().await.unwrap();
    assert_eq!(response.headers()["access-control-allow-origin"], PAGE);
    running.end().await;

    serve.env("IDEM_HTTP__CORS_ORIGINS", "https://shop.example/path");
    let text = stderr(&serve.output().await.unwrap());
    assert!(text.contains("IDEM_HTTP__CORS_ORIGINS must be origins such as https://shop.example"), "{text}");
    surroundings.clear().await;
}

#[tokio::test]
async fn the_health_command_reads_the_running_instance() {
    let surroundings = Surroundings::new().await;
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let health = greeter("health").env("IDEM_HTTP__PORT", &free).output().await.unwrap();
    assert_eq!(health.status.code(), Some(1));
    assert!(stderr(&health).contains("no instance answers"), "{}", stderr(&health));

    let running = Running::start(&mut surroundings.serve());
    running.ready().await;
    let port = running.address("address").await.port().to_string();
    let health = greeter("health").env("IDEM_HTTP__PORT", port).output().await.unwrap();
    assert_eq!(health.status.code(), Some(0), "{}", stderr(&health));
    running.end().await;
    surroundings.clear().await;
}
