//! Webhooks: events are committed with their cause, and told to the endpoints afterwards, at least once each.

mod deliver;
mod endpoints;
pub(crate) mod events;
mod plan;
mod signature;

pub(crate) use endpoints::Endpoints;

use std::sync::Arc;
use std::time::Duration;

use reqwest::Client;
use reqwest::redirect::Policy;

use crate::processor::Processor;
use crate::protocol::Failure;
use crate::store::deliveries;

/// What carries webhooks. An endpoint takes an event itself, so redirects are not followed.
pub(crate) fn client(deadline: Duration) -> reqwest::Result<Client> {
    // reqwest wants one, also where nothing is encrypted; whoever came first has installed the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().timeout(deadline).redirect(Policy::none()).no_proxy().tls_certs_only([]).build()
}

/// Plans and delivers, for as long as the process lives.
pub(crate) async fn run(processor: Arc<Processor>, client: Client) {
    let emitted = processor.database.signal(events::EMITTED);
    loop {
        let pause = match plan_and_deliver(&processor, &client).await {
            Ok(pause) => pause,
            Err(error) => {
                tracing::warn!(%error, "webhooks wait for the books");
                None
            }
        };
        processor.rest(&emitted, pause).await;
    }
}

/// Everything that is due. Returns how long until the next attempt.
async fn plan_and_deliver(processor: &Processor, client: &Client) -> Result<Option<Duration>, Failure> {
    while plan::plan(processor).await? {}
    let urls = processor.endpoints.urls();
    if urls.is_empty() {
        return Ok(None);
    }
    while deliver::deliver(processor, client, &urls).await? {}
    Ok(deliveries::next(&mut processor.database.connection().await?, &urls).await?)
}
