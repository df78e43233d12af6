//! The programs of an older commit and those of this one, in one installation. `./dev upgrade` builds the older ones.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]

use std::path::{Path, PathBuf};

use e2e::{Customer, Load, Options, Part, Settings, Stack, programs};
use testkit::{eventually, given};

/// Orders that are confirmed, one after the other, while the programs of two commits run.
const MORE: i64 = 10;

/// The programs under test know all settings.
fn as_they_are(settings: Settings) -> Settings {
    settings
}

/// The programs of tests/upgrade/BASE have a prefix of topics and a name at the processor instead of `deployment.name`.
fn as_base_knows_them(mut settings: Settings) -> Settings {
    let Some(at) = settings.iter().position(|(name, _)| name == "IDEM_DEPLOYMENT__NAME") else {
        return settings;
    };
    let (_, deployment) = settings.remove(at);
    settings.push(("IDEM_KAFKA__TOPIC_PREFIX".to_owned(), format!("{deployment}.")));
    if settings.iter().any(|(name, _)| name == "IDEM_PROCESSOR__URL") {
        settings.push(("IDEM_PROCESSOR__DEPLOYMENT".to_owned(), deployment));
    }
    settings
}

/// A folder of programs, and the settings that they know.
type Commit<'a> = (&'a Path, fn(Settings) -> Settings);

/// Replaces one instance of each service, one after the other, under load. The first new program of a service migrates its database.
async fn replace(stack: &mut Stack, instance: usize, (folder, known): Commit<'_>) {
    for service in Part::SERVICES {
        let name = service.instance(instance).to_string();
        stack.stop(&name).await;
        stack.launch_from(folder, &name, known).await;
    }
    more_orders_are_confirmed(stack).await;
}

async fn more_orders_are_confirmed(stack: &Stack) {
    let confirmed = "SELECT count(*) FROM orders WHERE state = 'confirmed'";
    let before = stack.count(Part::ORDERS, confirmed).await;
    eventually("more orders are confirmed", async || {
        (stack.count(Part::ORDERS, confirmed).await >= before + MORE).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the programs of an older commit: ./dev upgrade"]
async fn old_and_new_programs_run_side_by_side_while_each_replaces_the_other_under_load() {
    let (old, new) = (PathBuf::from(given("IDEM_BASE_BIN_DIR")), programs());
    let mut stack = Stack::prepared(Options { two_of_each: true, ..Options::default() }).await;
    for part in Part::PROGRAMS.into_iter().filter(|part| !part.is_service()) {
        stack.launch_ready(part.name(), &[]).await;
    }
    for service in Part::SERVICES {
        for instance in [1, 2] {
            stack.launch_from(&old, &service.instance(instance).to_string(), as_base_knows_them).await;
        }
    }
    let customer = Customer::stocked(&stack, 1_000_000).await;
    let load = Load::with_others(&customer, &stack.services(2), 3, 2);
    more_orders_are_confirmed(&stack).await;

    let (old, new): (Commit, Commit) = ((&old, as_base_knows_them), (&new, as_they_are));
    for commit in [new, old, new] {
        for instance in [1, 2] {
            replace(&mut stack, instance, commit).await;
        }
    }
    // Replays every request, also those that the old programs have answered.
    let responses = load.stop().await;
    assert_eq!(responses.unanswered(), 0, "{:?}", responses.refusals());
    stack.audited(&responses).await;
}
