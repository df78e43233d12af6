//! `/metrics` on the admin listener: everything that the crates count, and the gauges that are read at a scrape.

mod database;
mod http;
mod jobs;
mod process;
mod scrape;

use actix_web::{HttpResponse, web};
use futures_util::future::join;
use metrics::Readings;

use crate::Service;
use crate::health::Health;

pub(crate) use http::{HttpMetrics, count_request};
pub(crate) use scrape::{Scrape, read_gauges};

/// Mounts `/metrics`; it finds [`Health`] and [`Scrape`] in `web::Data`.
pub(crate) fn routes<S: Service>(app: &mut web::ServiceConfig) {
    app.service(web::resource("/metrics").route(web::get().to(show::<S>)));
}

async fn show<S: Service>(health: web::Data<Health>, scrape: web::Data<Scrape<S>>) -> HttpResponse {
    let (report, read) = join(health.report(), scrape.read()).await;
    let mut process = Readings::default();
    process::add(&mut process, S::NAME, report, scrape.uptime());
    let text = metrics::write([process.registry(), scrape.counted(), read.registry()]);
    HttpResponse::Ok().content_type(metrics::CONTENT_TYPE).body(text)
}
