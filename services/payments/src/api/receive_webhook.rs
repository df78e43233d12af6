//! `POST /v1/webhooks/provider`

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse, post};
use chrono::Utc;
use edge::{Problem, RawBody};
use sha2::{Digest, Sha256};

use crate::context::Context;
use crate::error::{WEBHOOK_REFUSED, WebhookProblems};
use crate::settings::WebhookSettings;
use crate::webhooks::{Event, SignatureError, store_event, verify};

/// Receive an event of the processor.
///
/// Only the processor uses this endpoint. An event is verified by its signature, stored under its id, and answered at
/// once. A repeated event gets the same response and has no effect. The content of an event is not used: the service
/// looks up its object at the processor.
#[utoipa::path(
    operation_id = "receiveProviderEvent",
    tag = "webhooks",
    request_body(content = serde_json::Value, description = "An event, as Stripe defines it; a larger one than 64 KiB is acknowledged unread"),
    responses(
        (status = 200, description = "The event is stored, now or by an earlier request, or is too large to be one of ours"),
        WebhookProblems,
    ),
    security(("processorSignature" = [])),
)]
#[post("/v1/webhooks/provider")]
pub(crate) async fn receive_webhook(
    request: HttpRequest,
    body: RawBody,
    context: Data<Context>,
) -> Result<HttpResponse, Problem> {
    // Events of our objects are smaller. After many refusals the processor would switch the endpoint off.
    let Some(body) = body.0 else { return Ok(HttpResponse::Ok().finish()) };
    verify_request(&request, &body, &context.settings.webhooks)?;
    crashpoint::reach!("webhook.event_verified");
    let event = Event::read(&body, context.settings.policy.bodies.deployment()).ok_or_else(|| {
        tracing::error!("the processor signed a body that is not an event of its protocol");
        Problem::new(
            &WEBHOOK_REFUSED,
            "The signature is valid, but the body is not an event: it lacks id, type, created or data.object.",
        )
    })?;
    let (database, hash) = (context.database.clone(), Sha256::digest(&body));
    // The processor may disconnect early. The event is stored either way.
    context.database.detach(async move { store_event(&database, &event, &hash).await }).await??;
    crashpoint::reach!("webhook.after_commit");
    Ok(HttpResponse::Ok().finish())
}

fn verify_request(request: &HttpRequest, body: &[u8], settings: &WebhookSettings) -> Result<(), Problem> {
    let mut headers = request.headers().get_all("stripe-signature");
    let (Some(header), None) = (headers.next(), headers.next()) else {
        return Err(refused(SignatureError::Malformed));
    };
    let header = header.to_str().map_err(|_| refused(SignatureError::Malformed))?;
    #[expect(clippy::disallowed_methods, reason = "the sender's clock is a wall clock")]
    let now = Utc::now().timestamp();
    verify(header, body, &settings.secrets, now, settings.tolerance).map_err(refused)
}

/// The response says only what to check, so that it does not help to forge a signature.
fn refused(error: SignatureError) -> Problem {
    let detail = match error {
        SignatureError::Malformed => {
            "The request must have one Stripe-Signature header of the form t=UNIX,v1=HEX."
        }
        SignatureError::Forged => {
            "No signature is valid. Check that IDEM_PROCESSOR__WEBHOOK_SECRETS contains the signing secret of the \
             endpoint, and that nothing between the processor and this service changes the body."
        }
        SignatureError::Stale => {
            "The time of the signature is too far from the time of this service. Check both clocks."
        }
    };
    Problem::new(&WEBHOOK_REFUSED, detail)
}
