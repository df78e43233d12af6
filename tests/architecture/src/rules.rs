//! The rules for dependencies between crates. Each rule returns its violations; an empty list means that the rule holds.

use std::collections::BTreeSet;

use crate::graph::Graph;

/// The floors from the ground up. A crate may use crates of lower floors only. Services are above all of them.
const FLOORS: &[&[&str]] = &[
    &["crashpoint", "envelope", "metrics", "traces"],
    &["database"],
    &["messaging", "audit", "idempotency"],
    &["outbox"],
    &["inbox"],
    // Readers of the crates below find no command line in them.
    &["operators"],
    &["edge"],
    // The events of this project: all other crates can be used without them.
    &["runtime", "contracts"],
];

/// Our crates that the stand-in for the card processor may use. It must not share the code that it is there to test.
const STRIPE_SIM_MAY_USE: &[&str] = &["database", "traces"];

/// The dependencies of what travels between programs.
const WIRE_MAY_USE: &[(&str, &[&str])] =
    &[("envelope", &["serde", "uuid", "utoipa"]), ("contracts", &["envelope", "serde", "uuid", "utoipa"])];

/// All violations of all rules.
pub fn violations(graph: &Graph) -> Vec<String> {
    let mut found = Vec::new();
    floors(graph, &mut found);
    services(graph, &mut found);
    stripe_sim(graph, &mut found);
    wire(graph, &mut found);
    examples(graph, &mut found);
    third_parties(graph, &mut found);
    tests(graph, &mut found);
    found
}

fn floor(name: &str) -> Option<usize> {
    FLOORS.iter().position(|floor| floor.contains(&name))
}

fn floors(graph: &Graph, found: &mut Vec<String>) {
    for name in graph.below("shared") {
        if floor(name).is_none() && name != "testkit" {
            found.push(format!("{name} has no floor: add it to FLOORS"));
        }
        for dependency in graph.normal.get(name).into_iter().flatten() {
            if let (Some(upper), Some(lower)) = (floor(name), floor(dependency))
                && lower >= upper
            {
                found.push(format!("{name} depends on {dependency}, which is not on a lower floor"));
            }
        }
    }
}

fn services(graph: &Graph, found: &mut Vec<String>) {
    let services: BTreeSet<&str> = graph.below("services").collect();
    for name in graph.ours.keys() {
        for service in graph.reaches(name).iter().filter(|reached| services.contains(reached.as_str())) {
            found.push(format!("{name} links the service {service}"));
        }
        for service in
            graph.development.get(name).into_iter().flatten().filter(|used| services.contains(used.as_str()))
        {
            found.push(format!("the tests of {name} link the service {service}"));
        }
    }
}

fn stripe_sim(graph: &Graph, found: &mut Vec<String>) {
    for dependency in graph.reaches("stripe-sim") {
        if graph.ours.contains_key(&dependency) && !STRIPE_SIM_MAY_USE.contains(&dependency.as_str()) {
            found.push(format!("stripe-sim uses {dependency}; it may use {STRIPE_SIM_MAY_USE:?} alone"));
        }
    }
}

fn wire(graph: &Graph, found: &mut Vec<String>) {
    for (name, may_use) in WIRE_MAY_USE {
        for dependency in graph.normal.get(*name).into_iter().flatten() {
            if !may_use.contains(&dependency.as_str()) {
                found.push(format!("{name} uses {dependency}; it may use {may_use:?} alone"));
            }
        }
    }
}

/// The examples show that the crates below `edge` work without this project.
fn examples(graph: &Graph, found: &mut Vec<String>) {
    for name in graph.below("examples") {
        for used in graph.reaches(name) {
            if graph.ours.contains_key(&used) && floor(&used) >= floor("edge") {
                found.push(format!("{name} reaches {used}, which belongs to this project"));
            }
        }
    }
}

fn third_parties(graph: &Graph, found: &mut Vec<String>) {
    for name in graph.below("shared").chain(graph.below("services")) {
        let direct = |what: &str| graph.normal.get(name).is_some_and(|used| used.contains(what));
        if direct("rdkafka") && !["messaging", "testkit"].contains(&name) {
            found.push(format!("{name} uses rdkafka, which only messaging and testkit may use"));
        }
        if direct("prometheus-client") && name != "metrics" {
            found.push(format!("{name} uses prometheus-client, which only metrics may use"));
        }
        let telemetry = ["opentelemetry", "opentelemetry_sdk", "tracing-opentelemetry"];
        if name != "traces" && telemetry.into_iter().any(direct) {
            found.push(format!("{name} uses OpenTelemetry, which only traces may use"));
        }
        if direct("clap") && floor(name).is_some_and(|at| Some(at) < floor("operators")) {
            found.push(format!("{name} uses clap: commands of people are in shared/operator"));
        }
        let below_edge = floor(name).is_some_and(|at| Some(at) < floor("edge"));
        if below_edge && graph.reaches(name).contains("actix-web") {
            found.push(format!("{name} reaches actix-web, but is below edge"));
        }
    }
}

fn tests(graph: &Graph, found: &mut Vec<String>) {
    for name in graph.below("shared").chain(graph.below("services")) {
        if graph.reaches(name).contains("testkit") {
            found.push(format!("{name} ships testkit"));
        }
        let own = graph.development.get(name).into_iter().flatten().any(|used| used == "testkit");
        if own && name == "testkit" {
            found.push("the tests of testkit use testkit".to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph() -> Graph {
        let mut graph = Graph::default();
        for (folder, names) in [
            (
                "shared",
                vec![
                    "contracts",
                    "crashpoint",
                    "envelope",
                    "database",
                    "messaging",
                    "audit",
                    "idempotency",
                    "outbox",
                ],
            ),
            ("shared", vec!["inbox", "operators", "edge", "runtime", "testkit"]),
            ("services", vec!["orders", "inventory", "payments"]),
            ("examples", vec!["outbox-relay"]),
            ("tests", vec!["e2e", "harness"]),
            ("tools", vec!["stripe-sim"]),
        ] {
            for name in names {
                graph.ours.insert(name.to_owned(), format!("{folder}/{name}"));
            }
        }
        for (name, used) in [
            ("contracts", vec!["envelope", "serde", "uuid"]),
            ("messaging", vec!["rdkafka", "crashpoint"]),
            ("outbox", vec!["database", "messaging"]),
            ("operators", vec!["clap", "outbox"]),
            ("edge", vec!["actix-web", "idempotency"]),
            ("runtime", vec!["edge", "outbox"]),
            ("orders", vec!["runtime", "edge"]),
            ("stripe-sim", vec!["actix-web", "database"]),
            ("outbox-relay", vec!["outbox"]),
        ] {
            graph.normal.insert(name.to_owned(), used.into_iter().map(str::to_owned).collect());
        }
        graph
    }

    #[test]
    fn a_layout_that_keeps_the_rules_has_no_violations() {
        assert_eq!(violations(&graph()), Vec::<String>::new());
    }

    #[test]
    fn every_forbidden_edge_is_found() {
        for (from, to) in [
            ("orders", "payments"),
            ("e2e", "orders"),
            ("harness", "orders"),
            ("database", "outbox"),
            ("outbox", "inbox"),
            ("inbox", "contracts"),
            ("idempotency", "edge"),
            ("inbox", "actix-web"),
            ("inbox", "clap"),
            ("outbox", "operators"),
            ("operators", "edge"),
            ("contracts", "diesel"),
            ("envelope", "tokio"),
            ("edge", "contracts"),
            ("outbox-relay", "contracts"),
            ("contracts", "database"),
            ("orders", "rdkafka"),
            ("outbox", "rdkafka"),
            ("inbox", "tracing-opentelemetry"),
            ("stripe-sim", "edge"),
            ("stripe-sim", "contracts"),
            ("runtime", "testkit"),
        ] {
            let mut graph = graph();
            graph.normal.entry(from.to_owned()).or_default().insert(to.to_owned());
            assert!(!violations(&graph).is_empty(), "{from} -> {to} was not found");
        }
    }

    #[test]
    fn a_test_that_links_a_service_is_found() {
        let mut graph = graph();
        graph.development.entry("e2e".to_owned()).or_default().insert("orders".to_owned());
        assert_eq!(violations(&graph), ["the tests of e2e link the service orders"]);
    }

    #[test]
    fn a_new_crate_must_have_a_floor() {
        let mut graph = graph();
        graph.ours.insert("utilities".to_owned(), "shared/utilities".to_owned());
        assert_eq!(violations(&graph), ["utilities has no floor: add it to FLOORS"]);
    }
}
