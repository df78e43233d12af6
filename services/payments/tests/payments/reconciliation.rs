//! `payments reconcile`, with records that agree and records that differ.

use serde_json::{Value, json};

use crate::listing::{Listing, OURS};
use crate::stage::{AMOUNT, Stage};

/// The counts that are not zero.
fn counts(report: &Value, of: &str) -> Vec<(String, u64)> {
    let counts = report["counts"][of].as_object().unwrap();
    let numbers = counts.iter().map(|(name, number)| (name.clone(), number.as_u64().unwrap()));
    numbers.filter(|(_, number)| *number > 0).collect()
}

fn charges(report: &Value) -> Vec<(String, u64)> {
    counts(report, "charges")
}

fn n(name: &str, number: u64) -> (String, u64) {
    (name.to_owned(), number)
}

/// Returns the open reviews: reason, subject, tenant.
async fn reviews(stage: &Stage) -> Vec<String> {
    let of = "SELECT reason || ' ' || subject || ' ' || subject_id || ' ' || coalesce(tenant_id, '-')
              FROM review WHERE resolution IS NULL ORDER BY reason, subject_id";
    stage.texts(of).await
}

#[tokio::test]
async fn records_that_agree_are_compared_over_all_pages() {
    let (stage, listing) = (Stage::new().await, Listing::start().await);
    for number in 1..=5 {
        let order = stage.captured(&format!("pi_{number}")).await;
        listing.took(&format!("pi_{number}"), &order.payment.to_string(), OURS, AMOUNT);
    }
    listing.took("pi_9", "somebody's", "another", 5);
    let (code, report) = listing.reconcile(&stage).await;
    assert_eq!((code, &report["agrees"]), (0, &json!(true)), "{report}");
    assert_eq!(charges(&report), [n("foreign", 1), n("matched", 5)]);
    let (code, text) = listing.payments(&stage, &["reconcile", "--since", "7d"]).await;
    assert_eq!(code, 0, "{text}");
    for line in [["agrees", "true"], ["counts.charges.matched", "5"], ["differences", "none"]] {
        assert!(text.lines().any(|shown| shown.split_whitespace().eq(line)), "{text}");
    }
    assert_eq!(reviews(&stage).await, [""; 0]);
}

#[tokio::test]
async fn an_orphan_opens_one_review_and_is_not_refunded() {
    let (stage, listing) = (Stage::new().await, Listing::start().await);
    listing.took("pi_1", "00000000-0000-0000-0000-000000000001", OURS, 700);
    listing.took("pi_2", "not even an id", OURS, 800);
    for round in 1..=2 {
        let (code, report) = listing.reconcile(&stage).await;
        assert_eq!((code, &report["agrees"]), (1, &json!(false)), "{report}");
        assert_eq!(charges(&report), [n("missing_here", 2)], "round {round}");
        assert_eq!(reviews(&stage).await, ["orphan orphan pi_1 -", "orphan orphan pi_2 -"], "round {round}");
    }
    assert_eq!(listing.asked(), []);
}

#[tokio::test]
async fn a_captured_payment_that_the_processor_lacks_opens_a_review() {
    let (stage, listing) = (Stage::new().await, Listing::start().await);
    let order = stage.captured("pi_1").await;
    for _ in 0..2 {
        let (code, report) = listing.reconcile(&stage).await;
        assert_eq!((code, charges(&report)), (1, vec![n("missing_there", 1)]), "{report}");
    }
    assert_eq!(reviews(&stage).await, [format!("missing_there payment {} acme", order.payment)]);
    assert_eq!(stage.state(order).await, "captured");
}

#[tokio::test]
async fn another_amount_opens_a_review() {
    let (stage, listing) = (Stage::new().await, Listing::start().await);
    let order = stage.captured("pi_1").await;
    listing.took("pi_1", &order.payment.to_string(), OURS, AMOUNT + 1);
    let (code, report) = listing.reconcile(&stage).await;
    assert_eq!((code, charges(&report)), (1, vec![n("amount_differs", 1)]), "{report}");
    assert_eq!(reviews(&stage).await, [format!("amount_differs payment {} acme", order.payment)]);
}

#[tokio::test]
async fn a_refund_made_by_hand_opens_a_review() {
    let (stage, listing) = (Stage::new().await, Listing::start().await);
    let order = stage.captured("pi_1").await;
    listing.took("pi_1", &order.payment.to_string(), OURS, AMOUNT);
    listing.gave_back("re_7", "pi_1", None, 500);
    let (code, report) = listing.reconcile(&stage).await;
    assert_eq!((code, counts(&report, "refunds")), (1, vec![n("missing_here", 1)]), "{report}");
    assert_eq!(reviews(&stage).await, ["orphan orphan re_7 -"]);
}

#[tokio::test]
async fn a_payment_with_an_unknown_outcome_is_looked_up() {
    let (stage, listing) = (Stage::new().await, Listing::start().await);
    let (found, lost) = (stage.unknown().await, stage.unknown().await);
    listing.took("pi_1", &found.payment.to_string(), OURS, AMOUNT);
    let (code, report) = listing.reconcile(&stage).await;
    assert_eq!((code, charges(&report)), (1, vec![n("unsettled", 2)]), "{report}");
    let due = "SELECT count(*) FROM processor_call WHERE look_up_requested AND due_at <= clock_timestamp()";
    assert_eq!(stage.count(due).await, 2);
    assert_eq!(stage.state(found).await, "unknown", "the list is not believed either: the worker asks");
    assert_eq!(stage.state(lost).await, "unknown");
    assert_eq!(reviews(&stage).await, [""; 0]);
}

#[tokio::test]
async fn a_contradiction_is_looked_up_until_an_operator_resolves_it() {
    let (stage, listing) = (Stage::new().await, Listing::start().await);
    let order = stage.request(crate::stage::VISA).await;
    stage.meddle("UPDATE payment SET state = 'declined', decline_code = 'generic_decline'").await;
    stage.meddle("UPDATE processor_call SET sent_since = now(), due_at = NULL, attempt = 1").await;
    listing.took("pi_1", &order.payment.to_string(), OURS, AMOUNT);
    let (code, report) = listing.reconcile(&stage).await;
    assert_eq!((code, charges(&report)), (1, vec![n("denied", 1)]), "{report}");
    stage
        .meddle(
            "INSERT INTO review (id, tenant_id, subject, subject_id, payment_id, reason, resolution, resolved_by, note,
                                 resolved_at)
             SELECT gen_random_uuid(), tenant_id, 'payment', id::text, id, 'contradicted', 'refunded', '@operator:dana',
                    'given back by hand', now() FROM payment",
        )
        .await;
    let (code, report) = listing.reconcile(&stage).await;
    assert_eq!((code, charges(&report)), (0, vec![n("accepted", 1)]), "{report}");
}

#[tokio::test]
async fn a_difference_resolved_by_an_operator_opens_no_second_review() {
    let (stage, listing) = (Stage::new().await, Listing::start().await);
    stage.captured("pi_1").await;
    let (code, _) = listing.reconcile(&stage).await;
    assert_eq!(code, 1);
    let review = stage.text("SELECT id::text FROM review").await;
    let words = [
        "review",
        "resolve",
        &review,
        "--as",
        "captured",
        "--reason",
        "the list lags; seen in the dashboard",
        "--by",
        "dana",
    ];
    let (code, text) = listing.payments(&stage, &words).await;
    assert_eq!(code, 0, "{text}");
    let (code, report) = listing.reconcile(&stage).await;
    assert_eq!((code, charges(&report)), (0, vec![n("accepted", 1)]), "{report}");
}

#[tokio::test]
async fn a_period_in_which_no_instance_ran_is_compared_afterwards() {
    let (stage, listing) = (Stage::new().await, Listing::start().await);
    stage.captured("pi_1").await;
    stage.meddle("UPDATE processor_call SET sent_since = now() - interval '11 days'").await;
    let (code, report) = listing.reconcile(&stage).await;
    assert_eq!((code, charges(&report)), (0, vec![]), "older than the period of two days: {report}");
    let mark = "SELECT count(*) FROM reconciliation WHERE compared_until > now() - interval '1 minute'";
    assert_eq!(stage.count(mark).await, 1);
    stage.meddle("UPDATE reconciliation SET compared_until = now() - interval '10 days'").await;
    let (code, report) = listing.reconcile(&stage).await;
    assert_eq!((code, charges(&report)), (1, vec![n("missing_there", 1)]), "{report}");
    assert_eq!(stage.count(mark).await, 1);
}

#[tokio::test]
async fn unreadable_records_are_not_compared() {
    let stage = Stage::new().await;
    stage.captured("pi_1").await;
    let unreachable =
        [("IDEM_PROCESSOR__URL", "http://127.0.0.1:9"), ("IDEM_PROCESSOR__SECRET_KEY", "sk_test_canary")];
    let (code, text) = crate::listing::operate(&stage, &["reconcile"], &unreachable).await;
    assert_eq!(code, 1);
    assert!(text.contains("the processor's list was not read"), "{text}");
    assert_eq!(reviews(&stage).await, [""; 0]);
    let listing = Listing::start().await;
    for id in ["pi_1", "pi_2", "pi_3"] {
        listing.took(id, "somebody's", "another", 5);
    }
    listing.lists_for_ever();
    let (code, text) = listing.payments(&stage, &["reconcile"]).await;
    assert_eq!((code, text.contains("the processor's list was not read")), (1, true), "{text}");
    listing.lists_in_a_circle();
    let (code, text) = listing.payments(&stage, &["reconcile"]).await;
    assert_eq!((code, text.contains("twice")), (1, true), "{text}");
    let (code, text) = crate::listing::operate(&stage, &["reconcile"], &unreachable[..1]).await;
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("IDEM_PROCESSOR__SECRET_KEY is missing"), "{text}");
}
