//! The two HTTP listeners: the public one for clients, the admin one for operators.

use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{Server, ServiceRequest, ServiceResponse};
use actix_web::middleware::{Next, from_fn};
use actix_web::{App, Error, HttpServer, web};
use database::Heartbeats;
use edge::{Edge, Problem, problem_types};
use serde_json::Value;
use utoipa::openapi::OpenApi;
use utoipa_actix_web::AppExt;
use utoipa_actix_web::service_config::ServiceConfig;

use crate::config::Http;
use crate::health::Health;
use crate::metrics::{self, HttpMetrics, Scrape, count_request};
use crate::process::shutdown_limit;
use crate::{Context, Service, health, slow_reader};

/// The longest time until the head of a request is there.
const HEAD_LIMIT: Duration = Duration::from_secs(5);

/// A service's routes with their data, their documentation and the response for unknown paths. Tests mount them in an
/// application of their own.
pub fn routes<S: Service>(edge: Edge, context: Context<S>) -> impl FnOnce(&mut web::ServiceConfig) {
    move |app| {
        mounted::<S>(&mut ServiceConfig::new(app));
        app.configure(edge::docs(&edge, S::DOCUMENT))
            .app_data(web::Data::new(edge))
            .app_data(web::Data::new(context))
            .default_service(edge::unmatched(&described::<S>()));
    }
}

/// The OpenAPI document as the mounted routes describe it. `./dev openapi` completes it.
pub(crate) fn described_document<S: Service>() -> Value {
    edge::with_problems(&described::<S>(), S::PROBLEMS)
}

fn described<S: Service>() -> OpenApi {
    App::new().into_utoipa_app().openapi(S::api()).configure(mounted::<S>).split_for_parts().1
}

/// The service's own routes, and the routes of every service.
fn mounted<S: Service>(app: &mut ServiceConfig<'_>) {
    S::routes(app);
    edge::idempotency_keys(app);
}

/// A listener with an open port. It serves while its future is polled.
pub(crate) struct Listener {
    pub(crate) server: Server,
    pub(crate) address: SocketAddr,
}

/// Opens the public port.
pub(crate) fn public<S: Service>(
    settings: &Http,
    drain: Duration,
    edge: &Edge,
    context: &Context<S>,
    health: &web::Data<Health>,
    requests: &HttpMetrics,
) -> Result<Listener, String> {
    let (edge, context, health) = (edge.clone(), context.clone(), health.clone());
    let (requests, connections) = (web::Data::new(requests.clone()), requests.clone());
    let workers =
        settings.workers.unwrap_or_else(|| std::thread::available_parallelism().map_or(2, usize::from));
    let heartbeats = context.database.heartbeats().clone();
    let server = HttpServer::new(move || {
        beat(&heartbeats);
        App::new()
            .configure(health::routes)
            .configure(routes(edge.clone(), context.clone()))
            .app_data(health.clone())
            .app_data(requests.clone())
            .wrap(from_fn(once_usable))
            .wrap(edge.cors())
            .wrap(from_fn(edge::head_as_get))
            .wrap(from_fn(edge::response_headers))
            .wrap(edge::request_span())
            .wrap(from_fn(count_request))
    })
    .workers(workers)
    .max_connections(settings.max_connections.div_ceil(workers))
    .client_request_timeout(HEAD_LIMIT)
    .client_disconnect_timeout(Duration::from_secs(1))
    .keep_alive(settings.keep_alive)
    .on_connect({
        let stall = settings.stall;
        move |connection, extensions| {
            slow_reader::limit(connection, stall);
            extensions.insert(connections.open_connection());
        }
    })
    // A client that closes its sending half after the request still gets the response.
    .h1_allow_half_closed(true)
    // The shutdown gives up before the server does, which would drop the requests and not say so.
    .shutdown_timeout(shutdown_limit(drain).as_secs())
    .disable_signals();
    let address = settings.address;
    listen(server.bind(address), address, "IDEM_HTTP__PORT", |server| (server.addrs(), server.run()))
}

/// Beats for the thread of a worker, which calls this when it starts. The heartbeat ends with the thread.
#[expect(clippy::disallowed_methods, reason = "ends with its thread, and does nothing else")]
fn beat(heartbeats: &Heartbeats) {
    actix_web::rt::spawn(heartbeats.of("HTTP worker").during(pending::<()>()));
}

/// Opens the admin port. It stays open until the process ends.
pub(crate) fn admin<S: Service>(
    settings: &Http,
    health: &web::Data<Health>,
    scrape: Scrape<S>,
) -> Result<Listener, String> {
    let (health, scrape) = (health.clone(), web::Data::new(scrape));
    let server = HttpServer::new(move || {
        App::new()
            .configure(health::routes)
            .configure(metrics::routes::<S>)
            .app_data(health.clone())
            .app_data(scrape.clone())
    })
    .workers(1)
    .max_connections(64)
    .client_request_timeout(HEAD_LIMIT)
    .keep_alive(settings.keep_alive)
    .shutdown_timeout(1)
    .disable_signals();
    let address = settings.admin;
    listen(server.bind(address), address, "IDEM_ADMIN__PORT", |server| (server.addrs(), server.run()))
}

fn listen<H>(
    bound: io::Result<H>,
    address: SocketAddr,
    variable: &'static str,
    run: impl FnOnce(H) -> (Vec<SocketAddr>, Server),
) -> Result<Listener, String> {
    let bound = bound.map_err(|error| {
        format!("cannot listen on {address}: {error}. Is another instance running? {variable} chooses another port")
    })?;
    let (addresses, server) = run(bound);
    // The system chooses the port if the setting is 0.
    Ok(Listener { server, address: addresses.first().copied().unwrap_or(address) })
}

const STARTING: &str = "The service is starting and did not process the request. /health/ready names the server that it waits for.";
const NOT_ADOPTED: &str = "The service answers reads only and did not process the request: its database is a copy, or belongs to \
                           another deployment. An operator can adopt it.";

/// Middleware: `/v1/…` is 503 until tables and keys are there, and each command until the database is the one of this deployment.
/// Other paths are served from the start.
async fn once_usable(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let health = request.app_data::<web::Data<Health>>();
    let is_open = health.is_some_and(|health| health.is_open());
    let is_allowed = request.method().is_safe() || health.is_some_and(|health| health.is_adopted());
    // Decoded, as the routes match it: `request.path()` is as the client spelled it.
    let path = request.match_info().as_str();
    if (is_open && is_allowed) || !path.starts_with("/v1/") {
        return next.call(request).await.map(ServiceResponse::map_into_boxed_body);
    }
    let detail = if is_open { NOT_ADOPTED } else { STARTING };
    Ok(request.error_response(Problem::new(&problem_types::UNAVAILABLE, detail)))
}
