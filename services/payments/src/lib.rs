#![doc = include_str!("../README.md")]

#[cfg(all(feature = "mutant-key-per-attempt", not(debug_assertions)))]
compile_error!("a mutant must not leave the workshop: build without the features mutant-…");

mod advance;
mod api;
mod commands;
pub mod consumers;
mod discarded;
pub mod domain;
mod error;
mod intake;
mod ledger;
mod operate;
pub mod processor;
mod reconcile;
mod review;
mod schema;
mod settings;
mod store;
mod webhooks;
mod worker;

use contracts::{LedgerSealed, Stream};
use diesel_migrations::{EmbeddedMigrations, embed_migrations};
use edge::Bearer;
use inbox::Consumer;
use runtime::{Context, Fields, Job, Service};
use utoipa::OpenApi;
use utoipa_actix_web::service_config::ServiceConfig;

pub use ledger::{SealError, Sealer};
pub use reconcile::Rules;
pub use settings::Settings;
pub use webhooks::Webhooks;
pub use worker::{Limits, Pace, Worker};

/// Its tables.
const MIGRATIONS: EmbeddedMigrations = embed_migrations!("../../migrations/payments");

/// The service.
pub struct Payments;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Idem payments",
        description = "Charges and refunds, each made at the card processor once, whatever is lost or repeated.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    tags(
        (name = "payments", description = "What was taken for which order, and what of it was given back"),
        (name = "webhooks", description = "What the processor tells of its own accord"),
        (name = "ledger", description = "Where the money is, in double entry"),
    ),
    components(schemas(edge::ProblemBody, edge::AcceptedOperation)),
    modifiers(&Bearer),
)]
struct Api;

impl Service for Payments {
    const NAME: &'static str = "payments";
    const STREAM: Stream = Stream::Payments;
    const SIDE_TOPICS: &'static [&'static str] = &[LedgerSealed::TOPIC];
    const DEFAULTS: &'static str = include_str!("../config.toml");
    type Settings = Settings;
    type Command = operate::Command;

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

    fn consumer(context: &Context<Self>) -> Option<Consumer> {
        Some(consumers::consumer(context.settings.forms.clone()))
    }

    fn jobs(context: &Context<Self>) -> Vec<Job> {
        let Settings { processor, forms, limits, seal_every, .. } = context.settings.clone();
        let database = context.database.clone();
        let worker = processor.map(|processor| Worker::new(database, processor, forms, limits));
        let sealer = Sealer::new(context.database.clone());
        let seal = Job::every("seal", seal_every, move || {
            let sealer = sealer.clone();
            async move { sealer.round().await.map(drop) }
        });
        let compare = reconcile::job(context.database.clone(), context.settings.clone());
        let worker = worker.map(|worker| Job::new("worker", |stop| worker.run(stop)));
        worker.into_iter().chain([seal]).chain(compare).collect()
    }
}
