//! The two commands that keep running: `serve`, and `relay` alone.

use std::io;
use std::sync::Arc;

use actix_web::web;
use edge::Edge;
use tokio::runtime::{Builder, Handle, Runtime};

use crate::config::Config;
use crate::http::{self, Listener};
use crate::process::Process;
use crate::signals::Signals;
use crate::{Context, RunError, Service};

/// Serves HTTP, and works in the background.
pub(crate) fn serve<S: Service>(config: Config<S>) -> Result<(), RunError> {
    let runtime = database_runtime()?;
    let served = actix_web::rt::System::new().block_on(run_service(config, runtime.handle().clone()));
    runtime.shutdown_background();
    served
}

/// Relays, and nothing else. It opens no port.
pub(crate) fn relay<S: Service>(config: Config<S>) -> Result<(), RunError> {
    let runtime = database_runtime()?;
    let relayed = runtime.block_on(run_relay(config, runtime.handle().clone()));
    runtime.shutdown_background();
    relayed
}

/// Drives every connection to PostgreSQL, and all that works in the background. HTTP has threads of its own, so that
/// neither makes the other wait.
fn database_runtime() -> io::Result<Runtime> {
    Builder::new_multi_thread().enable_all().thread_name("database").build()
}

async fn run_service<S: Service>(mut config: Config<S>, runtime: Handle) -> Result<(), RunError> {
    let signals = Signals::listen()?;
    let (process, deaths) = Process::new(&config, &runtime)?;
    let context = Context::<S> {
        database: process.database.clone(),
        topics: process.topics.clone(),
        settings: config.service.clone(),
    };
    let authenticator = config.auth.authenticator.take().ok_or(RunError::NotConfigured("auth.jwks"))?;
    let authenticator = Arc::new(authenticator);
    let edge = Edge::new(process.database.clone(), Arc::clone(&authenticator), config.edge.clone());

    let health = web::Data::from(process.health.clone());
    let public = http::public(&config.http, config.drain, &edge, &context, &health)?;
    let admin = http::admin(&config.http, &health, S::NAME)?;
    tracing::info!(service = S::NAME, address = %public.address, admin = %admin.address, "listening");

    // Apart from the rest: what works in the background needs no tokens.
    process.start_keys(authenticator, config.auth.refresh);
    let (parts, stop) = (process.clone(), process.work.stop_token());
    process.work.finish("start-up", async move {
        stop.run_until_cancelled(start_service(parts, edge, context, config)).await.unwrap_or(Ok(()))
    });
    let clients = public.server.handle();
    tokio::select! {
        ended = process.live(deaths, signals, Some(clients)) => ended,
        ended = listen(public, admin, &process) => ended,
    }
}

async fn start_service<S: Service>(
    process: Process,
    edge: Edge,
    context: Context<S>,
    config: Config<S>,
) -> Result<(), String> {
    process.open_database::<S>().await?;
    process.open_edge(&edge).await?;
    // Jobs need no broker: what they have to tell waits in the outbox.
    process.start_jobs(S::jobs(&context));
    let reactions = S::consumer(&context);
    process.open_topics::<S>(reactions.as_ref()).await?;
    if let Some(reactions) = reactions {
        process.start_inbox(reactions, config.inbox);
    }
    if config.relay.in_process {
        process.start_relay(config.relay.settings);
    }
    tracing::info!("ready");
    Ok(())
}

/// Polls both listeners. The clients' ends when it is stopped; the operators' goes on to the very end.
async fn listen(public: Listener, admin: Listener, process: &Process) -> Result<(), RunError> {
    let clients = async {
        public.server.await?;
        if process.health.is_stopping() { Ok(()) } else { Err(RunError::HttpEnded) }
    };
    let operators = async {
        admin.server.await?;
        Err::<(), _>(RunError::HttpEnded)
    };
    tokio::try_join!(clients, operators).map(drop)
}

async fn run_relay<S: Service>(config: Config<S>, runtime: Handle) -> Result<(), RunError> {
    let signals = Signals::listen()?;
    let (process, deaths) = Process::new(&config, &runtime)?;
    let (parts, stop) = (process.clone(), process.work.stop_token());
    let start = async move {
        parts.open_database::<S>().await?;
        parts.open_topics::<S>(None).await?;
        parts.start_relay(config.relay.settings);
        tracing::info!("ready");
        Ok(())
    };
    process.work.finish("start-up", async move { stop.run_until_cancelled(start).await.unwrap_or(Ok(())) });
    process.live(deaths, signals, None).await
}
