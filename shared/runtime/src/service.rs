//! What makes a service: everything that is its own, and nothing that is the same in all of them.

use contracts::{Stream, Topics};
use database::Database;
use diesel_migrations::EmbeddedMigrations;
use inbox::Consumer;
use utoipa::openapi::OpenApi;
use utoipa_actix_web::service_config::ServiceConfig;

use crate::{Fields, Job, ServiceCommand};

/// A service, as [`main`](crate::main) turns it into a process.
pub trait Service: Sized + Send + Sync + 'static {
    /// What it is called: on the command line, in the log, in faults.
    const NAME: &'static str;
    /// What it says goes to the topic of this stream.
    const STREAM: Stream;
    /// Its settings with their defaults, as commented TOML; at least `port` of `[http]`.
    const DEFAULTS: &'static str;

    /// Its own settings, parsed.
    type Settings: Clone + Send + Sync + 'static;

    /// Its own operators' commands: they stand on the command line beside those that every service has, get the same
    /// configuration, and end with the same exit codes. [`NoCommand`](crate::NoCommand) if it has none.
    type Command: ServiceCommand<Self>;

    /// Reads its own settings, each through one of [`Fields`]' methods, which collect what is wrong.
    fn settings(fields: &mut Fields) -> Self::Settings;

    /// Its tables. Those of idempotency, outbox, inbox and audit come before them by themselves.
    fn migrations() -> EmbeddedMigrations;

    /// The document's base: title, version, tags. Paths and schemas are added from what [`routes`](Self::routes)
    /// mounts, so that the document cannot forget one.
    fn api() -> OpenApi;

    /// Mounts its handlers. They find [`edge::Edge`] and [`Context`] in `web::Data`.
    fn routes(app: &mut ServiceConfig<'_>);

    /// What it does about which message; `None` if it listens to nobody.
    fn consumer(context: &Context<Self>) -> Option<Consumer> {
        let _ = context;
        None
    }

    /// What it does by itself.
    fn jobs(context: &Context<Self>) -> Vec<Job> {
        let _ = context;
        Vec::new()
    }
}

/// What a service's handlers, reactions and jobs share. Cheap to clone.
pub struct Context<S: Service> {
    /// Its database.
    pub database: Database,
    /// How topics are called here.
    pub topics: Topics,
    /// Its own settings.
    pub settings: S::Settings,
}

impl<S: Service> Clone for Context<S> {
    fn clone(&self) -> Self {
        Self { database: self.database.clone(), topics: self.topics.clone(), settings: self.settings.clone() }
    }
}
