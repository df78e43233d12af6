//! The two long-running commands: `serve` and `relay`.

use std::io;
use std::sync::Arc;

use actix_web::web;
use edge::Edge;
use inbox::RunnerSettings;
use tokio::runtime::{Builder, Handle, Runtime};

use crate::config::Config;
use crate::http::{self, Listener};
use crate::metrics::HttpMetrics;
use crate::process::Process;
use crate::{RunError, Service, auditor};

/// Serves HTTP and runs the background tasks.
pub(crate) fn serve<S: Service>(config: Config<S>) -> Result<(), RunError> {
    let runtime = database_runtime()?;
    let served = actix_web::rt::System::new().block_on(run_service(config, runtime.handle().clone()));
    runtime.shutdown_background();
    served
}

/// Runs the relay only. It serves no clients, and operators if `admin.port` is set.
pub(crate) fn relay<S: Service>(config: Config<S>) -> Result<(), RunError> {
    let runtime = database_runtime()?;
    let relayed = actix_web::rt::System::new().block_on(run_relay(config, runtime.handle().clone()));
    runtime.shutdown_background();
    relayed
}

/// The runtime of all PostgreSQL connections and background tasks. HTTP has threads of its own, because a connection
/// whose driver shares a thread with a busy endpoint stalls.
pub(crate) fn database_runtime() -> Result<Runtime, String> {
    Builder::new_multi_thread()
        .enable_all()
        .thread_name("database")
        .build()
        .map_err(|error| format!("the operating system refused the threads of the database runtime: {error}"))
}

async fn run_service<S: Service>(mut config: Config<S>, runtime: Handle) -> Result<(), RunError> {
    let (process, task_errors) = Process::new(&config, &runtime)?;
    let signals = process.signals()?;
    let context = process.context::<S>(&config, &process.pools.requests);
    let authenticator = config.auth.authenticator.take().ok_or("auth.jwks is not configured")?;
    let authenticator = Arc::new(authenticator);
    let edge = Edge::new(process.pools.requests.clone(), Arc::clone(&authenticator), config.edge.clone());

    let health = web::Data::from(process.health.clone());
    let requests = HttpMetrics::default();
    let public = http::public(&config.http, config.drain, &edge, &context, &health, &requests)?;
    let admin = http::admin(&config.http, &health, process.scrape(&config, &requests))?;
    tracing::info!(service = S::NAME, address = %public.address, admin = %admin.address, "listening");

    // Beside the start-up, because background tasks need no tokens.
    process.start_keys(authenticator, config.auth.refresh);
    let (parts, stop) = (process.clone(), process.work.stop_token());
    process.work.finish("start-up", async move {
        stop.run_until_cancelled(start_service(parts, config)).await.unwrap_or(Ok(()))
    });
    let clients = public.server.handle();
    let main = async {
        tokio::select! {
            ended = process.run(task_errors, signals, Some(clients)) => ended,
            ended = listen(public, admin, &process) => ended,
        }
    };
    process.heartbeats().of("main thread").during(main).await
}

async fn start_service<S: Service>(process: Process, config: Config<S>) -> Result<(), String> {
    process.open_database::<S>().await?;
    let database = process.adopted::<S>().await?;
    process.start_replays();
    // Before Kafka answers, because the events of jobs wait in the outbox.
    process.start_jobs(S::jobs(&process.context(&config, &process.pools.jobs)));
    process.start_housekeeping(S::housekeeping(&process.context(&config, &process.pools.housekeeping)));
    process.start_housekeeping(config.audit_pause.map(auditor::job::<S>).into_iter().collect());
    let consumer = S::consumer(&process.context(&config, &process.pools.inbox));
    process.open_topics::<S>(consumer.as_ref()).await?;
    if config.relay.in_process {
        process.start_relay(config.relay.settings);
    }
    if let Some(consumer) = consumer {
        process.start_inbox(consumer, RunnerSettings { database: Some(database), ..config.inbox }).await?;
    }
    process.health.started();
    tracing::info!("ready");
    Ok(())
}

const HTTP_ENDED: &str = "the HTTP server ended before it was stopped";

fn http_failed(error: &io::Error) -> String {
    format!("the HTTP server failed: {error}")
}

/// Runs both listeners. The public one ends when it is stopped; the admin one runs until the process ends.
async fn listen(public: Listener, admin: Listener, process: &Process) -> Result<(), RunError> {
    let clients = async {
        public.server.await.map_err(|error| http_failed(&error))?;
        if process.health.is_stopping() { Ok(()) } else { Err(HTTP_ENDED.into()) }
    };
    tokio::try_join!(clients, answer_operators(admin)).map(drop)
}

/// Runs the admin listener until the process ends.
async fn answer_operators(admin: Listener) -> Result<(), RunError> {
    admin.server.await.map_err(|error| http_failed(&error))?;
    Err(HTTP_ENDED.into())
}

async fn run_relay<S: Service>(config: Config<S>, runtime: Handle) -> Result<(), RunError> {
    let (process, task_errors) = Process::new(&config, &runtime)?;
    let signals = process.signals()?;
    let admin = if config.http.admin_is_set { Some(relay_admin(&config, &process)?) } else { None };
    let (parts, stop) = (process.clone(), process.work.stop_token());
    let start = async move {
        parts.open_database::<S>().await?;
        // A relay checks no tokens, so it needs no keys.
        parts.health.set_keys_read(true);
        parts.adopted::<S>().await?;
        parts.open_topics::<S>(None).await?;
        parts.start_relay(config.relay.settings);
        parts.health.started();
        tracing::info!("ready");
        Ok(())
    };
    process.work.finish("start-up", async move { stop.run_until_cancelled(start).await.unwrap_or(Ok(())) });
    let operators = async {
        match admin {
            Some(admin) => answer_operators(admin).await,
            None => std::future::pending().await,
        }
    };
    let main = async {
        tokio::select! {
            ended = process.run(task_errors, signals, None) => ended,
            ended = operators => ended,
        }
    };
    process.heartbeats().of("main thread").during(main).await
}

/// Opens the admin port of a relay.
fn relay_admin<S: Service>(config: &Config<S>, process: &Process) -> Result<Listener, RunError> {
    let health = web::Data::from(process.health.clone());
    let admin = http::admin(&config.http, &health, process.scrape(config, &HttpMetrics::default()))?;
    tracing::info!(service = S::NAME, admin = %admin.address, "listening");
    Ok(admin)
}
