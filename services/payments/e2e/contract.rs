//! The responses of payments: charges and refunds with each outcome, and what its rules refuse.

use contracts::{Currency, Money};
use diesel_async::SimpleAsyncConnection;
use e2e::payments::WEBHOOK_SECRET;
use e2e::{Part, Stack};
use harness::payments::{charge, refund, webhook, webhook_signature};
use harness::{DocumentedResponse, Request};
use serde_json::{Value, json};
use testkit::eventually;
use uuid::Uuid;

use super::ServiceSide;
use crate::recorder::Recorder;

const CHARGES: &str = "POST /v1/payment_intents";
const REFUNDS: &str = "POST /v1/refunds";
const VISA: &str = "pm_card_visa";

fn euros(amount: i64) -> Money {
    Money::new(amount, Currency::Eur)
}

/// The contract of payments.
pub(crate) struct Side;

impl ServiceSide for Side {
    const WRITTEN_WITHOUT_KEY: Option<&'static str> = Some("INSERT ON webhook_event");

    async fn responses(stack: &Stack, recorder: &mut Recorder<'_>) {
        let get = |path: &str| Request::get(Part::PAYMENTS, path);
        let request = charge(euros(1250), VISA);
        let payment = recorder.creates(&request).await;
        let refunded = recorder.creates(&refund(payment, euros(250))).await;
        recorder.gets(200, "", &get(&format!("/v1/payments/{payment}"))).await;
        recorder.gets(200, "", &get(&format!("/v1/refunds/{refunded}"))).await;
        recorder.gets(200, "", &get(&format!("/v1/idempotency-keys/{}", request.key.unwrap()))).await;
        slow_commands(stack, recorder, payment).await;
        for list in ["payments", "refunds"] {
            recorder.gets(200, "", &get(&format!("/v1/{list}?limit=1"))).await;
            recorder.gets(400, "request-invalid", &get(&format!("/v1/{list}?limit=0"))).await;
            recorder.gets(404, "not-found", &get(&format!("/v1/{list}?cursor=made-up"))).await;
        }
        recorder.gets(200, "", &get("/v1/ledger/balances")).await;
        for path in ["payments", "refunds", "operations"] {
            recorder.gets(404, "not-found", &get(&format!("/v1/{path}/{}", Uuid::nil()))).await;
        }
        refused_charges(stack, recorder).await;
        refused_refunds(stack, recorder, payment).await;
        events(recorder, payment).await;
    }

    async fn failures(stack: &mut Stack, recorder: &mut Recorder<'_>) {
        failed_operation(stack, recorder).await;
    }

    fn unsent(request: &Request) -> Option<Request> {
        let mut event: Value = serde_json::from_str(request.body.as_deref()?).ok()?;
        is_event(request).then_some(())?;
        event["id"] = json!(format!("evt_{}", Uuid::new_v4().simple()));
        let (body, time) = (event.to_string(), event["created"].as_i64()?);
        Some(webhook(&body, &webhook_signature(WEBHOOK_SECRET, time, &body)))
    }

    fn is_list(path: &str) -> bool {
        path == "/v1/ledger/balances"
    }

    /// An event is refused as invalid only if its body breaks off. By then the sender has gone.
    fn reaches_nobody(response: &DocumentedResponse) -> bool {
        response.operation == "receiveProviderEvent" && response.code == "request-invalid"
    }
}

/// A charge and a refund that take longer than their request.
async fn slow_commands(stack: &Stack, recorder: &mut Recorder<'_>, payment: Uuid) {
    for (route, request) in [(CHARGES, charge(euros(700), VISA)), (REFUNDS, refund(payment, euros(50)))] {
        stack.faults(json!([{ "kinds": ["delay"], "route": route, "delay_ms": 3_000, "times": 1 }])).await;
        let accepted = recorder.gets(202, "", &request).await;
        recorder.customer.api.final_body(&accepted, 201).await.unwrap();
        let operation = accepted.header("location").unwrap();
        recorder.gets(200, "", &Request::get(Part::PAYMENTS, operation)).await;
    }
    stack.no_faults().await;
}

async fn refused_charges(stack: &Stack, recorder: &mut Recorder<'_>) {
    recorder.gets(402, "card-declined", &charge(euros(100), "pm_card_visa_chargeDeclined")).await;
    recorder.gets(422, "charge-rejected", &charge(euros(100), "pm_card_of_nobody")).await;
    stack.faults(json!([{ "kinds": ["rate_limit"], "route": CHARGES }])).await;
    let request = charge(euros(100), VISA);
    recorder.gets(503, "payment-not-executed", &request).await;
    // Its time ends before the client sends it again.
    let now = "UPDATE payment SET expires_at = '2020-01-01' WHERE state = 'requested';
               UPDATE processor_call SET due_at = '2020-01-01' WHERE due_at IS NOT NULL;";
    stack.database(Part::PAYMENTS).owner().await.batch_execute(now).await.unwrap();
    stack.counts(Part::PAYMENTS, "SELECT count(*) FROM payment WHERE state = 'requested'", 0).await;
    recorder.gets(409, "payment-expired", &request).await;
    stack.no_faults().await;
}

async fn refused_refunds(stack: &Stack, recorder: &mut Recorder<'_>, payment: Uuid) {
    recorder.gets(422, "refund-exceeds-capture", &refund(payment, euros(9999))).await;
    recorder.gets(422, "refund-currency", &refund(payment, Money::new(1, Currency::Usd))).await;
    recorder.gets(404, "not-found", &refund(Uuid::nil(), euros(1))).await;
    let returned = recorder.creates(&charge(euros(300), "pm_card_idem_refund_pending_fails")).await;
    recorder.gets(422, "refund-failed", &refund(returned, euros(300))).await;

    let customer = recorder.customer;
    let declined = customer.places_with(1, "pm_card_visa_chargeDeclined").await;
    let declined = customer.sees(declined, "cancelled/declined").await.payment_id.unwrap();
    recorder.gets(409, "payment-not-captured", &refund(declined, euros(1))).await;
    let cancelled = customer.places_with(1, "pm_card_idem_slow").await;
    let in_flight = customer.sees(cancelled, "awaiting_payment").await.payment_id.unwrap();
    stack.counts(Part::PAYMENTS, "SELECT count(*) FROM payment WHERE state = 'capturing'", 1).await;
    customer.api.cancel(cancelled).await.unwrap();
    stack.at_rest().await;
    recorder.gets(409, "payment-cancelled", &refund(in_flight, euros(1))).await;
    // As if the confirmation of the order were still on its way.
    let confirmed = customer.buys(1).await.payment_id.unwrap();
    let unconfirmed = "UPDATE payment SET confirmed = false WHERE confirmed";
    stack.at_rest().await;
    stack.database(Part::PAYMENTS).owner().await.batch_execute(unconfirmed).await.unwrap();
    recorder.gets(409, "payment-unconfirmed", &refund(confirmed, euros(1))).await;
}

/// An event as the processor sends it, and one that somebody else has signed.
async fn events(recorder: &mut Recorder<'_>, payment: Uuid) {
    let event = recorder.customer.api.find_event("payment_intent.succeeded", payment).await.unwrap();
    let event = event.expect("an event of the charge");
    let (body, time) = (event.to_string(), event["created"].as_i64().unwrap());
    recorder.gets(400, "webhook-refused", &webhook(&body, "t=1,v1=00")).await;
    let signature = webhook_signature(WEBHOOK_SECRET, time, &body);
    recorder.gets(200, "", &webhook(&body, &signature)).await;
}

/// An event of the processor has headers of its own.
fn is_event(request: &Request) -> bool {
    request.part == Part::PAYMENTS && !request.headers.is_empty()
}

/// A row that no release can read.
const UNREADABLE: &str = "
    CREATE FUNCTION unreadable() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        NEW.currency := 'XXX'; RETURN NEW; END $$;
    CREATE TRIGGER unreadable BEFORE INSERT ON payment FOR EACH ROW EXECUTE FUNCTION unreadable();";

/// A charge that the worker gives up.
async fn failed_operation(stack: &mut Stack, recorder: &mut Recorder<'_>) {
    stack.database(Part::PAYMENTS).owner().await.batch_execute(UNREADABLE).await.unwrap();
    // Its worker gives a call up at the first fault.
    stack.stop("payments").await;
    stack.launch_ready("payments", &[("IDEM_WORKER__FAULTS", "1")]).await;
    let request = charge(Money::new(100, Currency::Eur), "pm_card_visa");
    let customer = recorder.customer;
    let failed = eventually("the worker gives the charge up", async || {
        Some(customer.send(&request).await).filter(|response| response.status != 202)
    });
    let failed = failed.await;
    assert_eq!(failed.code(), "operation-failed", "{}", failed.json());
    recorder.keep(&request, &failed);
}
