//! The process: what it says about a wrong configuration, how it waits for PostgreSQL, and how it ends.

use std::process::{Output, Stdio};
use std::time::Duration;

use testkit::{Proxy, TestDatabase, eventually, free_port, given};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, Command};

use crate::listener::{Listener, ReceivedWebhook};
use crate::simulator::{Simulator, VISA, charge_form, client, post_to, read};

fn program(command: &str) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_stripe-sim"));
    program.arg(command).env_clear().stdin(Stdio::null()).kill_on_drop(true);
    program
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[tokio::test]
async fn a_wrong_configuration_is_reported_whole_and_exits_with_2() {
    let mut wrong = program("serve");
    wrong.env("IDEM_HTTP__PORT", "many").env("IDEM_LOG__FORMAT", "xml").env("IDEM_DATABASE__URL", "");
    let output = wrong.output().await.unwrap();
    assert_eq!(output.status.code(), Some(2));
    for name in ["IDEM_HTTP__PORT", "IDEM_LOG__FORMAT", "IDEM_DATABASE__URL"] {
        assert!(stderr(&output).contains(name), "{}", stderr(&output));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_postgresql_it_waits_and_is_not_ready() {
    let database = TestDatabase::plain().await;
    let server = given("IDEM_POSTGRES_URL");
    let upstream = server.rsplit('@').next().unwrap().split('/').next().unwrap().to_owned();
    let proxy = Proxy::to(upstream).await;
    proxy.cut().await;
    let sim = Simulator::on(database, proxy.address());
    sim.ready(503).await;
    let refused = sim.charge("k", VISA, 100).await;
    assert_eq!((refused.status, refused.error("type")), (503, "api_error".into()));

    proxy.mend();
    sim.ready(200).await;
    assert_eq!(sim.charge("k", VISA, 100).await.status, 200);
    proxy.cut().await;
    sim.ready(503).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn health_says_whether_the_instance_is_ready() {
    let sim = Simulator::start().await;
    let health = async |port: u16| {
        let mut health = program("health");
        health.env("IDEM_HTTP__BIND", "0.0.0.0").env("IDEM_HTTP__PORT", port.to_string());
        health.env("IDEM_DATABASE__URL", "postgres://localhost/unused").output().await.unwrap()
    };
    sim.ready(200).await;
    assert!(health(sim.address.port()).await.status.success());

    let proxy = Proxy::to("127.0.0.1:9".to_owned()).await; // no server listens there
    proxy.cut().await;
    let away = Simulator::on(TestDatabase::plain().await, proxy.address());
    away.ready(503).await;
    let output = health(away.address.port()).await;
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("is not ready"), "{}", stderr(&output));
}

/// A process that serves.
struct Serving {
    process: Child,
    base: String,
    /// Kept open: the process goes on to log.
    _log: Lines<BufReader<ChildStderr>>,
}

/// A process that serves these books, which are open.
async fn serving(database: &TestDatabase, more: &[(&str, &str)]) -> Serving {
    let mut serve = program("serve");
    serve.env("IDEM_HTTP__PORT", "0").env("IDEM_DATABASE__URL", database.service_url(None));
    serve.env("IDEM_DATABASE__MIGRATION_URL", database.owner_url()).env("IDEM_LOG__FORMAT", "json");
    let mut process = serve.envs(more.iter().copied()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
    let opened = async {
        let mut address = None;
        while let Some(line) = lines.next_line().await.unwrap() {
            let entry: serde_json::Value = serde_json::from_str(&line).unwrap();
            if let Some(found) = entry["address"].as_str() {
                address = Some(found.to_owned());
            }
            if entry["message"] == "the database is open" {
                break;
            }
        }
        address.expect("the log names the address")
    };
    let address =
        tokio::time::timeout(Duration::from_mins(1), opened).await.expect("the database is opened in time");
    Serving { process, base: format!("http://{address}"), _log: lines }
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_lets_a_charge_in_flight_come_to_its_end() {
    let database = TestDatabase::plain().await;
    let mut serving = serving(&database, &[]).await;
    let (url, faults) = (format!("{}/v1/payment_intents", serving.base), format!("{}/_faults", serving.base));
    let form = charge_form("pm_card_idem_slow", "100");
    let http = client();
    let charge = post_to(&http, &url, Some("k"), &form);
    let terminate = async {
        eventually("the charge in flight", async || {
            let state = read(http.get(&faults)).await.unwrap().json();
            (state["bites"]["pm_card_idem_slow"] == 1).then_some(())
        })
        .await;
        let id = serving.process.id().unwrap().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().await.unwrap().success());
    };
    let (response, ()) = tokio::join!(charge, terminate);
    assert_eq!(response.unwrap().json()["status"], "succeeded");
    assert!(serving.process.wait().await.unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn after_kill_9_the_records_are_complete_and_open_charges_continue() {
    let database = TestDatabase::plain().await;
    // No server listens yet, and the port is free again at once.
    let port = free_port();
    let hook = format!("http://127.0.0.1:{port}/hook");
    let settings = [
        ("IDEM_WEBHOOK__URL", hook.as_str()),
        ("IDEM_WEBHOOK__SECRET", "whsec_test"),
        ("IDEM_WEBHOOK__RETRY_MS", "50"),
        ("IDEM_BANK__DELAY_MS", "1500"),
    ];
    let mut first_life = serving(&database, &settings).await;
    let http = client();
    let charge = async |base: &str| {
        let form = charge_form("pm_card_idem_processing", "100");
        post_to(&http, &format!("{base}/v1/payment_intents"), Some("k"), &form).await.unwrap()
    };
    let first = charge(&first_life.base).await;
    assert_eq!(first.json()["status"], "processing");
    first_life.process.kill().await.unwrap();

    let second_life = serving(&database, &settings).await;
    let again = charge(&second_life.base).await;
    assert!(again.is_replay());
    assert_eq!(again.bytes, first.bytes);
    let listener = Listener::at(([127, 0, 0, 1], port).into()).await;
    let received = listener.wait_for(2).await;
    let mut kinds: Vec<String> = received.iter().map(ReceivedWebhook::kind).collect();
    kinds.sort();
    assert_eq!(kinds, ["payment_intent.processing", "payment_intent.succeeded"]);
}
