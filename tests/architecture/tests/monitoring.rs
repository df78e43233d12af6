#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]
//! deploy/prometheus/alerts.yml asks for documented metrics only, and each alert has its entry in the runbook and its tests.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

/// How the names of our metrics begin.
const FAMILIES: [&str; 10] = [
    "idempotency_",
    "outbox_",
    "inbox_",
    "payments_",
    "orders_",
    "http_",
    "database_",
    "idem_",
    "job_",
    "invariant_",
];

/// The suffixes that Prometheus adds to the name of a counter or histogram.
const SUFFIXES: [&str; 4] = ["_total", "_bucket", "_sum", "_count"];

fn text(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn rules() -> Vec<Value> {
    let rules: Value = serde_saphyr::from_str(&text("deploy/prometheus/alerts.yml")).unwrap();
    let groups = rules["groups"].as_array().unwrap().iter();
    groups.flat_map(|group| group["rules"].as_array().unwrap().clone()).collect()
}

/// The names of our metrics in an expression.
fn metrics(expression: &str) -> BTreeSet<&str> {
    expression
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':'))
        .filter(|word| FAMILIES.iter().any(|family| word.starts_with(family)))
        .collect()
}

#[test]
fn an_alert_asks_for_documented_metrics_only() {
    let (documented, mut found) = (text("docs/metrics.md"), 0);
    for rule in rules() {
        for metric in metrics(rule["expr"].as_str().unwrap()) {
            found += 1;
            let names = SUFFIXES.iter().filter_map(|suffix| metric.strip_suffix(suffix)).chain([metric]);
            let is_documented = names.map(|name| format!("`{name}")).any(|name| documented.contains(&name));
            assert!(is_documented, "docs/metrics.md has no {metric}");
        }
    }
    assert!(found > 20, "{found} metrics: were the rules read?");
}

#[test]
fn each_alert_has_an_entry_in_the_runbook_and_tests_of_both_kinds() {
    let (runbook, tests) = (text("docs/operations.md"), text("deploy/prometheus/alerts_test.yml"));
    let entries: BTreeSet<String> =
        runbook.lines().filter_map(|line| line.strip_prefix("### ")).map(str::to_lowercase).collect();
    for rule in rules() {
        let Some(alert) = rule["alert"].as_str() else { continue };
        let link = rule["annotations"]["runbook"].as_str().unwrap();
        let entry = link.strip_prefix("docs/operations.md#").unwrap_or_else(|| panic!("{alert}: {link}"));
        assert!(entries.contains(entry), "{alert}: no entry {entry}");
        for kind in ["fires", "is quiet"] {
            assert!(tests.contains(&format!("name: {alert} {kind}\n")), "{alert}: no test that it {kind}");
        }
    }
}
