//! Books that do not balance or differ from the processor's, a review, and a processor that is away.

use contracts::{Currency, Money};
use e2e::{Customer, Options, Part};
use harness::payments::charge;
use serde_json::json;

use crate::Watched;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Prometheus: ./dev alerts"]
async fn books_that_differ_and_reviews_fire_their_alerts_until_they_are_put_right() {
    let mut watched = Watched::start(Options::default()).await;
    watched.restart("payments", &[("IDEM_RECONCILE__EVERY_SECONDS", "1")]).await;
    let customer = Customer::stocked(&watched.stack, 10).await;
    let order = customer.buys(1).await;
    let payment = order.payment_id.unwrap();
    watched.stack.at_rest().await;

    let posting = "ALTER TABLE ledger_entry DISABLE TRIGGER USER; \
                   INSERT INTO ledger_entry (transaction_id, line, tenant_id, account, currency, amount) \
                   SELECT transaction_id, 99, tenant_id, account, currency, 7 FROM ledger_entry LIMIT 1";
    watched.meddle(Part::PAYMENTS, posting).await;
    watched.prometheus.fires("LedgerNotZero of payments").await;
    let audited = watched.stack.operate(Part::PAYMENTS, &["audit"]).await;
    assert!(!audited.is_success() && audited.text().contains("transaction"), "{audited:?}");
    let remove = "DELETE FROM ledger_entry WHERE line = 99; ALTER TABLE ledger_entry ENABLE TRIGGER USER";
    watched.meddle(Part::PAYMENTS, remove).await;
    watched.prometheus.is_quiet("LedgerNotZero of payments").await;

    let charge = format!("UPDATE payment SET amount = 451 WHERE id = '{payment}'");
    watched.meddle(Part::PAYMENTS, &charge).await;
    watched.prometheus.fires("ReconciliationDiffers of any").await;
    watched.prometheus.fires("ReviewOpen of any").await;
    let reconciled = watched.stack.operate(Part::PAYMENTS, &["reconcile"]).await;
    assert!(
        !reconciled.is_success() && reconciled.text().contains("amount_differs  charge"),
        "{reconciled:?}"
    );
    watched.meddle(Part::PAYMENTS, &charge.replace("451", "450")).await;
    watched.prometheus.is_quiet("ReconciliationDiffers of any").await;

    let listed = watched.stack.operate(Part::PAYMENTS, &["review", "list", "--json"]).await;
    let listed: serde_json::Value = serde_json::from_str(&listed.stdout).unwrap();
    let review = listed["reviews"][0]["review_id"]
        .as_str()
        .unwrap_or_else(|| panic!("no review: {listed}"))
        .to_owned();
    let resolve = [
        "review",
        "resolve",
        &review,
        "--as",
        "captured",
        "--reason",
        "the row was changed by hand",
        "--by",
        "dana",
    ];
    let resolved = watched.stack.operate(Part::PAYMENTS, &resolve).await;
    assert!(resolved.is_success(), "{resolved:?}");
    watched.prometheus.is_quiet("ReviewOpen of any").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Prometheus: ./dev alerts"]
async fn a_processor_that_is_away_fires_its_alert_until_it_is_back() {
    let watched = Watched::start(Options::default()).await;
    let customer = Customer::of(&watched.stack);
    watched.stack.faults(json!([{ "kinds": ["outage"] }])).await;
    let request = charge(Money::new(900, Currency::Eur), "pm_card_visa");
    assert_eq!(customer.send(&request).await.status, 202);
    watched.prometheus.fires("ProcessorAway of payments").await;
    watched.stack.no_faults().await;
    watched.prometheus.is_quiet("ProcessorAway of payments").await;
    watched.stack.counts(Part::PAYMENTS, "SELECT count(*) FROM payment WHERE state = 'captured'", 1).await;
}

const CHARGE: &str = "POST /v1/payment_intents";
const UNKNOWN: &str = "SELECT count(*) FROM payment WHERE state = 'unknown'";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Prometheus: ./dev alerts"]
async fn a_payment_whose_outcome_stays_unknown_fires_its_alert_until_the_processor_is_back() {
    let watched = Watched::start(Options::default()).await;
    let customer = Customer::stocked(&watched.stack, 10).await;
    customer.buys(1).await;
    let faults = json!([
        { "kinds": ["drop_reply"], "route": CHARGE, "times": 1 },
        { "kinds": ["outage"] },
        { "kinds": ["late_webhook"], "delay_ms": 60_000 },
    ]);
    watched.stack.faults(faults).await;
    let order = customer.places(1).await;
    watched.stack.counts(Part::PAYMENTS, UNKNOWN, 1).await;
    watched
        .meddle(Part::PAYMENTS, "UPDATE payment SET updated_at = updated_at - interval '20 minutes'")
        .await;
    watched.prometheus.fires("PaymentUnknown of any").await;
    watched.stack.no_faults().await;
    customer.sees(order, "confirmed").await;
    watched.prometheus.is_quiet("PaymentUnknown of any").await;
}
