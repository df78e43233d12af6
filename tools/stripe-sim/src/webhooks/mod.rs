//! Webhooks: an event is committed with its cause, and delivered to every endpoint at least once.

mod deliver;
mod endpoints;
mod plan;
mod signature;

pub(crate) use endpoints::Endpoints;
use plan::plan;

use std::sync::Arc;
use std::time::Duration;

use database::{Tx, UnitOfWork, WakeUp};
use reqwest::Client;
use reqwest::redirect::Policy;
use serde_json::Value;

use crate::processor::{Cause, Processor};
use crate::protocol::Error;
use crate::store::events::NewEvent;
use crate::store::{deliveries, new_id};

const EMITTED: WakeUp = WakeUp("events were emitted");

/// Adds an event about the object, with its deliveries, to the transaction of its cause.
pub(crate) async fn emit(
    tx: &mut Tx,
    cause: &Cause<'_>,
    kind: &'static str,
    object: Value,
) -> Result<(), Error> {
    let id = new_id("evt");
    plan(tx, cause.processor, &id, kind, &object).await?;
    let (request, idempotency_key) = (cause.request_id.clone(), cause.key.clone());
    tx.buffer(NewEvent { id, kind, object, request, idempotency_key });
    tx.wake_after_commit(EMITTED);
    Ok(())
}

/// The HTTP client for deliveries. A redirect is not followed and counts as a failed delivery.
pub(crate) fn client(deadline: Duration) -> reqwest::Result<Client> {
    // reqwest needs a TLS provider even for plain HTTP. An error says that one is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().timeout(deadline).redirect(Policy::none()).no_proxy().tls_certs_only([]).build()
}

/// Delivers until the process ends.
pub(crate) async fn run(processor: Arc<Processor>, client: Client) {
    let emitted = processor.database.wake_up(EMITTED);
    loop {
        let pause = match deliver_due(&processor, &client).await {
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
async fn deliver_due(processor: &Processor, client: &Client) -> Result<Option<Duration>, Error> {
    while deliver::deliver(processor, client).await? {}
    Ok(deliveries::next(&mut processor.database.connection().await?).await?)
}
