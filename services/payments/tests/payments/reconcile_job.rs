//! The scheduled reconciliation, with two instances of the program.

use std::time::{Duration, Instant};

use testkit::{eventually, identity};
use tokio::process::{Child, Command};
use uuid::Uuid;

use crate::listing::Listing;
use crate::stage::Stage;

/// An instance that compares as often as it may. Killed when it is dropped.
fn serve(stage: &Stage, listing: &Listing, jwks: &str) -> Child {
    let settings = [
        ("IDEM_MODE__DEVELOPMENT", "true".to_owned()),
        ("IDEM_HTTP__PORT", "0".to_owned()),
        ("IDEM_ADMIN__PORT", "0".to_owned()),
        ("IDEM_DATABASE__URL", stage.database.service_url(None)),
        // No broker listens there, because the comparison needs none.
        ("IDEM_KAFKA__BROKERS", "127.0.0.1:1".to_owned()),
        ("IDEM_AUTH__JWKS", jwks.to_owned()),
        ("IDEM_PROCESSOR__URL", listing.url()),
        ("IDEM_PROCESSOR__SECRET_KEY", "sk_test_canary".to_owned()),
        ("IDEM_RECONCILE__EVERY_SECONDS", "1".to_owned()),
        ("IDEM_LOG__LEVEL", "off".to_owned()),
    ];
    let mut program = Command::new(env!("CARGO_BIN_EXE_payments"));
    program.arg("serve").env_clear().envs(settings).kill_on_drop(true).spawn().unwrap()
}

#[tokio::test]
async fn of_two_instances_one_takes_each_round() {
    let (stage, listing) = (Stage::new().await, Listing::start().await);
    let jwks = std::env::temp_dir().join(format!("idem-jwks-{}.json", Uuid::new_v4().simple()));
    std::fs::write(&jwks, identity::jwks()).unwrap();
    let start = Instant::now();
    let jwks_path = jwks.display().to_string();
    let mut instances = [(); 2].map(|()| serve(&stage, &listing, &jwks_path));
    let rounds = eventually("eight rounds", async || {
        assert!(instances.iter_mut().all(|instance| instance.try_wait().unwrap().is_none()), "both run");
        Some(listing.rounds()).filter(|rounds| *rounds >= 8)
    })
    .await;
    // One comparison at once, and then one a second, by either instance. Unshared, each instance would run as many.
    assert!(Duration::from_secs(rounds - 1) <= start.elapsed(), "{rounds} rounds in {:?}", start.elapsed());
    std::fs::remove_file(&jwks).unwrap();
}
