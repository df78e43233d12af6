//! The pages that say how to add something name files, symbols and commands that exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The pages, from these headings on.
const PAGES: [(&str, &str); 3] = [
    ("docs/architecture.md", "## Where a new line belongs"),
    ("docs/template.md", "# "),
    ("skeleton/README.md", "# "),
];

/// A project that was made from this one has it.
const OF_A_PROJECT: &str = "origin.toml";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The paths of all files, from the root, without build results and hidden folders.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with('.') || name == "target" || name == "node_modules" {
            continue;
        }
        if path.is_dir() {
            found.push(path.clone());
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// The texts in backticks, without blocks of code.
fn quoted(text: &str) -> Vec<String> {
    let prose: String = text.split("```").step_by(2).collect();
    prose.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// A text in backticks is a command, a path, or words of the sources.
#[derive(Debug, PartialEq, Eq)]
enum Named<'t> {
    Command(&'t str),
    Path(&'t str),
    Words(Vec<&'t str>),
}

fn named(text: &str) -> Named<'_> {
    if let Some(command) = text.strip_prefix("./dev ") {
        return Named::Command(command.split(' ').next().unwrap());
    }
    let endings = [".rs", ".sql", ".md", ".toml", ".yaml", ".yml", ".json", ".diff", ".dockerignore"];
    let is_path = |text: &str| text.contains('/') || endings.iter().any(|ending| text.ends_with(ending));
    // `/v1/orders` and `POST /v1/orders` are routes.
    if is_path(text) && !text.contains([' ', '(', ':']) && !text.starts_with("/v1") {
        return Named::Path(text.trim_start_matches("../").trim_end_matches('/'));
    }
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    Named::Words(words.filter(|word| word.len() > 1 && !is_placeholder(word)).collect())
}

/// `SERVICE`, `NAME` and `*` stand for any name, and so does `V1` for an event that ends with it.
fn is_placeholder(word: &str) -> bool {
    let is_upper = word.len() > 2 && word.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
    is_upper || ["*", "V1"].contains(&word)
}

/// The pages call a new service `seats`, and a new project `ticket-shop`.
fn as_here(text: &str) -> String {
    let text =
        text.replace("services/seats", "skeleton/parcels").replace("migrations/seats", "parcels/migrations");
    text.replace("seat", "parcel").replace("ticket_shop", "idem")
}

/// Returns whether the last parts of `path` are those of `wanted`, whose placeholders fit everything.
fn ends_with(path: &Path, wanted: &str) -> bool {
    let (mut parts, mut own) = (wanted.rsplit('/'), path.iter().rev());
    parts.all(|part| {
        own.next().is_some_and(|name| {
            let name = name.to_string_lossy();
            let (stem, ending) = part.split_once('.').unwrap_or((part, ""));
            if is_placeholder(stem) { name.ends_with(ending) } else { name == part }
        })
    })
}

fn words(text: &str, found: &mut BTreeSet<String>) {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    for word in words {
        if !found.contains(word) {
            found.insert(word.to_owned());
        }
    }
}

#[test]
fn every_file_symbol_and_command_that_the_how_tos_name_exists() {
    let root = root();
    let mut paths = Vec::new();
    files(&root, &mut paths);
    let mut of_sources = BTreeSet::new();
    for path in &paths {
        let ending = path.extension().unwrap_or_default().to_string_lossy();
        // How the diffs call something new is in them alone.
        if path.is_file() && ["rs", "sql", "toml", "yaml", "json", "sh", "diff"].contains(&&*ending) {
            words(&fs::read_to_string(path).unwrap(), &mut of_sources);
        }
    }
    let commands = fs::read_to_string(root.join("dev")).unwrap();
    let (mut checked, mut missing) = (0, Vec::new());
    for (page, heading) in PAGES {
        // The owner of another project may have deleted a page.
        let Ok(text) = fs::read_to_string(root.join(page)) else { continue };
        let (_, text) = text.split_once(heading).unwrap_or_else(|| panic!("{page} has no {heading}"));
        for text in quoted(text) {
            checked += 1;
            let text = as_here(&text);
            let exists = match named(&text) {
                Named::Command(name) => commands.contains(&format!("  ./dev {name} ")),
                Named::Path(path) => root.join(path).exists() || paths.iter().any(|it| ends_with(it, path)),
                Named::Words(words) => words.iter().all(|word| of_sources.contains(*word)),
            };
            if !exists && text != OF_A_PROJECT {
                missing.push(format!("{page}: `{text}`, read as {:?}", named(&text)));
            }
        }
    }
    assert!(missing.is_empty(), "these do not exist:\n  {}", missing.join("\n  "));
    assert!(checked > 100, "{checked} names were found: were the pages read?");
}

#[test]
fn planted_names_are_told_apart() {
    assert_eq!(named("./dev how-to NAME"), Named::Command("how-to"));
    assert_eq!(named("services/SERVICE/e2e/contract.rs"), Named::Path("services/SERVICE/e2e/contract.rs"));
    assert_eq!(named(".dockerignore"), Named::Path(".dockerignore"));
    assert_eq!(named(".on::<…>(locks, handler)"), Named::Words(vec!["on", "locks", "handler"]));
    let path = Path::new("services/orders/src/store/orders.rs");
    assert!(ends_with(path, "store/orders.rs") && ends_with(path, "SERVICE/src/store/orders.rs"));
    assert!(!ends_with(path, "store/order.rs") && !ends_with(path, "stores/orders.rs"));
    assert_eq!(quoted("`a` ```\n`b`\n``` `c`"), ["a", "c"]);
}
