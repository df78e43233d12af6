//! `payments review`: what each resolution changes.

use diesel_async::SimpleAsyncConnection;
use serde_json::{Value, json};
use testkit::eventually;

use crate::listing::operate;
use crate::stage::{AMOUNT, Order, Stage};

/// Runs `payments review WORDS`. Returns exit code and output.
async fn review(stage: &Stage, words: &[&str]) -> (i32, String) {
    operate(stage, &[&["review"], words].concat(), &[]).await
}

/// A payment with an unknown capture, and its review.
async fn lost(stage: &Stage) -> (Order, String) {
    let order = stage.unknown().await;
    stage
        .meddle(&format!(
            "INSERT INTO review (id, tenant_id, subject, subject_id, payment_id, reason, details)
             SELECT gen_random_uuid(), tenant_id, 'payment', id::text, id, 'not_found', '{{\"look_ups\": 5}}'
             FROM payment WHERE id = '{}'",
            order.payment
        ))
        .await;
    let of = format!("SELECT id::text FROM review WHERE subject_id = '{}'", order.payment);
    (order, stage.text(&of).await)
}

async fn facts(stage: &Stage) -> Vec<Value> {
    let of = "SELECT json_build_object('actor', actor, 'tenant', tenant_id, 'subject', subject_id,
                                       'details', details)::text
              FROM audit_fact WHERE action = 'review.resolve' ORDER BY id";
    stage.texts(of).await.iter().map(|fact| serde_json::from_str(fact).unwrap()).collect()
}

/// Returns the violations that the SQL audit finds between resolutions and facts.
async fn audited(stage: &Stage) -> Vec<String> {
    let audit = include_str!("../../audits/a_resolved_review_has_its_fact.sql");
    stage.texts(audit.trim().trim_end_matches(';')).await
}

const FOUND: [&str; 8] =
    ["--as", "captured", "--processor-id", "pi_77", "--reason", "seen in the dashboard", "--by", "dana"];

#[tokio::test]
async fn open_reviews_are_listed_and_shown() {
    let stage = Stage::new().await;
    assert_eq!(review(&stage, &["list"]).await, (0, "no review is open\n".to_owned()));
    let (order, id) = lost(&stage).await;
    let (code, text) = review(&stage, &["list"]).await;
    assert_eq!(code, 0);
    assert!(text.contains(&id) && text.contains("not_found"), "{text}");
    let (_, json) = review(&stage, &["show", &id, "--json"]).await;
    let shown: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(shown["payment_id"], json!(order.payment));
    assert_eq!(shown["details"], json!({ "look_ups": 5 }));
    let (code, text) = review(&stage, &["show", "00000000-0000-0000-0000-000000000001"]).await;
    assert_eq!((code, text.as_str()), (1, "there is no review 00000000-0000-0000-0000-000000000001\n"));
}

#[tokio::test]
async fn a_capture_found_by_an_operator_ends_the_payment_like_the_processors_response() {
    let stage = Stage::new().await;
    let (order, id) = lost(&stage).await;
    let (code, text) = review(&stage, &[&["resolve", &id], &FOUND[..]].concat()).await;
    assert_eq!(code, 0, "{text}");
    assert_eq!(stage.state(order).await, "captured");
    assert_eq!(stage.announced_types(order).await, ["PaymentCaptured"]);
    let posted = "SELECT kind FROM ledger_transaction";
    assert_eq!(stage.texts(posted).await, ["capture"]);
    let facts = facts(&stage).await;
    assert_eq!((&facts[0]["actor"], &facts[0]["tenant"]), (&json!("@operator:dana"), &json!("acme")));
    assert_eq!(facts[0]["details"]["reason"], "seen in the dashboard");
    assert_eq!(facts[0]["details"]["applied"], json!({ "from": "unknown", "to": "captured" }));
    assert_eq!(review(&stage, &["list"]).await.1, "no review is open\n");
}

#[tokio::test]
async fn the_same_resolution_again_changes_nothing_and_another_one_is_refused() {
    let stage = Stage::new().await;
    let (order, id) = lost(&stage).await;
    let resolution = [&["resolve", &id], &FOUND[..]].concat();
    assert_eq!(review(&stage, &resolution).await.0, 0);
    let (code, text) = review(&stage, &resolution).await;
    assert_eq!((code, text.contains("has this resolution already: nothing changed")), (0, true), "{text}");
    let another = ["resolve", &id, "--as", "not-captured", "--reason", "on second thoughts", "--by", "dana"];
    let (code, text) = review(&stage, &another).await;
    assert_eq!((code, text.contains("it was resolved before as captured")), (1, true), "{text}");
    assert_eq!(facts(&stage).await.len(), 1);
    assert_eq!(stage.announced_types(order).await, ["PaymentCaptured"]);
}

/// An orphan has no payment, so only the lock of its review separates the two resolutions.
#[tokio::test]
async fn of_two_concurrent_resolutions_one_is_stored_with_its_fact() {
    let stage = Stage::new().await;
    stage
        .meddle(
            "INSERT INTO review (id, subject, subject_id, reason) VALUES (gen_random_uuid(), 'orphan', 'pi_1', 'orphan')",
        )
        .await;
    let id = stage.text("SELECT id::text FROM review").await;
    let patient = [("IDEM_DATABASE__LOCK_TIMEOUT_SECONDS", "60")];
    let words = |by| ["review", "resolve", &id, "--as", "refunded", "--reason", "by hand", "--by", by];
    let (dana, lee) = (words("dana"), words("lee"));
    let mut owner = stage.database.owner().await;
    owner.batch_execute("BEGIN; SELECT FROM review FOR UPDATE").await.unwrap();
    let (one, other, ()) =
        tokio::join!(operate(&stage, &dana, &patient), operate(&stage, &lee, &patient), async {
            let waiting =
                "SELECT count(DISTINCT pid) AS count FROM pg_locks JOIN pg_stat_activity USING (pid)
                            WHERE datname = current_database() AND NOT granted";
            eventually("both wait", async || (stage.count(waiting).await == 2).then_some(())).await;
            owner.batch_execute("COMMIT").await.unwrap();
        });
    assert_eq!((one.0, other.0), (0, 0), "{} {}", one.1, other.1);
    let repeated = [&one, &other].into_iter().filter(|(_, text)| text.contains("nothing changed")).count();
    assert_eq!(repeated, 1, "{} {}", one.1, other.1);
    let facts = facts(&stage).await;
    assert_eq!(facts.len(), 1);
    assert_eq!(facts[0]["actor"], stage.text("SELECT resolved_by FROM review").await.as_str());
}

#[tokio::test]
async fn a_dry_run_says_what_would_happen_and_undoes_it() {
    let stage = Stage::new().await;
    let (order, id) = lost(&stage).await;
    let (code, text) = review(&stage, &[&["resolve", &id, "--dry-run"], &FOUND[..]].concat()).await;
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("is captured now") && text.contains("dry run"), "{text}");
    assert_eq!(stage.state(order).await, "unknown");
    assert_eq!(facts(&stage).await, [json!(null); 0]);
    assert!(review(&stage, &["list"]).await.1.contains(&id));
}

#[tokio::test]
async fn a_payment_that_was_never_captured_is_declined_and_announced() {
    let stage = Stage::new().await;
    let (order, id) = lost(&stage).await;
    let words = [
        "resolve",
        &id,
        "--as",
        "not-captured",
        "--reason",
        "the processor's support says so",
        "--by",
        "lee",
    ];
    let (code, text) = review(&stage, &words).await;
    assert_eq!(code, 0, "{text}");
    assert_eq!(stage.state(order).await, "declined");
    assert_eq!(stage.announced_types(order).await, ["PaymentDeclined"]);
    assert_eq!(facts(&stage).await[0]["actor"], "@operator:lee");
}

#[tokio::test]
async fn an_impossible_resolution_says_what_to_do_instead() {
    let stage = Stage::new().await;
    let (order, id) = lost(&stage).await;
    let note = ["--reason", "seen in the dashboard", "--by", "dana"];
    for (words, expected) in [
        (vec!["--as", "refunded"], "resolve it --as captured with --processor-id first"),
        (vec!["--as", "captured"], "--processor-id"),
    ] {
        let (code, text) = review(&stage, &[&["resolve", &id], &words[..], &note].concat()).await;
        assert_eq!((code, text.contains(expected)), (1, true), "{words:?}: {text}");
    }
    let (code, text) = review(&stage, &["resolve", &id, "--as", "captured"]).await;
    assert_eq!((code, text.contains("--reason")), (2, true), "a reason is needed: {text}");
    assert_eq!(stage.state(order).await, "unknown");
    assert_eq!(facts(&stage).await, [json!(null); 0]);
}

#[tokio::test]
async fn two_payments_never_share_one_object_of_the_processor() {
    let stage = Stage::new().await;
    stage.captured("pi_77").await;
    let (order, id) = lost(&stage).await;
    let (code, text) = review(&stage, &[&["resolve", &id], &FOUND[..]].concat()).await;
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("another payment or refund has this processor id"), "{text}");
    assert_eq!(stage.state(order).await, "unknown");
}

#[tokio::test]
async fn a_capture_found_by_an_operator_for_a_cancelled_order_is_refunded() {
    let stage = Stage::new().await;
    let (order, id) = lost(&stage).await;
    stage.cancel(order).await;
    let (code, text) = review(&stage, &[&["resolve", &id], &FOUND[..]].concat()).await;
    assert_eq!(code, 0, "{text}");
    assert_eq!(stage.refunds(order).await, ["pending"]);
    assert_eq!(stage.count("SELECT sum(amount)::bigint AS count FROM refund").await, AMOUNT);
}

#[tokio::test]
async fn a_refund_that_an_operator_reports_as_not_made_has_failed_without_another_review() {
    let stage = Stage::new().await;
    let order = stage.captured("pi_1").await;
    stage.cancel(order).await;
    stage.meddle("UPDATE refund SET state = 'unknown'").await;
    stage
        .meddle(
            "UPDATE processor_call SET sent_since = now(), due_at = NULL, attempt = 1 WHERE kind = 'refund'",
        )
        .await;
    stage
        .meddle(
            "INSERT INTO review (id, tenant_id, subject, subject_id, payment_id, reason)
             SELECT gen_random_uuid(), tenant_id, 'refund', id::text, payment_id, 'not_found' FROM refund",
        )
        .await;
    let id = stage.text("SELECT id::text FROM review").await;
    let (code, text) =
        review(&stage, &["resolve", &id, "--as", "not-captured", "--reason", "never made", "--by", "dana"])
            .await;
    assert_eq!((code, text.contains("the review is about a refund")), (1, true), "{text}");
    let (code, text) =
        review(&stage, &["resolve", &id, "--as", "captured", "--reason", "never made", "--by", "dana"]).await;
    assert_eq!(code, 0, "{text}");
    assert_eq!(stage.refunds(order).await, ["failed"]);
    assert_eq!(stage.count("SELECT refund_reserved AS count FROM payment").await, 0);
    assert_eq!(stage.count("SELECT count(*) FROM review WHERE resolution IS NULL").await, 0);
    assert_eq!(facts(&stage).await.len(), 1);
    // The resolution has opened a second review and resolved it, too. One fact counts for both.
    assert_eq!(stage.count("SELECT count(*) FROM review").await, 2);
    assert_eq!(audited(&stage).await, [""; 0]);
}

#[tokio::test]
async fn the_service_can_resolve_a_review_and_cannot_change_its_question() {
    let stage = Stage::new().await;
    lost(&stage).await;
    for column in ["reason = 'orphan'", "details = '{}'", "subject_id = ''"] {
        let done = stage.attempt(&format!("UPDATE review SET {column}")).await;
        assert!(done.unwrap_err().to_string().contains("permission denied"), "{column}");
    }
    let deleted = stage.attempt("DELETE FROM review").await;
    assert!(deleted.unwrap_err().to_string().contains("permission denied"));
}
