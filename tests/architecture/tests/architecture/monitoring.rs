//! Alerts and boards ask for documented metrics only. Each alert has its entry in the runbook and its tests, and each family is on a
//! board.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::compose::containers;

/// How the names of our metrics begin, beside those of a service, which begin with its name.
const FAMILIES: [&str; 8] =
    ["idempotency_", "outbox_", "inbox_", "http_", "database_", "idem_", "job_", "invariant_"];

/// The suffixes that Prometheus adds to the name of a counter or histogram.
const SUFFIXES: [&str; 4] = ["_total", "_bucket", "_sum", "_count"];

fn text(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A file of deploy/prometheus, and those of this name in the folders of services, as one text each.
fn texts(name: &str) -> Vec<String> {
    let own = architecture::services::names().into_iter().map(|service| format!("services/{service}/{name}"));
    let files = own.filter(|file| Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file).exists());
    [format!("deploy/prometheus/{name}")].into_iter().chain(files).map(|file| text(&file)).collect()
}

fn rules() -> Vec<Value> {
    let files: Vec<Value> =
        texts("alerts.yml").iter().map(|text| serde_saphyr::from_str(text).unwrap()).collect();
    let groups = files.iter().flat_map(|file| file["groups"].as_array().unwrap());
    groups.flat_map(|group| group["rules"].as_array().unwrap().clone()).collect()
}

/// The names of our metrics in an expression.
fn metrics(expression: &str) -> BTreeSet<&str> {
    let own: Vec<String> = architecture::services::names().iter().map(|name| format!("{name}_")).collect();
    expression
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':'))
        .filter(|word| {
            FAMILIES.iter().any(|family| word.starts_with(family))
                || own.iter().any(|own| word.starts_with(own))
        })
        .collect()
}

/// The families of docs/metrics.md.
fn documented() -> BTreeSet<String> {
    let page = text("docs/metrics.md");
    let names = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    names.map(|(name, _)| name.to_owned()).filter(|name| !metrics(name).is_empty()).collect()
}

/// The documented family of a name in an expression.
fn family(metric: &str) -> String {
    let documented = documented();
    let names = SUFFIXES.iter().filter_map(|suffix| metric.strip_suffix(suffix)).chain([metric]);
    let family = names.into_iter().find(|name| documented.contains(*name));
    family.unwrap_or_else(|| panic!("docs/metrics.md has no {metric}")).to_owned()
}

/// The expressions of every board, and their titles and texts.
fn boards() -> Vec<(Value, Vec<String>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let files = fs::read_dir(root.join("deploy/grafana/boards")).unwrap().map(|file| file.unwrap().path());
    let own = architecture::services::names();
    let own = own.iter().map(|service| root.join("services").join(service).join("board.json"));
    let board = |file| -> (Value, Vec<String>) {
        let board: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        let targets = board["panels"].as_array().unwrap().iter();
        let targets = targets.flat_map(|panel| panel["targets"].as_array().unwrap());
        let expressions = targets.map(|target| target["expr"].as_str().unwrap().to_owned()).collect();
        (board, expressions)
    };
    files.chain(own.filter(|file| file.exists())).map(board).collect()
}

#[test]
fn an_alert_asks_for_documented_metrics_only() {
    let mut found = 0;
    for rule in rules() {
        for metric in metrics(rule["expr"].as_str().unwrap()) {
            found += 1;
            // A recording rule has a name of its own.
            if !metric.contains(':') {
                family(metric);
            }
        }
    }
    assert!(found > 20, "{found} metrics: were the rules read?");
}

#[test]
fn every_documented_family_is_on_a_board_and_every_family_of_a_board_is_documented() {
    let boards = boards();
    let expressions = boards.iter().flat_map(|(_, expressions)| expressions);
    let shown: BTreeSet<String> =
        expressions.flat_map(|expression| metrics(expression)).map(family).collect();
    assert_eq!(shown, documented());
}

#[test]
fn every_alert_is_named_beside_a_graph() {
    let boards = boards();
    let panels = boards.iter().flat_map(|(board, _)| board["panels"].as_array().unwrap());
    let texts: Vec<&str> = panels.map(|panel| panel["description"].as_str().unwrap()).collect();
    for alert in rules().iter().filter_map(|rule| rule["alert"].as_str()) {
        let is_named =
            texts.iter().any(|text| text.split(|c: char| !c.is_alphanumeric()).any(|word| word == alert));
        assert!(is_named, "no panel names {alert}");
    }
}

/// Prometheus beside the containers reads each service where it listens, and every mounted file is there.
#[test]
fn the_containers_of_monitoring_fit_those_of_the_services() {
    let containers = containers("docker-compose.observability.yml");
    let monitoring: Value = serde_saphyr::from_str(&text("docker-compose.observability.yml")).unwrap();
    let settings = text(monitoring["include"][0]["env_file"].as_str().unwrap());
    for name in architecture::services::names() {
        let scraped = text(&format!("services/{name}/prometheus.yml"));
        let scraped: Value = serde_saphyr::from_str(&scraped).unwrap();
        let job = &scraped["scrape_configs"][0];
        assert_eq!(job["job_name"], *name);
        let target = &job["static_configs"][0];
        assert_eq!(target["labels"]["application"], "idem", "{name}: the alerts are about this label");
        let target = target["targets"][0].as_str().unwrap();
        let port: u16 = target.strip_prefix(&format!("{name}:")).unwrap().parse().unwrap();
        let published = containers[&name]["ports"][0].as_str().unwrap();
        assert!(
            published.ends_with(&format!(":{}", port - 1000)),
            "{name} does not listen on {}",
            port - 1000
        );
        // `${NAME:-default}`, whose value is in the settings.
        let setting = |variable: &str| {
            let value = containers[&name]["environment"][variable].as_str().unwrap();
            let named = value.strip_prefix("${").and_then(|value| value.split(":-").next()).unwrap();
            let set = settings.lines().find_map(|line| line.strip_prefix(&format!("{named}=")));
            set.unwrap_or_else(|| panic!("{named} is not set")).to_owned()
        };
        assert_eq!(setting("IDEM_ADMIN__BIND"), "0.0.0.0", "{name}");
        let collector = setting("IDEM_TRACES__ENDPOINT");
        let host = collector.strip_prefix("http://").and_then(|url| url.split(':').next()).unwrap();
        assert!(containers.contains_key(host), "{name}: there is no container {host}");
    }
    let main: Value = serde_saphyr::from_str(&text("deploy/prometheus/prometheus.yml")).unwrap();
    let listed = |member: &str, file: &str| {
        let listed = main[member].as_array().unwrap().iter().map(|path| path.as_str().unwrap().to_owned());
        let own = architecture::services::names().into_iter().map(|name| format!("services/{name}/{file}"));
        let there =
            own.filter(|path| Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path).exists());
        let there: BTreeSet<String> = there.map(|path| format!("../../{path}")).collect();
        assert_eq!(listed.filter(|path| path.starts_with("..")).collect::<BTreeSet<_>>(), there, "{member}");
    };
    listed("scrape_config_files", "prometheus.yml");
    listed("rule_files", "alerts.yml");
    let prometheus = &monitoring["services"]["prometheus"];
    assert_eq!(prometheus["command"][0], "--config.file=/deploy/prometheus/prometheus.yml");
    assert_eq!(prometheus["volumes"][1], "./services:/services:ro");
    let grafana = monitoring["services"]["grafana"]["volumes"].as_array().unwrap();
    let grafana: Vec<&str> = grafana.iter().map(|volume| volume.as_str().unwrap()).collect();
    for name in architecture::services::names() {
        let board = format!("services/{name}/board.json");
        let is_there = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(&board).exists();
        let mount = format!("./{board}:/var/lib/boards/{name}.json:ro");
        assert_eq!(grafana.contains(&mount.as_str()), is_there, "{name}");
    }
    for name in ["prometheus", "grafana"] {
        for volume in monitoring["services"][name]["volumes"].as_array().unwrap() {
            let source = volume.as_str().unwrap().split(':').next().unwrap();
            let is_there = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(source).exists();
            assert!(is_there || !source.starts_with('.'), "{name}: {source} is not there");
        }
    }
}

#[test]
fn each_alert_is_brought_about_on_running_services() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let shared = fs::read_dir(root.join("tests/e2e/tests/alerts")).unwrap().map(|file| file.unwrap().path());
    let own = architecture::services::names()
        .into_iter()
        .map(|name| root.join(format!("services/{name}/e2e/alerts.rs")));
    let tests: String = shared.chain(own).filter_map(|file| fs::read_to_string(file).ok()).collect();
    for alert in rules().iter().filter_map(|rule| rule["alert"].as_str()) {
        let (fires, ends) = (format!("fires(\"{alert} of "), format!("is_quiet(\"{alert} of "));
        // An invariant is counted each time that it is asked, so its alert stays for a while.
        let is_cured = tests.contains(&ends) || alert == "InvariantViolated";
        assert!(tests.contains(&fires) && is_cured, "{alert}");
    }
}

#[test]
fn each_alert_has_an_entry_in_the_runbook_and_tests_of_both_kinds() {
    let (runbook, tests) = (text("docs/alerts.md"), texts("alerts_test.yml").concat());
    let entries: BTreeSet<String> =
        runbook.lines().filter_map(|line| line.strip_prefix("## ")).map(str::to_lowercase).collect();
    let mut linked = BTreeSet::new();
    for rule in rules() {
        let Some(alert) = rule["alert"].as_str() else { continue };
        let link = rule["annotations"]["runbook"].as_str().unwrap();
        let entry = link.strip_prefix("docs/alerts.md#").unwrap_or_else(|| panic!("{alert}: {link}"));
        assert!(entries.contains(entry), "{alert}: no entry {entry}");
        linked.insert(entry.to_owned());
        for kind in ["fires", "is quiet"] {
            assert!(tests.contains(&format!("name: {alert} {kind}\n")), "{alert}: no test that it {kind}");
        }
    }
    assert_eq!(entries, linked, "an entry of the runbook belongs to no alert");
}
