#![doc = include_str!("../README.md")]

mod api;
mod consumers;
mod discarded;
pub mod domain;
mod error;
mod expiry;
mod saga;
mod schema;
mod settings;
mod store;
mod timeline;

use contracts::Stream;
use diesel_migrations::{EmbeddedMigrations, embed_migrations};
use edge::Bearer;
use inbox::Consumer;
use runtime::{Context, Fields, Job, NoCommand, Service};
use utoipa::OpenApi;
use utoipa_actix_web::service_config::ServiceConfig;

pub use settings::Settings;

/// Its tables.
const MIGRATIONS: EmbeddedMigrations = embed_migrations!("../../migrations/orders");

/// The service.
pub struct Orders;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Idem orders",
        description = "Orders, each taken to its end once, whatever is lost, repeated or reordered on the way.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    tags(
        (name = "orders", description = "Place, cancel and read orders"),
        (name = "catalogue", description = "The prices that orders are placed at"),
    ),
    components(schemas(edge::ProblemBody)),
    modifiers(&Bearer),
)]
struct Api;

impl Service for Orders {
    const NAME: &'static str = "orders";
    const STREAM: Stream = Stream::Orders;
    const DEFAULTS: &'static str = include_str!("../config.toml");
    type Settings = Settings;
    type Command = NoCommand;

    fn settings(fields: &mut Fields) -> Settings {
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
        Some(consumers::consumer())
    }

    fn jobs(context: &Context<Self>) -> Vec<Job> {
        let database = context.database.clone();
        let poll = context.settings.expiry_poll;
        vec![Job::every("expiry", poll, move || expiry::expire_due(database.clone()))]
    }
}
