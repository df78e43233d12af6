//! Notices a client that has forgotten its brokers.
//!
//! A cluster's last broker that stops may answer a request for metadata with topics and without brokers. librdkafka 2.12 then forgets
//! every broker, also the configured ones (its issue 5301). After some orders of events the client does not begin again with the
//! configured ones: it connects to nothing, and reports no error.
//!
//! What goes wrong without this module: a consumer reads nothing, or a relay waits for a delivery report, until the process is restarted.

use rdkafka::Statistics;

/// Returns whether the client knows no broker, neither a configured one nor one that a broker has named.
pub(crate) fn has_forgotten_brokers(statistics: &Statistics) -> bool {
    !statistics.brokers.values().any(|broker| matches!(broker.source.as_str(), "configured" | "learned"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Statistics of a client with a broker of each of these sources.
    fn with_sources(sources: &[&str]) -> Statistics {
        let broker = |source: &&str| {
            let broker = rdkafka::statistics::Broker { source: (*source).to_owned(), ..Default::default() };
            ((*source).to_owned(), broker)
        };
        Statistics { brokers: sources.iter().map(broker).collect(), ..Default::default() }
    }

    #[test]
    fn a_client_with_its_coordinator_alone_has_forgotten_its_brokers() {
        for (sources, expected) in [
            (&["configured", "logical"][..], false),
            (&["learned", "logical"], false),
            (&["logical"], true),
            (&["logical", "internal"], true),
        ] {
            assert_eq!(has_forgotten_brokers(&with_sources(sources)), expected, "{sources:?}");
        }
    }
}
