//! `POST /v1/webhooks/provider`

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse, post};
use chrono::Utc;
use database::Database;
use edge::{Problem, RawBody};
use runtime::Context;
use sha2::{Digest, Sha256};

use super::Webhooks;
use super::event::Event;
use super::signature::{Refusal, verify};
use crate::Payments;
use crate::error::WEBHOOK_REFUSED;
use crate::store::webhook_events::{self, NewEvent};
use crate::store::{intents, payments};

/// Take an event of the processor.
///
/// For the processor alone. An event is verified by its signature, stored by its id, and answered at once; the same
/// event again is answered the same and has no effect. What the event says is not believed: the processor is asked.
#[utoipa::path(
    operation_id = "receiveProviderEvent",
    tag = "webhooks",
    params(("Stripe-Signature" = String, Header, description = "`t=UNIX,v1=HEX`: HMAC-SHA256 of `t.body`, as Stripe has it")),
    request_body(content = serde_json::Value, description = "An event, as Stripe has it; 64 KiB at most"),
    responses(
        (status = 200, description = "It is stored, now or before"),
        (status = 400, description = "Not signed, or not with a secret that is known here, or not within five minutes; nothing is stored",
            body = edge::ProblemBody, content_type = "application/problem+json"),
        (status = 408, description = "The body did not arrive in time",
            body = edge::ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "The body is too large",
            body = edge::ProblemBody, content_type = "application/problem+json"),
        (status = 500, description = "A mistake of ours; nothing is stored",
            body = edge::ProblemBody, content_type = "application/problem+json"),
        (status = 503, description = "Not possible right now; send it again",
            body = edge::ProblemBody, content_type = "application/problem+json"),
    ),
)]
#[post("/v1/webhooks/provider")]
pub(crate) async fn receive_event(
    request: HttpRequest,
    body: RawBody,
    context: Data<Context<Payments>>,
) -> Result<HttpResponse, Problem> {
    let webhooks = &context.settings.webhooks;
    believe(&request, &body.0, webhooks).map_err(refused)?;
    crashpoint::reach!("webhook.event_verified");
    let event = Event::read(&body.0, context.settings.forms.deployment()).ok_or_else(|| {
        tracing::error!("the processor has signed what is not an event of its protocol");
        Problem::new(
            &WEBHOOK_REFUSED,
            "It is signed, but it is not an event: it lacks id, type, created or data.object.",
        )
    })?;
    let (database, hash) = (context.database.clone(), Sha256::digest(&body.0));
    // The processor hangs up early; that is no reason to do it all again.
    context.database.detach(async move { store(&database, &event, &hash).await }).await??;
    crashpoint::reach!("webhook.after_commit");
    Ok(HttpResponse::Ok().finish())
}

fn believe(request: &HttpRequest, body: &[u8], webhooks: &Webhooks) -> Result<(), Refusal> {
    let mut headers = request.headers().get_all("stripe-signature");
    let (Some(header), None) = (headers.next(), headers.next()) else { return Err(Refusal::Malformed) };
    let header = header.to_str().map_err(|_| Refusal::Malformed)?;
    #[expect(clippy::disallowed_methods, reason = "the sender's clock is a wall clock")]
    let now = Utc::now().timestamp();
    verify(header, body, &webhooks.secrets, now, webhooks.tolerance)
}

/// Says no more than what to do: who forges learns nothing.
fn refused(refusal: Refusal) -> Problem {
    tracing::warn!(?refusal, "WebhookRefused");
    let detail = match refusal {
        Refusal::Malformed => "There must be one Stripe-Signature header, of the form t=UNIX,v1=HEX.",
        Refusal::Forged => {
            "No signature fits. Check that the endpoint's signing secret is in IDEM_PROCESSOR__WEBHOOK_SECRETS, and \
             that nothing on the way changes the body."
        }
        Refusal::Stale => "It was signed too long ago, or too far ahead. Check both clocks.",
    };
    Problem::new(&WEBHOOK_REFUSED, detail)
}

/// Stores the event, and has its intent looked up soon; once, however often the event comes.
async fn store(database: &Database, event: &Event, hash: &[u8]) -> database::Result<()> {
    let mut tx = database.begin().await?;
    let subject = match &event.about {
        Some(about) => webhook_events::known(&mut tx, about.reference, &about.objects).await?,
        None => None,
    };
    let Event { id, kind, created, object, .. } = event;
    let new = NewEvent {
        id,
        kind,
        object: object.as_deref(),
        subject: subject.as_ref(),
        body_hash: hash,
        created_at: *created,
    };
    if !webhook_events::insert(&mut tx, &new).await? {
        tracing::info!(event = id, kind, "DuplicateIgnored");
        return tx.rollback().await;
    }
    if let Some(known) = &subject {
        // First the payment, then its intent: everybody takes them in this order.
        payments::lock(&mut tx, known.payment).await?;
        intents::look_up_soon(&mut tx, known.intent).await?;
    }
    crashpoint::reach!("webhook.before_commit");
    tx.commit().await?;
    let intent = subject.map(|known| known.intent);
    tracing::info!(event = id, kind, ?intent, "WebhookReceived");
    Ok(())
}
