//! The page over HTTP, on the loopback alone: three files, the events, and the buttons.

mod events;
mod origin;

#[cfg(test)]
mod tests;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use actix_web::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use actix_web::middleware::{DefaultHeaders, from_fn};
use actix_web::web::{Data, Path, ServiceConfig};
use actix_web::{App, HttpResponse, HttpServer, dev, get, post};
use harness::{Context, Result};
use tokio::sync::{mpsc, watch};

use crate::action::Action;
use crate::state::LabState;

/// The browser refuses everything that the page would load from elsewhere, send elsewhere, or run from its own text.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

/// The data that the handlers share with the task that reads and acts.
struct PageData {
    state: Arc<watch::Sender<LabState>>,
    actions: mpsc::UnboundedSender<Action>,
}

/// Reads an address to listen on. Refuses an address that other machines can reach, and an address that a browser does not repeat
/// in `Host`. Otherwise the lab would refuse every request.
pub(crate) fn loopback(text: &str) -> std::result::Result<SocketAddr, String> {
    let address: SocketAddr = text.parse().map_err(|_| "must be ADDRESS:PORT".to_owned())?;
    let is_local = [IpAddr::from(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()].contains(&address.ip());
    if is_local && ![0, 80].contains(&address.port()) {
        Ok(address)
    } else {
        Err("the lab stops servers by a button: it listens on 127.0.0.1 or [::1] alone, at a port other than 0 and 80"
            .to_owned())
    }
}

/// Listens. Connections are cut at the end, because the stream of events never ends by itself.
pub(crate) fn start(
    listen: SocketAddr,
    state: Arc<watch::Sender<LabState>>,
    actions: mpsc::UnboundedSender<Action>,
) -> Result<dev::Server> {
    let shared = Data::new(PageData { state, actions });
    let server = HttpServer::new(move || {
        App::new()
            .app_data(shared.clone())
            .wrap(from_fn(move |request, next| origin::check(listen.port(), request, next)))
            .wrap(headers())
            .configure(routes)
    });
    let server = server.workers(1).disable_signals().shutdown_timeout(0);
    Ok(server.bind(listen).context(format!("listen on {listen}"))?.run())
}

fn headers() -> DefaultHeaders {
    DefaultHeaders::new()
        .add((CONTENT_SECURITY_POLICY, POLICY))
        .add((CACHE_CONTROL, "no-store"))
        .add((REFERRER_POLICY, "no-referrer"))
        .add((X_CONTENT_TYPE_OPTIONS, "nosniff"))
}

fn routes(app: &mut ServiceConfig) {
    app.service(page).service(script).service(style).service(icon).service(events::events).service(press);
}

#[get("/")]
async fn page() -> HttpResponse {
    HttpResponse::Ok().content_type("text/html; charset=utf-8").body(include_str!("../../page/index.html"))
}

#[get("/lab.js")]
async fn script() -> HttpResponse {
    HttpResponse::Ok().content_type("text/javascript; charset=utf-8").body(include_str!("../../page/lab.js"))
}

#[get("/lab.css")]
async fn style() -> HttpResponse {
    HttpResponse::Ok().content_type("text/css; charset=utf-8").body(include_str!("../../page/lab.css"))
}

/// Browsers ask for it, and a 404 would be an error in their console.
#[get("/favicon.ico")]
async fn icon() -> HttpResponse {
    HttpResponse::NoContent().finish()
}

/// Presses a button: 202 at once, and the state shows the action until it is done. 409 while it acts already.
#[post("/actions/{action}")]
async fn press(data: Data<PageData>, action: Path<Action>) -> HttpResponse {
    let action = action.into_inner();
    let is_new = data.state.send_if_modified(|state| state.begin_action(action));
    if is_new && data.actions.send(action).is_ok() {
        HttpResponse::Accepted().finish()
    } else {
        HttpResponse::Conflict().body("this action is not done yet")
    }
}
