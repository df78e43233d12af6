//! Links of documents lead to files and symbols that exist. An afternoon is enough for the walkthrough's path. The README
//! shows a handler as it is.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The longest path that the section "An afternoon" may link, in lines of all its files.
const AFTERNOON: usize = 5_000;

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").canonicalize().unwrap()
}

/// The links `[text](target)` of a text, without those to other sites and to sections of the same page.
fn links(text: &str) -> Vec<(String, String)> {
    let links = text.split("](").zip(text.split("](").skip(1));
    links
        .filter_map(|(before, after)| {
            let (_, label) = before.rsplit_once('[')?;
            let (target, _) = after.split_once(')')?;
            let is_file = !target.starts_with("http") && !target.starts_with('#');
            is_file.then(|| (label.to_owned(), target.to_owned()))
        })
        .collect()
}

/// The symbol that a link names: text in backticks that is not a path, such as `decide` or `Tx::commit`.
fn symbol(label: &str) -> Option<&str> {
    let symbol = label.strip_prefix('`')?.strip_suffix('`')?;
    let symbol = symbol.trim_end_matches("()").trim_end_matches('!');
    (!symbol.contains(['/', '.', ' '])).then_some(symbol)
}

/// Returns whether a file defines a symbol: as an item, an enum's variant, or an SQL table or function.
fn defines(text: &str, symbol: &str) -> bool {
    let (owner, name) = symbol.rsplit_once("::").unwrap_or(("", symbol));
    let words: Vec<&str> =
        text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| !w.is_empty()).collect();
    let kinds = [
        "fn",
        "struct",
        "enum",
        "trait",
        "type",
        "const",
        "static",
        "mod",
        "macro_rules",
        "TABLE",
        "FUNCTION",
        "TRIGGER",
    ];
    let is_item = |name: &str| words.windows(2).any(|pair| kinds.contains(&pair[0]) && pair[1] == name);
    let is_variant = || text.lines().any(|line| line.trim().trim_end_matches([',', '(', '{', ' ']) == name);
    (is_item(name) || (!owner.is_empty() && is_variant()))
        && owner.split("::").filter(|part| !part.is_empty()).all(|part| words.contains(&part))
}

fn section<'a>(text: &'a str, heading: &str) -> &'a str {
    let (_, after) =
        text.split_once(&format!("\n## {heading}")).unwrap_or_else(|| panic!("no section {heading}"));
    after.split("\n## ").next().unwrap()
}

/// The documents whose links are checked: those at the root, and all of docs.
fn documents() -> Vec<PathBuf> {
    let folders = [docs().join(".."), docs(), docs().join("decisions")];
    let files = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    let files = files.map(|entry| entry.unwrap().path());
    files.filter(|file| file.extension().is_some_and(|ending| ending == "md")).collect()
}

#[test]
fn every_link_of_the_documents_leads_to_a_file_and_its_symbol() {
    let mut links_to_symbols = 0;
    let mut missing = Vec::new();
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        for (label, target) in links(&text) {
            let file = document.parent().unwrap().join(target.split('#').next().unwrap());
            let Some(symbol) = symbol(&label).filter(|_| file.is_file()) else {
                if !file.exists() {
                    missing.push(format!("{}: {target} does not exist", document.display()));
                }
                continue;
            };
            links_to_symbols += 1;
            if !defines(&fs::read_to_string(&file).unwrap(), symbol) {
                missing.push(format!("{}: {target} does not define {symbol}", document.display()));
            }
        }
    }
    assert!(missing.is_empty(), "{} dead links:\n  {}", missing.len(), missing.join("\n  "));
    assert!(links_to_symbols >= 20, "the documents link {links_to_symbols} symbols: were they read?");
}

/// The texts in backticks that name a symbol with its owner, or a symbol of a file, without a link: no test finds their file.
fn unlinked(text: &str) -> Vec<&str> {
    let quoted: Vec<&str> = text.split('`').collect();
    let is_code = |it: &str| it.rsplit_once('.').is_some_and(|(_, ending)| ["rs", "sh"].contains(&ending));
    let is_file = |it: &str| it.contains('/') && is_code(it);
    let mut found = Vec::new();
    for (at, word) in quoted.iter().enumerate().skip(1).step_by(2) {
        let (before, after) = (quoted[at - 1], quoted.get(at + 1).unwrap_or(&""));
        let has_file = [" in ", " of "].contains(after) && quoted.get(at + 2).is_some_and(|it| is_file(it));
        let has_owner = word.starts_with(char::is_uppercase) && word.contains("::");
        if (has_file || has_owner) && !(before.ends_with('[') && after.starts_with("](")) {
            found.push(*word);
        }
    }
    found
}

#[test]
fn the_architecture_links_each_symbol_that_it_names_with_its_place() {
    let text = fs::read_to_string(docs().join("architecture.md")).unwrap();
    let found = unlinked(&text);
    assert!(found.is_empty(), "docs/architecture.md names these without a link to their file: {found:?}");
}

#[test]
fn the_files_of_an_afternoon_can_be_read_in_an_afternoon() {
    let text = fs::read_to_string(docs().join("walkthrough.md")).unwrap();
    let files: BTreeSet<PathBuf> = links(section(&text, "An afternoon"))
        .into_iter()
        .map(|(_, target)| docs().join(target.split('#').next().unwrap()))
        .filter(|file| file.extension().is_some_and(|ending| ending == "rs" || ending == "sql"))
        .map(|file| file.canonicalize().unwrap_or(file))
        .collect();
    assert!(files.len() > 15, "the path has {} files: were they read?", files.len());
    let lines: usize = files.iter().map(|file| fs::read_to_string(file).unwrap().lines().count()).sum();
    assert!(
        lines <= AFTERNOON,
        "the {} files of the path have {lines} lines, more than {AFTERNOON}",
        files.len()
    );
}

#[test]
fn the_handler_that_the_readme_shows_is_the_code() {
    let readme = fs::read_to_string(docs().join("../README.md")).unwrap();
    let code = fs::read_to_string(docs().join("../services/orders/src/api/place_order.rs")).unwrap();
    let shown = readme.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.lines().count() > 10 && words(&code).contains(&words(shown)), "README.md shows:\n{shown}");
}

#[test]
fn planted_mistakes_are_found() {
    let text = "[`decide`](../a.rs) and [a page](https://example.org), [`Tx::commit`](../b.rs#L1) [here](#x) [`a/b.rs`](c.rs)";
    let found = links(text);
    assert_eq!(found.len(), 3);
    let symbols: Vec<_> = found.iter().map(|(label, _)| symbol(label)).collect();
    assert_eq!(symbols, [Some("decide"), Some("Tx::commit"), None]);
    assert_eq!(
        unlinked("`a` in `b/c.rs`, [`Tx::commit`](b.rs), `Tx::begin`, `d` of `e`"),
        ["a", "Tx::begin"]
    );
    let source =
        "pub struct Tx;\nimpl Tx { pub async fn commit(self) {} }\nenum State {\n    Open,\n}\n// decide";
    assert!(defines(source, "Tx::commit") && defines(source, "State::Open") && defines(source, "commit"));
    assert!(
        !defines(source, "decide") && !defines(source, "Order::commit") && !defines(source, "State::Shut")
    );
}
