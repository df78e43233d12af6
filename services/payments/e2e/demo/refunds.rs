//! 20 requests for one refund at once, and 20 refunds that exceed the payment together: each key refunds once, and never
//! more is refunded than was captured.

use contracts::{Currency, Money};
use harness::payments::{Payment, charge, refund};
use harness::{Api, Error, Part, Response, Result, until};

use super::books::Charged;
use super::euros;
use crate::clients::concurrently;
use crate::demo::{Demo, LIMIT, first_execution};
use crate::report::Step;

const TIMES: usize = 20;
const TAKEN: Money = Money::new(4500, Currency::Eur);
/// Requested 20 times under one key.
const ONCE: Money = Money::new(500, Currency::Eur);
/// Requested under 20 keys; the rest of the payment covers four.
const EACH: Money = Money::new(1000, Currency::Eur);
const COVERED: usize = 4;
const HINT: &str = "./dev logs payments";

pub(super) async fn run(demo: &Demo<'_>, step: &mut Step<'_>) -> Result<()> {
    let payment = demo.api.complete(&charge(TAKEN, "pm_card_visa")).await?;
    let payment: Payment =
        serde_json::from_value(payment).map_err(|error| Error::unreadable("the payment", error))?;
    step.equal("the payment", ("captured", TAKEN), (payment.status.as_str(), payment.amount), HINT);
    let api = demo.with_connections(TIMES, Part::PAYMENTS, "/v1/payments?limit=1").await?;
    one_key(demo, step, &api, &payment).await?;
    many_keys(demo, step, &api, &payment).await?;

    step.progress("waiting until every refund has succeeded");
    let payment = until("every refund has succeeded", LIMIT, HINT, async || {
        let payment = demo.api.payment(payment.id).await?;
        let succeeded = payment.refunds.iter().all(|refund| refund.status == "succeeded");
        Ok(if succeeded { Ok(payment) } else { Err(format!("{:?}", payment.refunds)) })
    })
    .await?;
    let refunded: i64 = payment.refunds.iter().map(|refund| refund.amount.amount).sum();
    let (_, made) = demo.books.made_by_processor(&[payment.id]).await?;
    let charged = demo.charged(payment.id).await?;
    let expected = Charged { charges: 1, amount: TAKEN.amount, refunded: TAKEN.amount };
    step.equal("what the processor has taken and refunded", expected, charged, "./dev psql provider");
    step.equal("what payments reports as refunded", charged.refunded, refunded, HINT);
    step.equal("refunds at the processor", payment.refunds.len(), made, "./dev psql provider");
    step.figure(format!("{} of {} refunded", euros(charged.refunded), euros(charged.amount)));
    Ok(())
}

async fn one_key(demo: &Demo<'_>, step: &mut Step<'_>, api: &Api<'_>, payment: &Payment) -> Result<()> {
    let request = refund(payment.id, ONCE);
    let received = concurrently(TIMES, async || api.send(&request).await).await?;
    let first = first_execution(&received).map(Response::stored_part);
    let is_same = |response: &Response| is_accepted(response) && Some(response.stored_part()) == first;
    let same = received.iter().filter(|(response, _)| is_same(response)).count();
    let refunds = demo.api.payment(payment.id).await?.refunds;
    step.equal("equal responses to one key", TIMES, same, HINT);
    let amounts: Vec<Money> = refunds.iter().map(|refund| refund.amount).collect();
    step.equal("refunds of one key", vec![ONCE], amounts, "./dev psql payments");
    step.figure(format!("one key {TIMES} times: {} refund, {same} equal responses", refunds.len()));
    Ok(())
}

async fn many_keys(demo: &Demo<'_>, step: &mut Step<'_>, api: &Api<'_>, payment: &Payment) -> Result<()> {
    let received = concurrently(TIMES, async || api.send(&refund(payment.id, EACH)).await).await?;
    let responses = || received.iter().map(|(response, _)| response);
    let accepted = responses().filter(|response| is_accepted(response)).count();
    let exceeds =
        |response: &&Response| response.status == 422 && response.code() == "refund-exceeds-capture";
    let refused = responses().filter(exceeds).count();
    step.equal("refunds that the payment covers", COVERED, accepted, HINT);
    step.equal("refunds that exceed it", TIMES - COVERED, refused, HINT);
    let refunds = demo.api.payment(payment.id).await?.refunds.len();
    step.equal("refunds of the payment", 1 + COVERED, refunds, "./dev psql payments");
    step.figure(format!("{TIMES} keys for {} each: {accepted} accepted", euros(EACH.amount)));
    step.figure(format!("{refused} times 422 refund-exceeds-capture"));
    Ok(())
}

/// Refunded, or in progress.
fn is_accepted(response: &Response) -> bool {
    matches!(response.status, 201 | 202)
}
