#![doc = include_str!("../README.md")]
#![allow(clippy::missing_errors_doc, reason = "only the program and tests of this package call it")]

mod api;
pub mod consumers;
mod context;
pub mod domain;
mod error;
mod jobs;
mod ledger;
mod metrics;
mod operator;
pub mod processor;
mod reconcile;
mod schema;
mod settings;
mod store;
mod transitions;
mod views;
mod webhooks;
mod worker;

use ::metrics::{Families, Readings, Registry};
use context::Context;
use contracts::streams;
use database::{Connection, Tx};
use diesel_migrations::{EmbeddedMigrations, embed_migrations};
use edge::ProblemType;
use envelope::Stream;
use inbox::Consumer;
use runtime::{ErasedRows, Erasure, HousekeepingJob, Job, Service, SettingsReader};
use utoipa::openapi::security::{ApiKey, ApiKeyValue, SecurityScheme};
use utoipa::{Modify, OpenApi};
use utoipa_actix_web::service_config::ServiceConfig;

pub use context::Payments;
pub use domain::Backoff;
pub use domain::refund::RefundRetries;
pub use jobs::delete_webhook_events;
pub use metrics::{PaymentsMetrics, register_circuit_breaker};
pub use settings::{ReconcileSettings, Settings, WebhookSettings, WorkerSettings};
pub use worker::Worker;

/// The tables of the service.
const MIGRATIONS: EmbeddedMigrations = embed_migrations!("../../migrations/payments");

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Idem payments",
        description = "Charges and refunds. Each is made once at the card processor, even if requests or messages are lost or repeated. \
                       The processor sends its events to `POST /v1/webhooks/provider`, which `webhooks` describes: clients do not call it.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
        contact(name = "The developers of Idem"),
    ),
    servers((url = "/", description = "The host that serves this document")),
    tags(
        (name = "payments", description = "Charge cards, and read payments"),
        (name = "refunds", description = "Refund payments, and read refunds"),
        (name = "webhooks", description = "Events of the processor"),
        (name = "ledger", description = "The double-entry ledger"),
    ),
    components(schemas(edge::ValidationError, edge::AcceptedOperation)),
    modifiers(&ProcessorSignature),
)]
struct Api;

/// The security scheme of the processor's webhooks.
struct ProcessorSignature;

impl Modify for ProcessorSignature {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let header = ApiKeyValue::with_description(
            "Stripe-Signature",
            "`t=UNIX,v1=HEX`: HMAC-SHA256 of `t.body` with the endpoint's secret, as Stripe defines it",
        );
        let scheme = SecurityScheme::ApiKey(ApiKey::Header(header));
        document.components.get_or_insert_default().add_security_scheme("processorSignature", scheme);
    }
}

impl Service for Payments {
    const NAME: &'static str = "payments";
    const STREAM: Stream = streams::PAYMENTS;
    const DEFAULTS: &'static str = include_str!("../config.toml");
    const PROBLEMS: &'static [&'static ProblemType] = error::ALL;
    const DOCUMENT: &'static str = include_str!("../../../openapi/payments.json");
    type Settings = Settings;
    type Command = operator::Command;

    fn settings(fields: &mut SettingsReader) -> Settings {
        Settings::read(fields)
    }

    fn migrations() -> EmbeddedMigrations {
        MIGRATIONS
    }

    fn api() -> utoipa::openapi::OpenApi {
        Api::openapi()
    }

    fn routes(app: &mut ServiceConfig<'_>) {
        api::routes(app);
    }

    fn consumer(context: &Context) -> Option<Consumer> {
        let consumer = consumers::consumer(context.settings.policy.clone());
        Some(consumer.warning(operator::discard_warnings))
    }

    fn register_metrics(context: &Context, registry: &mut Registry) {
        context.database.metrics::<PaymentsMetrics>().register(registry);
        if let Some(processor) = &context.settings.processor {
            register_circuit_breaker(processor, registry);
        }
    }

    async fn read_metrics(connection: &Connection, readings: &mut Readings) -> database::Result<()> {
        store::readings::read_metrics(connection, readings).await
    }

    fn housekeeping(context: &Context) -> Vec<HousekeepingJob> {
        let webhook_events = delete_webhook_events::job(context.settings.webhooks.keep);
        let reconciliation = jobs::reconciliation(context.settings.clone());
        [webhook_events].into_iter().chain(reconciliation).collect()
    }

    async fn erase(tx: &mut Tx, erasure: Erasure<'_>) -> database::Result<ErasedRows> {
        let Erasure { tenant, reference, after, limit } = erasure;
        let (ids, operations) = store::erasure::erase_texts(tx, tenant, reference, after, limit).await?;
        Ok(ErasedRows { ids, operations })
    }

    fn jobs(context: &Context) -> Vec<Job> {
        let Settings { processor, policy, worker, .. } = context.settings.clone();
        let database = context.database.clone();
        let worker = processor.map(|processor| Worker::new(database, processor, policy, worker));
        let worker = worker.map(|worker| Job::new("worker", |stop| worker.run(stop)));
        let balances = jobs::fold_balances::job(context.database.clone());
        worker.into_iter().chain([balances]).collect()
    }
}
