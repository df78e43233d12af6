#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]
//! Runs Stripe's libraries against a provider with its own database. `./dev clients` installs the libraries and sets the
//! variables that name them.

use std::path::PathBuf;
use std::process::Output;

use harness::{Launch, Part, Program};
use testkit::{TestDatabase, given};
use tokio::process::Command;

/// The checks of both scripts, in order.
const CHECKS: [&str; 10] = [
    "charge",
    "steps",
    "balance",
    "refunds",
    "paging",
    "declines",
    "retries",
    "refusals",
    "lost answer",
    "webhook",
];

/// Runs a script against a provider with its own database, and fails unless every check was made.
async fn drives(script: &mut Command) {
    let database = TestDatabase::plain().await;
    let settings = [
        ("IDEM_HTTP__PORT", "0".to_owned()),
        ("IDEM_DATABASE__URL", database.service_url(None)),
        ("IDEM_DATABASE__MIGRATION_URL", database.owner_url()),
    ];
    let settings: Vec<(String, String)> =
        settings.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let folder = PathBuf::from(given("IDEM_BIN_DIR"));
    let instance = Part::Provider.instance(1);
    let (command, settings) = (&["serve"], &settings);
    let launch = Launch { instance, command, folder: &folder, settings, log_limit: usize::MAX };
    let mut provider = Program::start(&launch).unwrap();
    provider.ready().await.unwrap();
    let url = format!("http://{}", provider.address().await.unwrap());
    let output = script.env("IDEM_PROVIDER_URL", url).kill_on_drop(true).output().await.unwrap();
    check(&output);
}

fn check(output: &Output) {
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    println!("{stdout}");
    assert!(output.status.success(), "{stdout}{stderr}");
    let held: Vec<&str> = stdout.lines().filter_map(|line| line.strip_prefix("holds: ")).collect();
    assert_eq!(held, CHECKS);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the library: ./dev clients installs it"]
async fn the_official_python_library_drives_the_provider() {
    let mut python = Command::new(given("IDEM_CLIENTS_PYTHON"));
    drives(python.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/python/official.py"))).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the library: ./dev clients installs it"]
async fn the_official_node_library_drives_the_provider() {
    given("IDEM_CLIENTS_NODE");
    drives(Command::new("node").arg(concat!(env!("CARGO_MANIFEST_DIR"), "/node/official.mjs"))).await;
}
