//! docs/problems.md is the catalogue of every problem type that the services declare, and of no other.

use std::fs;
use std::path::Path;

use architecture::catalogue::{Catalogue, declared, differences, documented};
use architecture::services;

fn read(folder: &Path, found: &mut Catalogue) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let by_hand = text.contains("ProblemType {") && text.contains("code: \"");
            assert!(!by_hand, "{} declares a problem type without `problem_types!`", path.display());
            for (code, problem) in declared(&text).unwrap() {
                assert!(found.insert(code.clone(), problem).is_none(), "{code} is declared twice");
            }
        }
    }
}

#[test]
fn each_conflict_links_the_function_that_decides_it() {
    let document =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/problems.md")).unwrap();
    let sections = document.split("\n## ").filter(|section| section.contains("\nStatus 409 "));
    let (linked, missing): (Vec<_>, Vec<_>) = sections
        .map(|section| {
            (section.lines().next().unwrap(), section.split_whitespace().collect::<Vec<_>>().join(" "))
        })
        .partition(|(_, text)| text.contains("Decided in [`"));
    assert!(missing.is_empty() && linked.len() > 5, "without a link: {missing:?}");
}

#[test]
fn the_catalogue_of_problems_is_what_the_crates_declare() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Catalogue::new();
    read(&root.join("shared/edge/src"), &mut found);
    assert!(found.len() > 10, "{} problem types of all services were found", found.len());
    for service in services::names() {
        read(&services::folder().join(service).join("src"), &mut found);
    }
    assert!(found.len() > 20, "{} problem types were found: were the sources read?", found.len());
    let document = fs::read_to_string(root.join("docs/problems.md")).unwrap();
    let differences = differences(&found, &documented(&document));
    assert!(differences.is_empty(), "docs/problems.md:\n  {}", differences.join("\n  "));
}
