//! The trait that a service implements. It holds only what differs between services.

use clap::Subcommand;
use database::{Connection, Database, Tx};
use diesel_migrations::EmbeddedMigrations;
use edge::ProblemType;
use envelope::{Stream, Topics};
use inbox::Consumer;
use metrics::{Readings, Registry};
use operators::OperatorCommand;
use utoipa::openapi::OpenApi;
use utoipa_actix_web::service_config::ServiceConfig;

use crate::{ErasedRows, Erasure, HousekeepingJob, Job, SettingsReader};

/// A service, as [`main`](crate::main) turns it into a process.
pub trait Service: Sized + Send + Sync + 'static {
    /// The name on the command line, in the log and in configuration errors.
    const NAME: &'static str;
    /// The stream that its events are published on.
    const STREAM: Stream;
    /// Its settings with their defaults, as commented TOML. `[http] port` is required.
    const DEFAULTS: &'static str;
    /// The problems that only this service has.
    const PROBLEMS: &'static [&'static ProblemType];
    /// Its OpenAPI document, as `./dev openapi` writes it.
    const DOCUMENT: &'static str;

    /// Its own settings, decoded.
    type Settings: Clone + Send + Sync + 'static;

    /// Its own operators' commands, with the same configuration and exit codes as the commands of every service.
    /// [`NoCommand`](crate::NoCommand) if it has none.
    type Command: Subcommand + OperatorCommand<Context<Self>>;

    /// Reads its own settings. The reader collects all errors, so that they are reported together.
    fn settings(reader: &mut SettingsReader) -> Self::Settings;

    /// The migrations of its own tables. The runtime applies those of idempotency, outbox, inbox and audit before them.
    fn migrations() -> EmbeddedMigrations;

    /// Title, version and tags of the OpenAPI document. The runtime adds paths and schemas of the mounted
    /// [`routes`](Self::routes).
    fn api() -> OpenApi;

    /// Mounts its endpoints. They find [`edge::Edge`] and [`Context`] in `web::Data`.
    fn routes(app: &mut ServiceConfig<'_>);

    /// Its consumer of events; `None` if it reads no topic.
    fn consumer(context: &Context<Self>) -> Option<Consumer> {
        let _ = context;
        None
    }

    /// Registers the families that only this service counts.
    fn register_metrics(context: &Context<Self>, registry: &mut Registry) {
        let _ = (context, registry);
    }

    /// Reads its own gauges at a scrape. Each costs at most a fixed number of rows, however large its tables are.
    fn read_metrics(
        connection: &Connection,
        readings: &mut Readings,
    ) -> impl Future<Output = database::Result<()>> + Send {
        let _ = (connection, readings);
        std::future::ready(Ok(()))
    }

    /// The housekeeping of its own tables, beside the jobs that every service has.
    fn housekeeping(context: &Context<Self>) -> Vec<HousekeepingJob> {
        let _ = context;
        Vec::new()
    }

    /// Erases the texts that clients wrote in its own tables, in the next rows. Texts in stored responses are not its concern.
    fn erase(tx: &mut Tx, erasure: Erasure<'_>) -> impl Future<Output = database::Result<ErasedRows>> + Send {
        let _ = (tx, erasure);
        std::future::ready(Ok(ErasedRows::default()))
    }

    /// Its background jobs.
    fn jobs(context: &Context<Self>) -> Vec<Job> {
        let _ = context;
        Vec::new()
    }
}

/// The state that endpoints, handlers, jobs and commands of a service share. Cheap to clone.
pub struct Context<S: Service> {
    /// Its database.
    pub database: Database,
    /// The names of topics and consumer groups.
    pub topics: Topics,
    /// Its own settings.
    pub settings: S::Settings,
}

impl<S: Service> Clone for Context<S> {
    fn clone(&self) -> Self {
        Self { database: self.database.clone(), topics: self.topics.clone(), settings: self.settings.clone() }
    }
}
