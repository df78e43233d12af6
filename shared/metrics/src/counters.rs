//! `Counters`: one counter for each value of a label.
//!
//! The values are the variants of an enum, so their number is fixed. Each counter exists from the start: a rate over it is then
//! right from the first event on, and zero differs from "not measured". Counting takes no lock.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use strum::VariantArray;

/// An enum whose variants are the values of a label. Derive `VariantArray` and `IntoStaticStr`.
pub trait LabelValue: VariantArray + Copy + PartialEq + Into<&'static str> + Send + Sync + 'static {}

impl<L: VariantArray + Copy + PartialEq + Into<&'static str> + Send + Sync + 'static> LabelValue for L {}

/// A family of counters with one label.
#[derive(Debug)]
pub struct Counters<L> {
    family: Family<[(&'static str, &'static str); 1], Counter>,
    counters: Vec<(L, Counter)>,
}

impl<L: LabelValue> Counters<L> {
    /// Counters at zero, one for each value of the label with this name.
    pub fn by(label: &'static str) -> Self {
        let family = Family::<[(&'static str, &'static str); 1], Counter>::default();
        let counter = |value: &L| (*value, family.get_or_create_owned(&[(label, (*value).into())]));
        let counters = L::VARIANTS.iter().map(counter).collect();
        Self { family, counters }
    }

    /// Counts one event.
    pub fn count(&self, value: L) {
        self.add(value, 1);
    }

    /// Counts so many events.
    pub fn add(&self, value: L, events: u64) {
        if let Some((_, counter)) = self.counters.iter().find(|(of, _)| *of == value) {
            counter.inc_by(events);
        }
    }

    /// Registers the family. The name has no suffix; `_total` is added.
    pub fn register(&self, registry: &mut Registry, name: &str, help: &str) {
        registry.register(name, help, self.family.clone());
    }
}

#[cfg(test)]
mod tests {
    use strum::IntoStaticStr;

    use super::*;
    use crate::write;

    #[derive(Clone, Copy, PartialEq, VariantArray, IntoStaticStr)]
    #[strum(serialize_all = "snake_case")]
    enum Fruit {
        Apple,
        PassionFruit,
    }

    #[test]
    fn every_value_of_a_label_is_exported_from_the_start() {
        let (counters, mut registry) = (Counters::by("fruit"), Registry::default());
        counters.register(&mut registry, "eaten", "Fruit that was eaten");
        counters.count(Fruit::PassionFruit);
        counters.add(Fruit::PassionFruit, 2);
        let text = write([&registry]);
        assert!(text.contains("eaten_total{fruit=\"passion_fruit\"} 3\n"), "{text}");
        assert!(text.contains("eaten_total{fruit=\"apple\"} 0\n"), "{text}");
    }
}
