//! The text of `/metrics`, in the two formats that Prometheus reads.

use prometheus_client::encoding::{prometheus_text, text};
use prometheus_client::registry::Registry;

/// A format of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Prometheus' own format 0.0.4. `promtool check metrics` reads this one only.
    Prometheus,
    /// `OpenMetrics` 1.0.
    OpenMetrics,
}

impl Format {
    /// The format for a request with this `Accept` header.
    pub fn accepted(accept: &str) -> Self {
        if accept.contains("application/openmetrics-text") { Self::OpenMetrics } else { Self::Prometheus }
    }

    /// The media type of the text.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => prometheus_text::CONTENT_TYPE,
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// Writes the families of these registries, one after the other. A family must not be in two of them.
pub fn write<'a>(format: Format, registries: impl IntoIterator<Item = &'a Registry>) -> String {
    let mut written = String::new();
    let result = registries.into_iter().try_for_each(|registry| match format {
        Format::Prometheus => prometheus_text::encode(&mut written, registry),
        Format::OpenMetrics => text::encode_registry(&mut written, registry),
    });
    // Writing to a string does not fail, and neither do our own collectors.
    debug_assert!(result.is_ok());
    if format == Format::OpenMetrics {
        written.push_str("# EOF\n");
    }
    written
}

#[cfg(test)]
mod tests {
    use prometheus_client::metrics::counter::Counter;

    use super::*;

    #[test]
    fn both_formats_name_a_counter_alike_and_open_metrics_has_an_end() {
        let [mut first, mut second] = [Registry::default(), Registry::default()];
        first.register("sold", "What was sold", Counter::<u64>::default());
        second.register("bought", "What was bought", Counter::<u64>::default());
        for format in [Format::Prometheus, Format::OpenMetrics] {
            let text = write(format, [&first, &second]);
            assert!(text.contains("\nsold_total 0\n") && text.contains("\nbought_total 0\n"), "{text}");
            assert_eq!(text.matches("# EOF").count(), usize::from(format == Format::OpenMetrics));
        }
    }

    #[test]
    fn open_metrics_is_written_for_readers_that_accept_it() {
        let prometheus = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3";
        assert_eq!(Format::accepted(prometheus), Format::OpenMetrics);
        assert_eq!(Format::accepted("*/*"), Format::Prometheus);
    }
}
