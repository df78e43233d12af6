#![doc = include_str!("../README.md")]
#![allow(clippy::missing_errors_doc, reason = "only the program and tests of this package call it")]

mod api;
mod consumers;
pub mod domain;
mod error;
mod operator;
mod schema;
mod store;
mod transitions;
mod views;

use contracts::streams;
use database::Tx;
use diesel_migrations::{EmbeddedMigrations, embed_migrations};
use edge::ProblemType;
use envelope::Stream;
use inbox::Consumer;
use runtime::{Context, ErasedRows, Erasure, Service, SettingsReader};
use utoipa::OpenApi;
use utoipa_actix_web::service_config::ServiceConfig;

/// The tables of this service; `runtime` adds the tables that every service has.
const MIGRATIONS: EmbeddedMigrations = embed_migrations!("../../migrations/inventory");

/// The service `inventory`.
pub struct Inventory;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Idem inventory",
        description = "Keeps items, their prices and their stock, and the stock that is reserved for orders.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
        contact(name = "The developers of Idem"),
    ),
    servers((url = "/", description = "The host that serves this document")),
    tags(
        (name = "items", description = "Create and change items, and adjust and read their stock"),
        (name = "reservations", description = "Read the stock that is reserved for orders"),
    ),
    components(schemas(edge::ValidationError)),
)]
struct Api;

impl Service for Inventory {
    const NAME: &'static str = "inventory";
    const STREAM: Stream = streams::INVENTORY;
    const DEFAULTS: &'static str = include_str!("../config.toml");
    const PROBLEMS: &'static [&'static ProblemType] = error::ALL;
    const DOCUMENT: &'static str = include_str!("../../../openapi/inventory.json");
    type Settings = ();
    type Command = operator::Command;

    fn settings(_: &mut SettingsReader) {}

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

    /// An item has no reference, so nothing here belongs to one.
    async fn erase(tx: &mut Tx, erasure: Erasure<'_>) -> database::Result<ErasedRows> {
        if erasure.reference.is_some() {
            return Ok(ErasedRows::default());
        }
        let Erasure { tenant, after, limit, .. } = erasure;
        let ids = store::erasure::erase_texts(tx, tenant, after, limit).await?;
        Ok(ErasedRows { ids, operations: Vec::new() })
    }
}
