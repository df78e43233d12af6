#![doc = include_str!("../README.md")]
#![allow(clippy::missing_errors_doc, reason = "only the program and tests of this package call it")]

mod api;
mod consumers;
pub mod domain;
mod error;
mod jobs;
mod metrics;
mod operator;
mod schema;
mod settings;
mod store;
mod transitions;
mod views;

use ::metrics::{Families, Readings, Registry};
use contracts::streams;
use database::{Connection, Tx};
use diesel_migrations::{EmbeddedMigrations, embed_migrations};
use edge::ProblemType;
use envelope::Stream;
use inbox::Consumer;
use runtime::{Context, ErasedRows, Erasure, Job, Service, SettingsReader};
use utoipa::OpenApi;
use utoipa_actix_web::service_config::ServiceConfig;

pub use metrics::OrdersMetrics;
pub use settings::Settings;

use jobs::expire_orders;

/// The tables of this service; `runtime` adds the tables that every service has.
const MIGRATIONS: EmbeddedMigrations = embed_migrations!("../../migrations/orders");

/// The service `orders`.
pub struct Orders;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Idem orders",
        description = "Takes orders. Each order ends once, as confirmed or cancelled, even if messages are lost, repeated or reordered.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
        contact(name = "The developers of Idem"),
    ),
    servers((url = "/", description = "The host that serves this document")),
    tags(
        (name = "orders", description = "Place, cancel and read orders"),
        (name = "catalogue", description = "The prices at which orders are placed"),
    ),
    components(schemas(edge::ValidationError)),
)]
struct Api;

impl Service for Orders {
    const NAME: &'static str = "orders";
    const STREAM: Stream = streams::ORDERS;
    const DEFAULTS: &'static str = include_str!("../config.toml");
    const PROBLEMS: &'static [&'static ProblemType] = error::ALL;
    const DOCUMENT: &'static str = include_str!("../../../openapi/orders.json");
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

    fn consumer(_: &Context<Self>) -> Option<Consumer> {
        Some(consumers::consumer().warning(operator::discard_warnings))
    }

    fn register_metrics(context: &Context<Self>, registry: &mut Registry) {
        context.database.metrics::<OrdersMetrics>().register(registry);
    }

    async fn read_metrics(connection: &Connection, readings: &mut Readings) -> database::Result<()> {
        store::readings::read_metrics(connection, readings).await
    }

    async fn erase(tx: &mut Tx, erasure: Erasure<'_>) -> database::Result<ErasedRows> {
        let Erasure { tenant, reference, after, limit } = erasure;
        let (ids, operations) = store::erasure::erase_texts(tx, tenant, reference, after, limit).await?;
        Ok(ErasedRows { ids, operations })
    }

    fn jobs(context: &Context<Self>) -> Vec<Job> {
        let database = context.database.clone();
        let poll = context.settings.expiry_poll;
        vec![Job::every("expiry", poll, move |stop| expire_orders::expire_due(database.clone(), stop))]
    }
}
