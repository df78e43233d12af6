//! A copy of the database, beside the living one: its due refunds are not sent before a person adopts it.

use std::time::Duration;

use testkit::eventually;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Child;

use crate::listing::{Listing, operate};
use crate::reconcile_job::{KeySet, serve};
use crate::stage::{Stage, TENANT};

const BY: [&str; 5] = ["adopt", "--by", "dana", "--reason", "the old one is gone"];

/// The longest wait for a line of the log.
const DEADLINE: Duration = Duration::from_secs(30);

/// A dump of the database of another deployment, and a dump of this deployment's, as a restore leaves them.
const COPIES: [&str; 2] = [
    "INSERT INTO deployment (name) VALUES ('production')",
    "INSERT INTO deployment (name, server) VALUES ('test', 'another server')",
];

/// Waits until the instance says that it waits for a person. The line is returned.
async fn waits_for_adoption(instance: &mut Child) -> String {
    let mut lines = BufReader::new(instance.stderr.as_mut().unwrap()).lines();
    let waits = async {
        loop {
            let line = lines.next_line().await.unwrap().expect("the instance has ended");
            if line.contains("waiting for the adoption") {
                return line;
            }
        }
    };
    tokio::time::timeout(DEADLINE, waits).await.expect("it does not wait for a person")
}

#[tokio::test]
async fn a_due_refund_in_a_copied_database_is_sent_once_a_person_has_adopted_it() {
    for copied in COPIES {
        let (stage, listing, jwks) = (Stage::new().await, Listing::start().await, KeySet::write());
        let order = stage.captured("pi_1").await;
        stage.cancel(order).await;
        assert_eq!(stage.refunds(order).await, ["pending"]);
        stage.meddle(copied).await;

        let mut instance = serve(&stage, &listing, &jwks.path());
        let line = waits_for_adoption(&mut instance).await;
        assert!(line.contains("payments adopt --by NAME --reason TEXT"), "{line}");
        let due = stage.text("SELECT id::text FROM refund").await;
        for words in [&["reconcile"][..], &["refund", "retry", &due, "--reason", "why", "--by", "dana"]] {
            let (code, text) = listing.payments(&stage, words).await;
            assert!(code == 1 && text.contains("payments adopt --by NAME"), "{words:?}: {text}");
        }
        let (code, text) = operate(&stage, &["review", "list"], &[]).await;
        assert_eq!((code, listing.asked(), listing.rounds()), (0, vec![], 0), "{text}");

        let (code, text) = operate(&stage, &BY, &[]).await;
        assert!(code == 0 && text.contains("is the database of test"), "{text}");
        let fact =
            "SELECT tenant_id || actor || details::text FROM audit_fact WHERE action = 'deployment.adopt'";
        let fact = stage.text(fact).await;
        assert!(
            fact.contains("dana") && fact.contains("the old one is gone") && !fact.contains(TENANT),
            "{fact}"
        );
        eventually("the refund", async || (listing.asked().len() == 1).then_some(())).await;
        drop(instance);
    }
}
