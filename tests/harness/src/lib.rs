#![doc = include_str!("../README.md")]
#![allow(clippy::missing_errors_doc, reason = "an error ends the test, and its text says why")]

mod api;
mod audit;
mod books;
mod contract;
mod dev;
mod error;
mod http;
mod kafka;
mod metrics;
mod of_services;
mod part;
pub mod process;
mod program;
mod rest;
mod wait;

pub use api::Api;
pub use audit::Asked;
pub use books::{AllContents, Backlog, Books, Lease, Session};
pub use contract::DocumentedResponse;
pub use dev::{Dev, variable};
pub use error::{Context, Error, Result};
pub use http::{Client, Endpoint, Request, Response, fence};
pub use kafka::{DEPLOYMENT, Kafka, Positions, deployment, kafka_variables};
pub use metrics::Metrics;
pub use of_services::*;
pub use part::{Instance, Part, Role};
pub use program::{CommandOutput, Launch, Program};
pub use wait::{Look, until};

/// `host:port` of a URL, without scheme, user, path and query.
pub fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    host.split(['/', '?']).next().unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::host_of;

    #[test]
    fn the_host_of_a_url_is_without_role_and_database() {
        for url in ["postgres://a:b@c:1/d?e=f", "postgresql://c:1/d", "c:1"] {
            assert_eq!(host_of(url), "c:1", "{url}");
        }
    }
}
