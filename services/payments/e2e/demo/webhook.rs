//! One event of the processor arrives ten times at once: payments stores it once. Because the charge is known, payments does
//! not ask the processor. A forged event is refused.

use std::env;

use harness::orders::Order;
use harness::payments::{webhook, webhook_signature};
use harness::{Part, Result, until};
use serde_json::{Value, json};

use super::books::Charged;
use crate::clients::concurrently;
use crate::demo::{Demo, LIMIT};
use crate::report::Step;

/// The secret in compose.yml.
const OF_CONTAINERS: &str = "whsec_idem";
const TIMES: usize = 10;
const KIND: &str = "payment_intent.succeeded";
const HINT: &str = "./dev logs payments";

pub(super) async fn run(demo: &Demo<'_>, step: &mut Step<'_>) -> Result<()> {
    // The processor's own delivery comes later, and is another copy.
    let rules = json!([{"kinds": ["late_webhook"], "delay_ms": 8000}]);
    let order = demo
        .with_faults(&rules, async || demo.ships(demo.order_tea("announced-ten-times").await?.id).await)
        .await?;
    step.equal("the final status", "confirmed", order.outcome(), HINT);
    let payment = order.payment_id.unwrap_or_default();
    until("capture, confirmation and fee are posted", LIMIT, HINT, async || {
        let postings = demo.postings(payment).await?;
        Ok(if postings == ["capture", "confirmation", "fee"] { Ok(()) } else { Err(format!("{postings:?}")) })
    })
    .await?;
    let event = demo.api.find_event(KIND, payment).await?.unwrap_or_default();
    let before = effects(demo, &order, &event).await?;
    step.equal("stored copies by then", 0, before.stored, "./dev psql payments");

    let (body, time) = (event.to_string(), event["created"].as_i64().unwrap_or_default());
    let header = webhook_signature(&secret(), time, &body);
    let api = demo.with_connections(TIMES, Part::PAYMENTS, "/v1/payments?limit=1").await?;
    let request = webhook(&body, &header);
    let received = concurrently(TIMES, async || api.send(&request).await).await?;
    let accepted = received.iter().filter(|(response, _)| response.status == 200).count();
    step.equal("responses with 200", TIMES, accepted, HINT);

    // A lookup would have been requested together with the row of the event. So it would be made before no call is due.
    let after = until("no call to the processor is due", LIMIT, HINT, async || {
        let due = demo.books.calls_due().await?;
        Ok(if due == 0 {
            Ok(effects(demo, &order, &event).await?)
        } else {
            Err(format!("{due} calls are due"))
        })
    })
    .await?;
    let expected = Effects { stored: 1, ..before };
    step.equal("the effects of the event", &expected, &after, "./dev psql payments");
    step.figure(format!("{accepted} copies of one event at once, stored {} time", after.stored));
    step.figure("no request to the processor, no second effect");
    forged(demo, step, event).await
}

/// The secret with which the processor signs its events: `./dev` names it, and the containers have [`OF_CONTAINERS`]. During a rotation
/// there are two, and the newest comes first.
fn secret() -> String {
    let of_containers = env::var("IDEM_COMPOSE_ADDRESSES").is_ok().then(|| OF_CONTAINERS.to_owned());
    let secrets = of_containers.or_else(|| env::var("IDEM_WEBHOOK__SECRET").ok()).unwrap_or_default();
    secrets.split(',').next().unwrap_or_default().to_owned()
}

/// The rows that an event can change.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Effects {
    /// Rows with the id of the event.
    stored: i64,
    /// Requests to the processor about the charge.
    attempts: i64,
    postings: Vec<String>,
    events: i64,
    charged: Charged,
}

async fn effects(demo: &Demo<'_>, order: &Order, event: &Value) -> Result<Effects> {
    let payment = order.payment_id.unwrap_or_default();
    Ok(Effects {
        stored: demo.stored_webhooks(event["id"].as_str().unwrap_or_default()).await?,
        attempts: demo.charge_call(payment).await?.attempts,
        postings: demo.postings(payment).await?,
        events: demo.events_about(payment).await?,
        charged: demo.charged_for(order).await?,
    })
}

/// A well-formed event, signed with another secret.
async fn forged(demo: &Demo<'_>, step: &mut Step<'_>, mut event: Value) -> Result<()> {
    const ID: &str = "evt_forged";
    event["id"] = json!(ID);
    let (body, time) = (event.to_string(), event["created"].as_i64().unwrap_or_default());
    let header = webhook_signature("whsec_of_somebody_else", time, &body);
    let refused = demo.api.send(&webhook(&body, &header)).await?;
    let expected = (400, "webhook-refused".to_owned());
    step.equal("the response to a forged event", expected, (refused.status, refused.code()), HINT);
    step.equal("rows of a forged event", 0, demo.stored_webhooks(ID).await?, "./dev psql payments");
    step.figure(format!("a forged event: {} {}", refused.status, refused.code()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::OF_CONTAINERS;

    #[test]
    fn the_demo_signs_with_the_secret_that_the_containers_have() {
        let file = include_str!("../../compose.yml");
        for variable in ["IDEM_WEBHOOK__SECRET", "IDEM_PROCESSOR__WEBHOOK_SECRETS"] {
            assert!(file.contains(&format!("{variable}: {OF_CONTAINERS}\n")), "{variable}");
        }
    }
}
