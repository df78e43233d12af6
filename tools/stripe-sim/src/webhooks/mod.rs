//! Webhooks: an event is committed with its cause, and delivered to every endpoint at least once.

mod deliver;
mod endpoints;
mod plan;
mod signature;

pub(crate) use endpoints::Endpoints;

use std::sync::Arc;
use std::time::Duration;

use database::{Tx, UnitOfWork, WakeUp};
use reqwest::Client;
use reqwest::redirect::Policy;
use serde_json::Value;

use crate::processor::{Cause, Processor};
use crate::protocol::Error;
use crate::store::events::{self, NewEvent};
use crate::store::{deliveries, new_id};

const EMITTED: WakeUp = WakeUp("events were emitted");

/// Writes an event about the object in the transaction of its cause.
pub(crate) async fn emit(
    tx: &mut Tx,
    cause: &Cause,
    kind: &'static str,
    object: &Value,
) -> Result<(), Error> {
    let id = new_id("evt");
    let (request, idempotency_key) = (cause.request_id.as_deref(), cause.key.as_deref());
    events::insert(tx, &NewEvent { id: &id, kind, object, request, idempotency_key }).await?;
    tx.wake_after_commit(EMITTED);
    Ok(())
}

/// The HTTP client for deliveries. A redirect is not followed and counts as a failed delivery.
pub(crate) fn client(deadline: Duration) -> reqwest::Result<Client> {
    // reqwest needs a TLS provider even for plain HTTP. An error says that one is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().timeout(deadline).redirect(Policy::none()).no_proxy().tls_certs_only([]).build()
}

/// Plans and delivers until the process ends.
pub(crate) async fn run(processor: Arc<Processor>, client: Client) {
    let emitted = processor.database.signal(EMITTED);
    loop {
        let pause = match plan_and_deliver(&processor, &client).await {
            Ok(pause) => pause,
            Err(error) => {
                tracing::warn!(%error, "webhooks wait for the database");
                None
            }
        };
        processor.pause(&emitted, pause).await;
    }
}

/// Makes every attempt that is due. Returns the time until the next one.
async fn plan_and_deliver(processor: &Processor, client: &Client) -> Result<Option<Duration>, Error> {
    while plan::plan(processor).await? {}
    let urls = processor.endpoints.urls();
    if urls.is_empty() {
        return Ok(None);
    }
    while deliver::deliver(processor, client, &urls).await? {}
    Ok(deliveries::next(&mut processor.database.connection().await?, &urls).await?)
}
