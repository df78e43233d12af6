//! The lab: it names tests that exist, and reads no database and no topic itself.

use std::fs;

use architecture::graph::Graph;

use crate::claims::{functions, root};
use crate::dependencies::metadata;

#[test]
fn every_test_that_the_lab_names_exists() {
    let (functions, page) = (functions(), root().join("tools/lab/page/index.html"));
    let page = fs::read_to_string(page).unwrap();
    let named: Vec<&str> =
        page.split("<code class=\"test\">").skip(1).map(|rest| rest.split('<').next().unwrap()).collect();
    for test in &named {
        assert!(functions.contains(*test), "the page of the lab names {test}, which is not a function");
    }
    // Each article under "Break something" names one, and the client two.
    assert_eq!(named.len(), page.matches("<article").count() + 2);
}

/// The lab shows what everybody can see: HTTP, `/metrics`, `operator` and `./dev`. The harness could read more for it.
#[test]
fn the_lab_reads_no_database_and_no_topic_itself() {
    let graph = Graph::of(&metadata());
    let used = &graph.normal["lab"];
    for driver in ["audits", "database", "diesel", "diesel-async", "messaging", "rdkafka", "tokio-postgres"] {
        assert!(!used.contains(driver), "lab uses {driver}");
    }
    let mut sources = Vec::new();
    let mut folders = vec![root().join("tools/lab/src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { sources.push(path) }
        }
    }
    assert!(sources.len() > 10, "{sources:?}");
    for source in sources {
        let text = fs::read_to_string(&source).unwrap();
        let mut words = text.split(|c: char| !c.is_alphanumeric());
        let reader = words.find(|word| ["Books", "Positions", "Session"].contains(word));
        assert_eq!(reader, None, "{}", source.display());
    }
}
