//! `/metrics` for Prometheus, on the admin listener: build, uptime, readiness, and the state of the servers.

use std::time::Instant;

use actix_web::http::header::ContentType;
use actix_web::{HttpResponse, web};

use crate::health::{Health, Report};

/// Mounts `/metrics`; it finds [`Health`] in `web::Data`.
pub(crate) fn routes(service: &'static str) -> impl FnOnce(&mut web::ServiceConfig) {
    let started = Instant::now();
    let handler = move |health: web::Data<Health>| async move {
        let text = exposition(service, health.report().await, started.elapsed().as_secs());
        HttpResponse::Ok().insert_header(ContentType::plaintext()).body(text)
    };
    move |app| {
        app.service(web::resource("/metrics").route(web::get().to(handler)));
    }
}

/// Prometheus' text format.
fn exposition(service: &str, report: Report, uptime: u64) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let ready = u8::from(report.is_ready());
    let [database, broker, keys] =
        [report.database, report.broker, report.keys].map(|state| u8::from(state == "ok"));
    format!(
        "# HELP idem_build_info The program that runs here.\n\
         # TYPE idem_build_info gauge\n\
         idem_build_info{{service=\"{service}\",version=\"{version}\"}} 1\n\
         # HELP idem_uptime_seconds Time since the process began to listen.\n\
         # TYPE idem_uptime_seconds gauge\n\
         idem_uptime_seconds {uptime}\n\
         # HELP idem_ready Whether requests should be sent here.\n\
         # TYPE idem_ready gauge\n\
         idem_ready {ready}\n\
         # HELP idem_dependency_up Whether a server that this process needs can be used.\n\
         # TYPE idem_dependency_up gauge\n\
         idem_dependency_up{{dependency=\"database\"}} {database}\n\
         idem_dependency_up{{dependency=\"broker\"}} {broker}\n\
         idem_dependency_up{{dependency=\"keys\"}} {keys}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dependency_that_is_away_reads_as_zero() {
        let report = Report { status: "unavailable", database: "away", broker: "ok", keys: "ok" };
        let text = exposition("orders", report, 7);
        for line in [
            "idem_ready 0",
            "idem_uptime_seconds 7",
            "idem_dependency_up{dependency=\"database\"} 0",
            "idem_dependency_up{dependency=\"broker\"} 1",
            "idem_dependency_up{dependency=\"keys\"} 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in {text}");
        }
    }
}
