#![doc = include_str!("../README.md")]

mod api;
mod consumers;
mod discarded;
pub mod domain;
mod error;
mod schema;
mod store;

use contracts::Stream;
use diesel_migrations::{EmbeddedMigrations, embed_migrations};
use edge::Bearer;
use inbox::Consumer;
use runtime::{Context, Fields, NoCommand, Service};
use utoipa::OpenApi;
use utoipa_actix_web::service_config::ServiceConfig;

/// Its tables.
const MIGRATIONS: EmbeddedMigrations = embed_migrations!("../../migrations/inventory");

/// The service.
pub struct Inventory;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Idem inventory",
        description = "Items with their prices and stock, and how much of it is held for which order.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    tags(
        (name = "items", description = "What there is, what it costs, and how much of it is left"),
        (name = "reservations", description = "What is held for orders"),
    ),
    components(schemas(edge::ProblemBody)),
    modifiers(&Bearer),
)]
struct Api;

impl Service for Inventory {
    const NAME: &'static str = "inventory";
    const STREAM: Stream = Stream::Inventory;
    const DEFAULTS: &'static str = include_str!("../config.toml");
    type Settings = ();
    type Command = NoCommand;

    fn settings(_: &mut Fields) {}

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
}
