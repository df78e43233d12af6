//! Every test and every audit that a document names exists.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Collects every file with this ending, without build results and hidden folders.
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

pub(crate) fn functions() -> BTreeSet<String> {
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

/// Names of tests: text in backticks with five words or more, joined by underscores.
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
            // Names of test cards and of counters are as long.
            if sentence.starts_with("pm_card_") || sentence.ends_with("_total") {
                continue;
            }
            named += 1;
            assert!(
                functions.contains(sentence),
                "{} names {sentence}, which is not a function",
                document.display()
            );
        }
    }
    assert!(named > 50, "the documents name {named} tests: were they read?");
}

/// Decisions and the changelog keep their words.
fn is_history(document: &Path) -> bool {
    document.ends_with("CHANGELOG.md") || document.components().any(|part| part.as_os_str() == "decisions")
}

#[test]
fn documents_name_tests_in_tables_alone() {
    let mut documents = Vec::new();
    files(&root(), ".md", &mut documents);
    let mut found = Vec::new();
    for document in documents.iter().filter(|document| !is_history(document)) {
        let text = std::fs::read_to_string(document).unwrap();
        for line in text.lines().filter(|line| !line.trim_start().starts_with('|')) {
            let named = sentences(line).filter(|name| !name.starts_with("pm_card_"));
            found.extend(named.map(|name| format!("{}: {name}", document.display())));
        }
    }
    assert!(
        found.is_empty(),
        "{} tests are named outside of a table:\n  {}",
        found.len(),
        found.join("\n  ")
    );
}

#[test]
fn every_audit_that_the_guarantees_name_exists() {
    let guarantees = std::fs::read_to_string(root().join("docs/guarantees.md")).unwrap();
    let mut named = 0;
    for quoted in guarantees.split('`').skip(1).step_by(2) {
        let Some((owner, query)) = quoted.split_once('/') else { continue };
        let folder = match owner {
            "reliability" => "audits/reliability".to_owned(),
            owner => match services::BESIDE.iter().find(|program| program.name == owner) {
                Some(program) => format!("tools/{}/audits", program.program),
                None => format!("services/{owner}/audits"),
            },
        };
        let folder = root().join(folder);
        if owner.starts_with(char::is_alphabetic) && folder.is_dir() {
            named += 1;
            let file = folder.join(format!("{query}.sql"));
            assert!(file.is_file(), "docs/guarantees.md names {quoted}, which is not an audit");
        }
    }
    assert!(named >= 10, "the guarantees name {named} audits: were they read?");
}
