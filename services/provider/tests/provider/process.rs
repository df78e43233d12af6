//! The process: what it says about a wrong configuration, how it waits for PostgreSQL, and how it ends.

use std::process::{Output, Stdio};
use std::time::Duration;

use testkit::{Proxy, TestDatabase, eventually, given};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use crate::bench::{Bench, VISA, charge_form, client, post_to, read};

fn provider(command: &str) -> Command {
    let mut provider = Command::new(env!("CARGO_BIN_EXE_provider"));
    provider.arg(command).env_clear().stdin(Stdio::null()).kill_on_drop(true);
    provider
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[tokio::test]
async fn a_wrong_configuration_is_told_whole_and_ends_with_2() {
    let mut wrong = provider("serve");
    wrong.env("IDEM_HTTP__PORT", "many").env("IDEM_LOG__FORMAT", "xml").env("IDEM_DATABASE__URL", "");
    let output = wrong.output().await.unwrap();
    assert_eq!(output.status.code(), Some(2));
    for name in ["IDEM_HTTP__PORT", "IDEM_LOG__FORMAT", "IDEM_DATABASE__URL"] {
        assert!(stderr(&output).contains(name), "{}", stderr(&output));
    }
    let output = provider("migrate").output().await.unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("IDEM_DATABASE__MIGRATION_URL"));
}

#[tokio::test(flavor = "multi_thread")]
async fn migrate_makes_the_tables_and_may_run_again() {
    let database = TestDatabase::plain().await;
    for _ in 0..2 {
        let mut migrate = provider("migrate");
        let output =
            migrate.env("IDEM_DATABASE__MIGRATION_URL", database.owner_url()).output().await.unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
    }
    let bench = Bench::on(database, None);
    bench.ready(200).await;
    assert_eq!(bench.paid().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_postgresql_it_waits_and_is_not_ready() {
    let database = TestDatabase::plain().await;
    let server = given("IDEM_POSTGRES_URL");
    let upstream = server.rsplit('@').next().unwrap().split('/').next().unwrap().to_owned();
    let proxy = Proxy::to(upstream).await;
    proxy.cut().await;
    let bench = Bench::on(database, Some(proxy.address()));
    bench.ready(503).await;
    let refused = bench.charge("k", VISA, 100).await;
    assert_eq!((refused.status, refused.error("type")), (503, "api_error".into()));

    proxy.mend();
    bench.ready(200).await;
    assert_eq!(bench.charge("k", VISA, 100).await.status, 200);
    proxy.cut().await;
    bench.ready(503).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn health_says_whether_the_instance_is_ready() {
    let bench = Bench::start().await;
    let health = async |port: u16| {
        let mut health = provider("health");
        health.env("IDEM_HTTP__BIND", "0.0.0.0").env("IDEM_HTTP__PORT", port.to_string());
        health.env("IDEM_DATABASE__URL", "postgres://unused").output().await.unwrap()
    };
    bench.ready(200).await;
    assert!(health(bench.address.port()).await.status.success());

    let proxy = Proxy::to("127.0.0.1:9".to_owned()).await; // nobody is there
    proxy.cut().await;
    let away = Bench::on(TestDatabase::plain().await, Some(proxy.address()));
    away.ready(503).await;
    let output = health(away.address.port()).await;
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("is not ready"), "{}", stderr(&output));
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_lets_a_charge_in_flight_come_to_its_end() {
    let database = TestDatabase::plain().await;
    let mut serve = provider("serve");
    serve.env("IDEM_HTTP__PORT", "0").env("IDEM_DATABASE__URL", database.service_url(None));
    serve.env("IDEM_DATABASE__MIGRATION_URL", database.owner_url()).env("IDEM_LOG__FORMAT", "json");
    let mut process = serve.stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
    let opened = async {
        let mut address = None;
        while let Some(line) = lines.next_line().await.unwrap() {
            let entry: serde_json::Value = serde_json::from_str(&line).unwrap();
            if let Some(found) = entry["address"].as_str() {
                address = Some(found.to_owned());
            }
            if entry["message"] == "the books are open" {
                break;
            }
        }
        address.expect("the log tells the address")
    };
    let address =
        tokio::time::timeout(Duration::from_mins(1), opened).await.expect("the books are opened in time");
    let base = format!("http://{address}");
    let (url, faults) = (format!("{base}/v1/payment_intents"), format!("{base}/_faults"));
    let form = charge_form("pm_card_idem_slow", "100");
    let http = client();
    let charge = post_to(&http, &url, Some("k"), &form);
    let terminate = async {
        eventually("the charge in flight", async || {
            let state = read(http.get(&faults)).await.unwrap().json();
            (state["bites"]["pm_card_idem_slow"] == 1).then_some(())
        })
        .await;
        let id = process.id().unwrap().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().await.unwrap().success());
    };
    let (answer, ()) = tokio::join!(charge, terminate);
    assert_eq!(answer.unwrap().json()["status"], "succeeded");
    assert!(process.wait().await.unwrap().success());
}
