//! docs/strategies.md has a row for each command and each consumer of the services, and README.md repeats its answer.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Service, and command or consumer.
type Row = (String, String);

fn read(file: impl AsRef<Path>) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// The texts between these marks.
fn between<'t>(text: &'t str, mark: &'t str, end: &'t str) -> impl Iterator<Item = &'t str> {
    text.split(mark).skip(1).filter_map(move |rest| rest.split(end).next())
}

/// The routes of this source that change something, with their methods.
fn commands(source: &str) -> impl Iterator<Item = String> {
    ["post", "put", "patch", "delete"].into_iter().flat_map(move |method| {
        let routes: Vec<String> = between(source, &format!("#[{method}(\""), "\"")
            .map(|route| format!("`{} {route}`", method.to_uppercase()))
            .collect();
        routes
    })
}

fn sources(folder: impl AsRef<Path>) -> Vec<String> {
    let files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.iter().filter(|file| file.extension().is_some_and(|it| it == "rs")).map(read).collect()
}

/// What the sources have.
fn expected() -> BTreeSet<Row> {
    let mut rows = BTreeSet::new();
    let edge = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/edge/src/routes");
    for source in sources(edge) {
        rows.extend(commands(&source).map(|command| ("each".to_owned(), command)));
    }
    for service in architecture::services::names() {
        let folder = architecture::services::folder().join(&service).join("src");
        for source in sources(folder.join("api")) {
            rows.extend(commands(&source).map(|command| (service.clone(), command)));
        }
        let consumers = read(folder.join("consumers.rs"));
        for name in between(&consumers, "Consumer::of(\"", "\"") {
            rows.insert((service.clone(), format!("consumer `{name}`")));
        }
        // A projection does not need the order of its messages.
        for event in between(&consumers, ".newest::<", ">") {
            // All versions of an event are one row.
            let is_version = |(_, number): &(&str, &str)| number.parse::<u32>().is_ok();
            let event = event.rsplit_once('V').filter(is_version).map_or(event, |(event, _)| event);
            rows.insert((service.clone(), format!("`{event}`")));
        }
    }
    rows
}

#[test]
fn each_command_and_each_consumer_has_a_row_with_its_strategies() {
    let text = read("docs/strategies.md");
    let (_, table) = text.split_once("\n## Every command and consumer\n").unwrap();
    let mut rows = BTreeSet::new();
    for line in table.lines().filter(|line| line.starts_with("| ")).skip(1) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        assert_eq!(cells.len(), 10, "{line}");
        assert!(cells.iter().all(|cell| !cell.is_empty()), "a question has no answer: {line}");
        let strategies = cells[2].split(" + ").map(str::parse::<u32>);
        assert!(strategies.clone().all(|number| number.is_ok_and(|it| (1..=7).contains(&it))), "{line}");
        let is_new = rows.insert((cells[0].to_owned(), cells[1].to_owned()));
        assert!(is_new, "two rows: {line}");
    }
    // Of the jobs, those that decide something have a row. Work that starts by time has no caller and no message.
    let jobs = rows.extract_if(.., |(_, name)| name.starts_with("job "));
    for (service, name) in jobs {
        let job = between(&name, "`", "`").next().unwrap();
        let folder = architecture::services::folder().join(&service).join("src/jobs").join(job);
        assert!(folder.is_dir(), "{service} has no {name}");
    }
    let expected = expected();
    assert!(expected.len() >= 5, "{expected:?}");
    let missing: Vec<&Row> = expected.difference(&rows).collect();
    let unknown: Vec<&Row> = rows.difference(&expected).collect();
    assert!(
        missing.is_empty() && unknown.is_empty(),
        "without a row: {missing:?}; without code: {unknown:?}"
    );
}

#[test]
fn the_readme_has_the_answer_of_the_page() {
    let text = read("docs/strategies.md");
    let answer = between(&text, "## The answer\n\n", "\n\n").next().unwrap();
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
    assert!(answer.split_whitespace().count() <= 200);
    let quoted: String =
        read("README.md").lines().filter_map(|line| line.strip_prefix("> ")).collect::<Vec<_>>().join(" ");
    assert!(words(&quoted).contains(&words(answer)), "README.md does not quote the answer");
}
