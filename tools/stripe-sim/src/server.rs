//! The process from its first socket to its last transaction.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::{self, ServerHandle};
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

const MIGRATIONS: EmbeddedMigrations = embed_migrations!("migrations");

/// How long a request may still take after the stop signal: longer than the slowest test card.
const DRAIN_SECONDS: u64 = 10;
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// The process did not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The port is in use, or this user may not listen on it.
    #[error(
        "cannot listen on {address}: {source}. Is another instance running? IDEM_HTTP__PORT chooses another port"
    )]
    Listen {
        /// The address of the settings.
        address: SocketAddr,
        /// The system's reason.
        source: io::Error,
    },
    /// The connection pool was not made.
    #[error(transparent)]
    Pool(#[from] database::Error),
    /// The HTTP client that delivers webhooks was not made.
    #[error("the HTTP client for webhooks cannot be made: {0}")]
    Client(#[from] reqwest::Error),
}

/// A server that listens.
#[must_use = "it serves nothing until `run` is called"]
pub struct Server {
    http: dev::Server,
    address: SocketAddr,
    database: Database,
    /// Opens the database; then carries out bank decisions and delivers webhooks. Aborted at the end: the next process
    /// continues from the database.
    background: JoinHandle<()>,
}

impl Server {
    /// Listens, and opens the database in the background; until it is open, readiness is 503. Call it on a tokio
    /// runtime of several threads, because database connections run as tasks.
    ///
    /// # Errors
    /// [`StartError`] if the address cannot be used, or the pool or the HTTP client cannot be made. An absent database is no error.
    pub fn start(settings: Settings) -> Result<Self, StartError> {
        let database = Database::new(&settings.database, Handle::current())?;
        let endpoints = Endpoints::new(settings.endpoint);
        let shared = Arc::new(Processor::new(database.clone(), endpoints, settings.timing));
        let processor = web::Data::from(Arc::clone(&shared));
        let client = webhooks::client(settings.timing.webhook_deadline)?;
        let address = SocketAddr::new(settings.host, settings.port);
        let http = HttpServer::new(move || App::new().app_data(processor.clone()).configure(api::routes))
            .workers(2)
            .disable_signals()
            .shutdown_timeout(DRAIN_SECONDS)
            .bind(address)
            .map_err(|source| StartError::Listen { address, source })?;
        let address = http.addrs().first().copied().unwrap_or(address);
        let opened = database.clone();
        let background = database.spawn(async move {
            open(opened, settings.migration_url).await;
            tokio::join!(bank::run(Arc::clone(&shared)), webhooks::run(shared, client));
        });
        tracing::info!(%address, "listening");
        Ok(Self { http: http.run(), address, database, background })
    }

    /// The address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops the server: `stop(true)` completes the requests in flight.
    pub fn handle(&self) -> ServerHandle {
        self.http.handle()
    }

    /// Serves until the handle stops it and every transaction has ended.
    ///
    /// # Errors
    /// The error of the HTTP server, after the transactions have ended.
    pub async fn run(self) -> io::Result<()> {
        let served = self.http.await;
        self.background.abort();
        self.database.drained().await;
        tracing::info!("stopped");
        served
    }
}

/// Migrates if there is a migration URL, and waits until the tables can be read.
async fn open(database: Database, migration_url: Option<SecretString>) {
    let mut pause = FIRST_PAUSE;
    while let Err(reason) = try_open(&database, migration_url.as_ref()).await {
        tracing::warn!(%reason, retry_in = ?pause, "waiting for PostgreSQL: the database cannot be opened");
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
    tracing::info!("the database is open");
}

async fn try_open(database: &Database, migration_url: Option<&SecretString>) -> Result<(), String> {
    if let Some(url) = migration_url {
        database::migrate(url, vec![MIGRATIONS]).await.map_err(|error| error.to_string())?;
    }
    let mut connection = database.connection().await.map_err(|error| error.to_string())?;
    store::check(&mut connection).await.map_err(|error| error.to_string())
}
