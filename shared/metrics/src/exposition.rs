//! The text of `/metrics`, in Prometheus' own format 0.0.4.

use prometheus_client::encoding::prometheus_text;
use prometheus_client::registry::Registry;

/// The media type of the text.
pub const CONTENT_TYPE: &str = prometheus_text::CONTENT_TYPE;

/// Writes the families of these registries, one after the other. A family must not be in two of them.
pub fn write<'a>(registries: impl IntoIterator<Item = &'a Registry>) -> String {
    let mut written = String::new();
    let result =
        registries.into_iter().try_for_each(|registry| prometheus_text::encode(&mut written, registry));
    // Writing to a string does not fail, and neither do our own collectors.
    debug_assert!(result.is_ok());
    written
}

#[cfg(test)]
mod tests {
    use prometheus_client::metrics::counter::Counter;

    use super::*;

    #[test]
    fn the_families_of_all_registries_are_written() {
        let [mut first, mut second] = [Registry::default(), Registry::default()];
        first.register("sold", "What was sold", Counter::<u64>::default());
        second.register("bought", "What was bought", Counter::<u64>::default());
        let text = write([&first, &second]);
        assert!(text.contains("\nsold_total 0\n") && text.contains("\nbought_total 0\n"), "{text}");
    }
}
