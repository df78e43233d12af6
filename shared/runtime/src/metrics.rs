//! `/metrics` for Prometheus, on the admin listener: build, uptime, readiness, the state of the servers,
//! and the events and messages that wait for an operator.

use std::time::Instant;

use actix_web::http::header::ContentType;
use actix_web::{HttpResponse, web};
use database::Database;
use inbox::InboxCounts;

use crate::health::{Health, Report};

/// Mounts `/metrics`; it finds [`Health`] in `web::Data`.
pub(crate) fn routes(service: &'static str) -> impl FnOnce(&mut web::ServiceConfig) {
    let started = Instant::now();
    let handler = move |health: web::Data<Health>| async move {
        let mut text = exposition(service, health.report().await, started.elapsed().as_secs());
        text.extend(waiting(health.database()).await.ok());
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

/// The numbers of events and messages that wait for an operator, read from the database. Each instance reports the same. Without the database there are no
/// numbers, because zero would be wrong.
async fn waiting(database: &Database) -> database::Result<String> {
    let InboxCounts { parked, held, stopped_partitions } = inbox::counts(database).await?;
    let blocked = outbox::count_blocked(database).await?;
    Ok(format!(
        "# HELP outbox_blocked_events Events that Kafka cannot take, and later events of their aggregates.\n\
         # TYPE outbox_blocked_events gauge\n\
         outbox_blocked_events {blocked}\n\
         # HELP inbox_waiting_messages Messages that wait for an operator (parked) or for an earlier message (held).\n\
         # TYPE inbox_waiting_messages gauge\n\
         inbox_waiting_messages{{state=\"parked\"}} {parked}\n\
         inbox_waiting_messages{{state=\"held\"}} {held}\n\
         # HELP inbox_stopped_partitions Partitions where the consumer waits for an operator.\n\
         # TYPE inbox_stopped_partitions gauge\n\
         inbox_stopped_partitions {stopped_partitions}\n"
    ))
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
