//! Stores a webhook event and requests the lookup of its call if the event can change it, in one transaction.

use database::Database;

use super::event::Event;
use crate::store::webhook_events::{self, NewEvent};
use crate::transitions;

/// Stores an event. Requests one lookup of the call that it is about, unless the call has ended in agreement with it. An event that is stored already has no effect.
pub(crate) async fn store_event(
    database: &Database,
    event: &Event,
    body_hash: &[u8],
) -> database::Result<()> {
    let mut tx = database.begin().await?;
    let call = match &event.subject {
        Some(subject) => webhook_events::find_call(&mut tx, subject.reference, &subject.objects).await?,
        None => None,
    };
    let Event { id, kind, created, object, .. } = event;
    let new = NewEvent {
        id,
        kind,
        object: object.as_deref(),
        call: call.as_ref(),
        body_hash,
        created_at: *created,
    };
    if !webhook_events::insert(&mut tx, &new).await? {
        tracing::info!(event = id, kind, "DuplicateIgnored");
        return tx.rollback().await;
    }
    if let (Some(call), Some(subject)) = (&call, &event.subject) {
        let object = subject.own_object.as_deref();
        transitions::look_up_after_event(&mut tx, call, subject.claim, object).await?;
    }
    crashpoint::reach!("webhook.before_commit");
    tx.commit().await?;
    let call = call.map(|call| call.id);
    tracing::info!(event = id, kind, ?call, "WebhookReceived");
    Ok(())
}
