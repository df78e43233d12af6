//! Faults of the processor: a lost response, a stored failure, and an outage that outlives the order.

use std::time::Instant;

use harness::orders::{Order, place_order};
use harness::{Part, Result, until};
use serde_json::{Value, json};

use super::books::{ChargeCall, Charged};
use super::euros;
use crate::demo::{Demo, LIMIT, TEA};
use crate::report::{Step, span};

const CHARGE: &str = "POST /v1/payment_intents";
const HINT: &str = "./dev logs payments";

/// The life of an order in the step with the outage, in seconds: long enough to be charged, short enough to wait for.
const LIFE: u32 = 4;

/// The processor charges the card and drops its response: a retry under the same key gets it.
pub(crate) async fn lost_response(demo: &Demo<'_>, step: &mut Step<'_>) -> Result<()> {
    let (order, dropped, charged, call) =
        confirmed_despite(demo, step, "drop_reply", 1500, "answer-lost").await?;
    step.equal("responses that the processor dropped", 1, dropped, "GET /_faults of provider");
    let retried = call.attempts >= 2 && call.how == "request";
    step.check("the call that settled it", "a retry", format!("{call:?}"), retried, "./dev psql payments");
    step.figure(format!(
        "{dropped} response dropped after the charge, {} attempts under one key, {} charge, {}",
        call.attempts,
        charged.charges,
        order.outcome()
    ));
    Ok(())
}

/// The processor charges the card and stores a 500 under the key: a lookup in its books finds the charge.
pub(crate) async fn stored_failure(demo: &Demo<'_>, step: &mut Step<'_>) -> Result<()> {
    let (order, failed, charged, call) =
        confirmed_despite(demo, step, "error_after", 5000, "answered-500").await?;
    step.equal("charges answered with 500", 1, failed, "GET /_faults of provider");
    step.equal("the call that settled it", "look_up", call.how, "./dev psql payments");
    step.figure(format!("{failed} charge answered with 500, which the processor repeats under its key"));
    step.figure(format!("found in the processor's books at attempt {}", call.attempts));
    step.figure(format!("{} charge of {}, {}", charged.charges, euros(charged.amount), order.outcome()));
    Ok(())
}

/// Places an order while one charge meets this fault. Returns the order, how often the fault took effect, and what
/// became of the charge. Webhooks come late, because otherwise they would reveal the outcome first.
async fn confirmed_despite(
    demo: &Demo<'_>,
    step: &mut Step<'_>,
    fault: &str,
    webhook_delay: u32,
    reference: &str,
) -> Result<(Order, i64, Charged, ChargeCall)> {
    let rules = json!([
        {"kinds": [fault], "route": CHARGE, "times": 1},
        {"kinds": ["late_webhook"], "delay_ms": webhook_delay},
    ]);
    let (order, times) = demo
        .with_faults(&rules, async || {
            let placed = demo.order_tea(reference).await?;
            step.progress("waiting until the charge is known");
            let order = demo.ships(placed.id).await?;
            Ok((order, demo.api.fault_count(fault).await?))
        })
        .await?;
    let (charged, call) = (demo.charged_for(&order).await?, demo.charge_call_of(&order).await?);
    step.equal("the final status", "confirmed", order.outcome(), HINT);
    let once = Charged { charges: 1, amount: order.total.amount, refunded: 0 };
    step.equal("charges in the processor's books", once, charged, "./dev psql provider");
    Ok((order, times, charged, call))
}

/// The processor charges a card, its response is lost, and it is away for longer than the order lives: the order expires,
/// its stock is released, and the late capture is refunded once the processor is back.
pub(crate) async fn outage(demo: &Demo<'_>, step: &mut Step<'_>) -> Result<()> {
    let instance = Part::ORDERS.instance(1);
    step.progress("restarting orders with a short life of its orders");
    demo.stack.restart(instance, Some(LIFE)).await?;
    let done = late_capture(demo, step).await;
    step.progress("restarting orders as usual");
    demo.stack.restart(instance, None).await?;
    done
}

async fn late_capture(demo: &Demo<'_>, step: &mut Step<'_>) -> Result<()> {
    let rules: Value = json!([
        {"kinds": ["drop_reply"], "route": CHARGE, "times": 1},
        {"kinds": ["outage"]},
        // A processor that is away sends no webhooks either.
        {"kinds": ["late_webhook"], "delay_ms": 1000 * (LIFE + 2)},
    ]);
    let outage = Instant::now();
    let (order, refused) = demo
        .with_faults(&rules, async || {
            let order = charged_unknown_to_us(demo, step).await?;
            step.progress("waiting until the order has expired");
            let order = demo.ends(order.id).await?;
            demo.reservation_becomes(order.id, "released").await?;
            Ok((order, demo.api.fault_count("outage").await?))
        })
        .await?;
    let away = outage.elapsed();
    step.equal("the final status", "cancelled/expired", order.outcome(), "./dev logs orders");
    let taken = Charged { charges: 1, amount: order.total.amount, refunded: 0 };
    step.equal("the money taken by then", taken, demo.charged_for(&order).await?, "./dev psql provider");
    step.check("requests that the outage refused", "at least 1", refused, refused >= 1, HINT);

    step.progress("waiting for the refund");
    let back = Instant::now();
    let charged = demo.charged_becomes(&order, Charged { refunded: taken.amount, ..taken }).await?;
    step.figure(format!("away for {}, {refused} requests refused", span(away)));
    step.figure(format!("{} and its stock released meanwhile", order.outcome()));
    step.figure(format!(
        "{} charge of {} found after the outage, {} refunded after {}",
        charged.charges,
        euros(charged.amount),
        euros(charged.refunded),
        span(back.elapsed())
    ));
    Ok(())
}

/// Places an order, and waits until the processor has charged its card and dropped the response.
async fn charged_unknown_to_us(demo: &Demo<'_>, step: &Step<'_>) -> Result<Order> {
    let (start, instance) = (Instant::now(), Part::ORDERS.instance(1));
    loop {
        step.progress("waiting until the card is charged");
        let request = place_order(&[(TEA, 1)], "outlived");
        let placed: Order = demo.api.send_at(instance, &request).await?.read(201)?;
        let is_charged = until("the card is charged", LIMIT, HINT, async || {
            let now = demo.api.order(placed.id).await?;
            let charged = demo.api.fault_count("drop_reply").await? == 1;
            Ok(if charged || !now.is_open() { Ok(charged) } else { Err(now.outcome()) })
        })
        .await?;
        // On a busy machine the order may have expired before the charge: then another order is placed.
        if is_charged || start.elapsed() > LIMIT {
            return Ok(placed);
        }
    }
}
