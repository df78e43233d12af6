//! Which fault a call meets. For that its reference must be known: out of its form, or of the object that it is about.

use actix_web::dev::{Payload, ServiceRequest};
use actix_web::web;
use database::Tx;
use serde_json::Value;

use crate::api::call::MAX_BODY;
use crate::faults::{Bite, Concern, Met, Scope};
use crate::processor::Processor;
use crate::protocol::Failure;
use crate::store::{intents, refunds};

/// A fault of the call itself, and what it carries into its operation. Costs nothing while no fault is set.
pub(super) async fn meet(
    processor: &web::Data<Processor>,
    request: &mut ServiceRequest,
) -> Result<(Option<Bite>, Met), Failure> {
    if !processor.faults.concern_calls() {
        return Ok((None, Met::default()));
    }
    let route = route(request.method().as_str(), request.path());
    let concern = concern(processor, request).await?;
    let mut met = Met::default();
    if route == "POST /v1/refunds" {
        let bite = processor.faults.meet(Scope::Refund, &route, &concern);
        met.refund_course = bite.and_then(|bite| bite.kind.refund_course());
    }
    Ok((processor.faults.meet(Scope::Call, &route, &concern), met))
}

/// The route's name, as `ROUTES` has it.
fn route(method: &str, path: &str) -> String {
    let parts = path.split('/').enumerate().map(|(at, part)| if at == 3 { "{id}" } else { part });
    format!("{method} {}", parts.collect::<Vec<_>>().join("/"))
}

/// Reads the body, and gives it back to whoever reads it next.
async fn form(request: &mut ServiceRequest) -> Vec<(String, String)> {
    let Ok(payload) = request.extract::<web::Payload>().await else { return Vec::new() };
    let body = payload.to_bytes_limited(MAX_BODY + 1).await.ok().and_then(Result::ok).unwrap_or_default();
    let form = serde_urlencoded::from_bytes(&body).unwrap_or_default();
    request.set_payload(Payload::from(body));
    form
}

async fn concern(processor: &web::Data<Processor>, request: &mut ServiceRequest) -> Result<Concern, Failure> {
    let form = form(request).await;
    let value = |name: &str| form.iter().find(|(given, _)| given == name).map(|(_, value)| value.clone());
    let (own, intent) = (value("metadata[reference]"), value("payment_intent"));
    let about = request.path().split('/').nth(3).map(str::to_owned);
    let is_refund = request.path().starts_with("/v1/refunds");
    if about.is_none() && intent.is_none() {
        let reference = own.unwrap_or_default();
        return Ok(Concern { names: vec![reference.clone()], counted_as: reference });
    }
    let database = processor.database.clone();
    let look = async move {
        let mut tx = database.begin().await?;
        let concern = if is_refund {
            of_refund(&mut tx, own, intent, about.as_deref()).await?
        } else {
            Concern { names: Vec::new(), counted_as: reference(&mut tx, about.as_deref()).await? }
        };
        tx.rollback().await?;
        Ok::<_, Failure>(concern)
    };
    let mut concern = processor.database.detach(look).await??;
    concern.names.push(concern.counted_as.clone());
    Ok(concern)
}

/// A refund is meant by its own reference and by that of its payment. It is counted under the payment's, as clients draw
/// refunds' ids by lot, and a second run would count others.
async fn of_refund(
    tx: &mut Tx,
    own: Option<String>,
    intent: Option<String>,
    id: Option<&str>,
) -> Result<Concern, Failure> {
    let (own, intent) = match id {
        None => (own, intent),
        Some(id) => match refunds::find(tx, id).await? {
            Some(refund) => (text(&refund.metadata["reference"]), Some(refund.payment_intent)),
            None => (None, None),
        },
    };
    let payment = reference(tx, intent.as_deref()).await?;
    let counted_as = if payment.is_empty() { own.clone().unwrap_or_default() } else { payment };
    Ok(Concern { names: own.into_iter().collect(), counted_as })
}

/// The stored reference of an intent; empty if there is none.
async fn reference(tx: &mut Tx, intent: Option<&str>) -> Result<String, Failure> {
    let Some(id) = intent.filter(|id| !id.contains('\0')) else { return Ok(String::new()) };
    let intent = intents::find(tx, id).await?;
    Ok(intent.and_then(|intent| text(&intent.metadata["reference"])).unwrap_or_default())
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::ROUTES;

    #[test]
    fn a_path_is_known_by_its_route() {
        for (method, path) in [
            ("POST", "/v1/payment_intents"),
            ("GET", "/v1/payment_intents/pi_1"),
            ("POST", "/v1/payment_intents/pi_1/cancel"),
            ("GET", "/v1/refunds/re_1"),
        ] {
            let route = route(method, path);
            assert!(ROUTES.contains(&route.as_str()), "{route}");
        }
    }
}
