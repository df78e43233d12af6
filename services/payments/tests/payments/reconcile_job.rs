//! The scheduled reconciliation, with two instances of the program.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::{Metrics, eventually, identity};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use uuid::Uuid;

use crate::listing::{Listing, OURS};
use crate::stage::Stage;

/// An instance that compares as often as it may. Killed when it is dropped. Its log has one line for each reconciliation.
pub(crate) fn serve(stage: &Stage, listing: &Listing, jwks: &str) -> Child {
    let settings = [
        ("IDEM_MODE__DEVELOPMENT", "true".to_owned()),
        ("IDEM_DEPLOYMENT__NAME", OURS.to_owned()),
        ("IDEM_HTTP__PORT", "0".to_owned()),
        ("IDEM_ADMIN__PORT", "0".to_owned()),
        ("IDEM_DATABASE__URL", stage.database.service_url(None)),
        // No broker listens there, because the comparison needs none.
        ("IDEM_KAFKA__BROKERS", "127.0.0.1:1".to_owned()),
        ("IDEM_AUTH__JWKS", jwks.to_owned()),
        ("IDEM_PROCESSOR__URL", listing.url()),
        ("IDEM_PROCESSOR__SECRET_KEY", "sk_test_canary".to_owned()),
        ("IDEM_RECONCILE__EVERY_SECONDS", "1".to_owned()),
        ("IDEM_LOG__LEVEL", "runtime=info".to_owned()),
        ("IDEM_LOG__FORMAT", "json".to_owned()),
    ];
    let mut program = Command::new(env!("CARGO_BIN_EXE_payments"));
    program.arg("serve").env_clear().envs(settings).stderr(Stdio::piped()).kill_on_drop(true).spawn().unwrap()
}

/// A file with the keys that check tokens. Removed when it is dropped.
pub(crate) struct KeySet(PathBuf);

impl KeySet {
    pub(crate) fn write() -> Self {
        let path = std::env::temp_dir().join(format!("idem-jwks-{}.json", Uuid::new_v4().simple()));
        std::fs::write(&path, identity::jwks()).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> String {
        self.0.display().to_string()
    }
}

impl Drop for KeySet {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The address of the instance's `/metrics`, from a line of its log.
async fn metrics_of(instance: &mut Child) -> String {
    // Borrowed and not taken: a program that cannot write its log ends.
    let mut lines = BufReader::new(instance.stderr.as_mut().unwrap()).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        let entry: Value = serde_json::from_str(&line).unwrap_or_default();
        if let Some(admin) = entry["admin"].as_str() {
            return format!("http://{admin}/metrics");
        }
    }
    panic!("the instance has ended")
}

#[tokio::test]
async fn of_two_instances_one_takes_each_round() {
    let (stage, listing) = (Stage::new().await, Listing::start().await);
    let (jwks, start) = (KeySet::write(), Instant::now());
    let mut instances = [(); 2].map(|()| serve(&stage, &listing, &jwks.path()));
    let rounds = eventually("eight rounds", async || {
        assert!(instances.iter_mut().all(|instance| instance.try_wait().unwrap().is_none()), "both run");
        Some(listing.rounds()).filter(|rounds| *rounds >= 8)
    })
    .await;
    // One comparison at once, and then one a second, by either instance. Unshared, each instance would run as many.
    assert!(Duration::from_secs(rounds - 1) <= start.elapsed(), "{rounds} rounds in {:?}", start.elapsed());
}

#[tokio::test]
async fn reconciliations_are_counted_by_their_result_and_differences_only_while_there_are_some() {
    let (stage, listing) = (Stage::new().await, Listing::start().await);
    let jwks = KeySet::write();
    let mut instance = serve(&stage, &listing, &jwks.path());
    let address = metrics_of(&mut instance).await;
    let read = async || {
        let response = testkit::http::client().get(&address).send().await.unwrap();
        let metrics = Metrics::parse(&response.text().await.unwrap());
        let results = metrics.by_label("payments_reconciliations_total");
        let results: Vec<String> = results.into_iter().map(|(result, _)| result).collect();
        (results, metrics.count("payments_reconciliation_differences_total"))
    };
    let agreed = || vec!["agreed".to_owned()];
    eventually("a reconciliation", async || (read().await == (agreed(), 0)).then_some(())).await;
    listing.took("pi_1", &Uuid::now_v7().to_string(), OURS, 500);
    eventually("a difference", async || {
        let (results, differences) = read().await;
        (results == ["agreed", "differed"] && differences > 0).then_some(())
    })
    .await;
}
