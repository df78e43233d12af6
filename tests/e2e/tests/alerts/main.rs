#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]
//! Alerts of deploy/prometheus on running services: each fault fires its alert, and the cure of the runbook ends it.
//!
//! They need Prometheus, so `./dev alerts` runs them.

mod database;
mod edge;
mod inbox;
mod of_services;
mod outages;
mod outbox;
mod processes;
mod prometheus;
mod waiting_work;

use diesel_async::{AsyncConnection, AsyncPgConnection, SimpleAsyncConnection};
use e2e::{Options, Part, Stack};
use prometheus::Prometheus;
use testkit::free_port;

/// An installation with separate relays, and the Prometheus that scrapes its services.
struct Watched {
    stack: Stack,
    ports: [(&'static str, u16); Part::SERVICES.len()],
    prometheus: Prometheus,
}

impl Watched {
    async fn start(options: Options) -> Self {
        let options = Options { separate_relays: true, lease_seconds: Some(2), ..options };
        let mut stack = Stack::prepared(options).await;
        let ports = Part::SERVICES.map(|service| (service.name(), free_port()));
        for part in Part::PROGRAMS.into_iter().filter(|part| !part.is_service()) {
            stack.launch_ready(part.name(), &[]).await;
        }
        for (service, port) in ports {
            launch(&mut stack, service, port, &[]).await;
            stack.launch_ready(&format!("{service}-relay"), &[]).await;
        }
        let prometheus = Prometheus::start(&ports).await;
        Self { stack, ports, prometheus }
    }

    /// Starts a service again, where Prometheus finds it.
    async fn launch(&mut self, service: &str, more: &[(&str, &str)]) {
        let (_, port) = self.ports.into_iter().find(|(name, _)| *name == service).unwrap();
        launch(&mut self.stack, service, port, more).await;
    }

    /// Restarts a service with settings on top of its usual ones.
    async fn restart(&mut self, service: &str, more: &[(&str, &str)]) {
        self.stack.stop(service).await;
        self.launch(service, more).await;
    }

    /// Changes the database of a service as its owner.
    async fn meddle(&self, part: Part, sql: &str) {
        self.stack.database(part).owner().await.batch_execute(sql).await.unwrap();
    }

    /// Ends every transaction that holds this lock, as a superuser may.
    async fn end_transactions(&self, part: Part, table: &str, mode: &str) {
        let url = self.stack.database(part).superuser_url();
        let mut superuser = AsyncPgConnection::establish(&url).await.unwrap();
        let end = format!(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE relation = '{table}'::regclass AND mode = '{mode}' \
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        );
        superuser.batch_execute(&end).await.unwrap();
    }

    /// An operator's command that must be done.
    async fn operate(&self, part: Part, words: &[&str]) {
        let output =
            self.stack.operate(part, &[words, &["--by", "kim", "--reason", "an alert"]].concat()).await;
        assert!(output.is_success(), "{output:?}");
    }
}

async fn launch(stack: &mut Stack, service: &str, port: u16, more: &[(&str, &str)]) {
    let admin = port.to_string();
    let settings = [("IDEM_ADMIN__PORT", admin.as_str()), ("IDEM_AUDIT__PAUSE_SECONDS", "1")];
    stack.launch_ready(service, &[&settings, more].concat()).await;
}
