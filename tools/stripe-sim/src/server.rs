//! The process from its first socket to its last transaction.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::{Server, ServerHandle};
use actix_web::{App, HttpServer, web};
use database::Database;
use diesel_migrations::{EmbeddedMigrations, embed_migrations};
use secrecy::SecretString;
use thiserror::Error;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::processor::Processor;
use crate::settings::Settings;
use crate::webhooks::{self, Endpoints};
use crate::{api, bank, store};

/// The tables of the books.
pub const MIGRATIONS: EmbeddedMigrations = embed_migrations!("migrations");

/// How long a request may still take after the end was asked for: more than the slowest card.
const DRAIN_SECONDS: u64 = 10;
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Why the process did not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The port is taken, or not ours to take.
    #[error(
        "cannot listen on {address}: {source}. Is another instance running? IDEM_HTTP__PORT chooses another port"
    )]
    Listen {
        /// What was asked for.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The connection pool was refused.
    #[error(transparent)]
    Pool(#[from] database::Error),
    /// Webhooks could not be sent.
    #[error("the HTTP client for webhooks cannot be made: {0}")]
    Client(#[from] reqwest::Error),
}

/// A provider that listens.
#[must_use = "nothing is served until it runs"]
pub struct Provider {
    server: Server,
    address: SocketAddr,
    database: Database,
    /// Opens the books; then the banks and the webhooks, which end in the middle and leave their work to a successor.
    background: JoinHandle<()>,
}

impl Provider {
    /// Listens, and begins to open the books; until they are, readiness is 503. Needs a tokio runtime of several
    /// threads, which drives the database connections.
    pub fn start(settings: &Settings) -> Result<Self, StartError> {
        let database = Database::new(&settings.database, Handle::current())?;
        let endpoints = Endpoints::new(settings.endpoints.clone());
        let shared = Arc::new(Processor::new(database.clone(), endpoints, settings.pace));
        let processor = web::Data::from(Arc::clone(&shared));
        let webhooks = webhooks::client(settings.pace.webhook_deadline)?;
        let address = SocketAddr::new(settings.host, settings.port);
        let http = HttpServer::new(move || App::new().app_data(processor.clone()).configure(api::routes))
            .workers(2)
            .disable_signals()
            .shutdown_timeout(DRAIN_SECONDS)
            .bind(address)
            .map_err(|source| StartError::Listen { address, source })?;
        let address = http.addrs().first().copied().unwrap_or(address);
        let (opened, migration_url) = (database.clone(), settings.migration_url.clone());
        let background = database.spawn(async move {
            open(opened, migration_url).await;
            tokio::join!(bank::run(Arc::clone(&shared)), webhooks::run(shared, webhooks));
        });
        tracing::info!(%address, "listening");
        Ok(Self { server: http.run(), address, database, background })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends it: `stop(true)` lets what is under way come to its end.
    pub fn handle(&self) -> ServerHandle {
        self.server.handle()
    }

    /// Serves until the handle stops it and every transaction has ended.
    pub async fn run(self) -> io::Result<()> {
        let served = self.server.await;
        self.background.abort();
        self.database.drained().await;
        tracing::info!("stopped");
        served
    }
}

/// Migrates if it may, and waits until the books can be read.
async fn open(database: Database, migration_url: Option<SecretString>) {
    let mut pause = FIRST_PAUSE;
    loop {
        match try_open(&database, migration_url.as_ref()).await {
            Ok(()) => return tracing::info!("the books are open"),
            Err(why) => {
                tracing::warn!(%why, retry_in = ?pause, "waiting for PostgreSQL: the books cannot be opened");
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

async fn try_open(database: &Database, migration_url: Option<&SecretString>) -> Result<(), String> {
    if let Some(url) = migration_url {
        migrate(url).await.map_err(|error| error.to_string())?;
    }
    let mut connection = database.connection().await.map_err(|error| error.to_string())?;
    store::check(&mut connection).await.map_err(|error| error.to_string())
}

/// Brings the tables up to date, as the owner; one process at a time.
pub async fn migrate(url: &SecretString) -> Result<(), database::MigrateError> {
    database::migrate(url, vec![MIGRATIONS]).await
}
