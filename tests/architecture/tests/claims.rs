#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]
//! What the documents claim, they claim by the name of a test or of an audit: each must exist.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Every file with this ending that people wrote.
fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !name.starts_with('.') && name != "target" {
            files(&path, ending, found);
        } else if name.ends_with(ending) {
            found.push(path);
        }
    }
}

fn functions() -> BTreeSet<String> {
    let mut sources = Vec::new();
    files(&root(), ".rs", &mut sources);
    let mut names = BTreeSet::new();
    for source in sources {
        for line in std::fs::read_to_string(source).unwrap().lines() {
            if let Some((_, rest)) = line.split_once("fn ") {
                names.insert(rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect());
            }
        }
    }
    names
}

/// What stands in backticks and is a sentence: five words at least.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2).filter(|quoted| {
        quoted.matches('_').count() >= 4
            && quoted.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    })
}

#[test]
fn every_test_that_a_document_names_exists() {
    let functions = functions();
    let mut documents = Vec::new();
    files(&root(), ".md", &mut documents);
    let mut named = 0;
    for document in documents {
        for sentence in sentences(&std::fs::read_to_string(&document).unwrap()) {
            // A test card is long, too.
            if sentence.starts_with("pm_card_") {
                continue;
            }
            named += 1;
            assert!(
                functions.contains(sentence),
                "{} names {sentence}, which is no function",
                document.display()
            );
        }
    }
    assert!(named > 50, "the documents name {named} tests: were they read?");
}

#[test]
fn every_audit_that_the_guarantees_name_exists() {
    let guarantees = std::fs::read_to_string(root().join("docs/guarantees.md")).unwrap();
    let mut named = 0;
    for quoted in guarantees.split('`').skip(1).step_by(2) {
        if let Some((folder, query)) = quoted.split_once('/')
            && ["reliability", "orders", "inventory", "payments", "provider"].contains(&folder)
        {
            named += 1;
            let file = root().join("audits").join(folder).join(format!("{query}.sql"));
            assert!(file.is_file(), "the guarantees name {quoted}, which is no audit");
        }
    }
    assert!(named >= 10, "the guarantees name {named} audits: were they read?");
}
