#![doc = include_str!("../README.md")]
#![allow(clippy::missing_errors_doc, reason = "only the program and tests of this package call it")]

mod api;
mod consumers;
pub mod domain;
mod error;
pub mod events;
mod schema;
mod store;
mod transitions;
mod views;

use database::Tx;
use diesel_migrations::{EmbeddedMigrations, embed_migrations};
use edge::ProblemType;
use envelope::Stream;
use inbox::Consumer;
use runtime::{Context, ErasedRows, Erasure, NoCommand, Service, SettingsReader};
use utoipa::OpenApi;
use utoipa_actix_web::service_config::ServiceConfig;

/// The tables of this service; `runtime` adds the tables that every service has.
const MIGRATIONS: EmbeddedMigrations = embed_migrations!("migrations");

/// The service `parcels`.
pub struct Parcels;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Idem parcels",
        description = "Keeps one parcel for each confirmed order, until a client completes it.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
        contact(name = "The developers of Idem"),
    ),
    servers((url = "/", description = "The host that serves this document")),
    tags((name = "parcels", description = "List and complete the parcels of orders")),
    components(schemas(edge::ValidationError)),
)]
struct Api;

impl Service for Parcels {
    const NAME: &'static str = "parcels";
    const STREAM: Stream = events::STREAM;
    const DEFAULTS: &'static str = include_str!("../config.toml");
    const PROBLEMS: &'static [&'static ProblemType] = error::ALL;
    const DOCUMENT: &'static str = include_str!("../openapi.json");
    type Settings = ();
    type Command = NoCommand;

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
        Some(consumers::consumer())
    }

    /// A parcel has no reference, so nothing here belongs to one.
    async fn erase(tx: &mut Tx, erasure: Erasure<'_>) -> database::Result<ErasedRows> {
        if erasure.reference.is_some() {
            return Ok(ErasedRows::default());
        }
        let ids = store::parcels::erase_notes(tx, erasure.tenant, erasure.after, erasure.limit).await?;
        Ok(ErasedRows { ids, operations: Vec::new() })
    }
}
