//! Stripe's own libraries, unchanged, drive the stand-in. `./dev clients stripe` installs them and sets the variables that
//! name them.

use std::process::Output;

use testkit::given;
use tokio::process::Command;

use crate::simulator::Simulator;

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

/// Runs a script against a stand-in, and fails unless every check was made.
async fn drives(script: &mut Command) {
    let sim = Simulator::start().await;
    let output = script.env("IDEM_PROVIDER_URL", sim.url("")).kill_on_drop(true).output().await.unwrap();
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
#[ignore = "needs the library: ./dev clients stripe installs it"]
async fn the_official_python_library_drives_the_provider() {
    let mut python = Command::new(given("IDEM_CLIENTS_PYTHON"));
    drives(python.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/libraries/python/official.py"))).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the library: ./dev clients stripe installs it"]
async fn the_official_node_library_drives_the_provider() {
    given("IDEM_CLIENTS_NODE");
    drives(Command::new("node").arg(concat!(env!("CARGO_MANIFEST_DIR"), "/libraries/node/official.mjs")))
        .await;
}
