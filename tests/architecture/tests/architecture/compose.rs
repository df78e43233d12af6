//! docker-compose.yml, with the files that it includes, uses the same compiler, servers and roles as `./dev`, and restricts every container.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use architecture::services;
use serde_json::{Value, json};

fn text(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the text between the first `before` and the next `after`.
fn between(text: &str, before: &str, after: &str) -> String {
    let (_, rest) = text.split_once(before).unwrap_or_else(|| panic!("no {before}"));
    rest.split(after).next().unwrap().trim().to_owned()
}

/// The containers of a compose file and of the files that it includes, each with what it extends.
pub(crate) fn containers(file: &str) -> BTreeMap<String, Value> {
    let compose = parsed(file);
    let includes = compose["include"].as_array().into_iter().flatten();
    let included = includes.map(|included| included["path"].as_str().or(included.as_str()).unwrap());
    let mut containers: BTreeMap<String, Value> =
        included.flat_map(|path| containers(&beside(file, path))).collect();
    for name in compose["services"].as_object().unwrap().keys() {
        let other = containers.insert(name.clone(), container(file, name));
        assert!(other.is_none(), "{name} is in {file} and in a file that it includes");
    }
    containers
}

fn container(file: &str, name: &str) -> Value {
    let mut own = parsed(file)["services"][name].take();
    let Some(extends) = own.as_object_mut().unwrap_or_else(|| panic!("{file}: {name}")).remove("extends")
    else {
        return own;
    };
    let base = extends["file"].as_str().map_or_else(|| file.to_owned(), |path| beside(file, path));
    let mut container = container(&base, extends["service"].as_str().unwrap());
    merge(&mut container, own);
    container
}

fn merge(base: &mut Value, own: Value) {
    match (base, own) {
        (Value::Object(base), Value::Object(own)) => {
            own.into_iter().for_each(|(name, value)| merge(base.entry(name).or_insert(Value::Null), value));
        }
        (base, own) => *base = own,
    }
}

fn parsed(file: &str) -> Value {
    serde_saphyr::from_str(&text(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The path of a file, as the other one names it.
fn beside(file: &str, path: &str) -> String {
    let mut folders: Vec<&str> = file.split('/').collect();
    folders.pop();
    for name in path.split('/') {
        match name {
            ".." => drop(folders.pop()),
            name => folders.push(name),
        }
    }
    folders.join("/")
}

/// The containers that run a program of this project.
fn programs() -> Vec<String> {
    let beside = ::services::BESIDE.iter().map(|program| program.name.to_owned());
    ["identity".to_owned()].into_iter().chain(beside).chain(services::names()).collect()
}

const SERVERS: [&str; 2] = ["postgres", "kafka"];

#[test]
fn the_image_is_built_by_the_compiler_that_everybody_uses() {
    let channel = between(&text("rust-toolchain.toml"), "channel = \"", "\"");
    let image = between(&text("Dockerfile"), "FROM rust:", "-");
    assert_eq!(image, channel);
}

/// The lab stops servers by a button. The image therefore has the services and the programs that the Dockerfile names, and no other one.
#[test]
fn no_image_contains_the_lab() {
    let dockerfile = text("Dockerfile");
    assert_eq!(
        between(&dockerfile, "programs=\"$(cd services && dirname */service.toml) ", "\""),
        "stripe-sim devtool"
    );
    assert_eq!(between(&dockerfile, "--bins ", "\n"), "$(printf -- '-p %s ' $programs) \\");
    assert_eq!(between(&dockerfile, "for program in ", ";"), "$programs");
    for everything in ["--workspace", "--all", "target/$PROFILE/*", "target/$PROFILE /"] {
        assert!(!dockerfile.contains(everything), "the Dockerfile has {everything}");
    }
    for file in ["docker-compose.yml", "docker-compose.observability.yml"] {
        for (name, container) in containers(file) {
            let text = format!("{name}: {container}");
            assert!(!text.split(|c: char| !c.is_alphanumeric()).any(|word| word == "lab"), "{text}");
        }
    }
}

/// devtool signs tokens, so the image of a service has the services' programs alone.
#[test]
fn only_identity_and_the_stand_in_run_the_image_with_the_tools_of_the_demo() {
    let stages: Vec<String> =
        text("Dockerfile").split("\nFROM ").map(|stage| stage.replace("\n\n", "\n")).collect();
    let (build, services) = (&stages[1], stages.last().unwrap());
    assert!(build.contains("mv /programs/stripe-sim /programs/devtool /development\n"), "{build}");
    assert!(services.starts_with("base AS services\n") && !services.contains("COPY"), "{services}");
    let copies: Vec<&String> = stages.iter().filter(|stage| stage.contains("/development/")).collect();
    assert!(matches!(copies[..], [stage] if stage.starts_with("base AS development\n")), "{copies:?}");

    let containers = containers("docker-compose.yml");
    for name in programs() {
        let target = if services::names().contains(&name) { "services" } else { "development" };
        let build =
            json!({ "context": "../..", "target": target, "args": { "PROFILE": "${IMAGE_PROFILE:-quick}" } });
        assert_eq!(containers[&name]["build"], build, "{name}");
    }
}

#[test]
fn containers_run_the_servers_that_dev_fetches() {
    let (compose, pom) = (text("docker-compose.yml"), text("tools/dev.d/pom.xml"));
    let kafka = between(&pom, "<kafka.version>", "<");
    assert_eq!(between(&compose, "image: apache/kafka:", "\n"), kafka);
    let postgres = between(&pom, "<postgres.version>", ".");
    assert_eq!(between(&compose, "image: postgres:", "\n"), postgres);
}

#[test]
fn every_container_is_contained() {
    let ours = containers("docker-compose.yml");
    let names: BTreeSet<String> = programs().into_iter().chain(SERVERS.map(str::to_owned)).collect();
    assert_eq!(ours.keys().cloned().collect::<BTreeSet<_>>(), names);
    for (name, container) in &ours {
        assert!(container["stop_grace_period"].is_string(), "{name} has no stop_grace_period");
        assert!(container["healthcheck"]["test"].is_array(), "{name} has no healthcheck");
    }
    for (name, container) in containers("docker-compose.observability.yml") {
        for (rule, value) in [
            ("read_only", json!(true)),
            ("cap_drop", json!(["ALL"])),
            ("security_opt", json!(["no-new-privileges:true"])),
            ("init", json!(true)),
            ("restart", json!("unless-stopped")),
        ] {
            assert_eq!(container[rule], value, "{rule} of {name}");
        }
        assert!(container["mem_limit"].is_string(), "{name} has no mem_limit");
        assert!(
            container["container_name"].is_null(),
            "{name}: a container_name prevents two checkouts from running side by side"
        );
        for port in container["ports"].as_array().into_iter().flatten() {
            assert!(
                port.as_str().unwrap().starts_with("127.0.0.1:${"),
                "the port is open to other machines, or has no variable: {port}"
            );
        }
    }
    let published = ours.iter().filter(|(_, container)| container["ports"].is_array()).map(|(name, _)| name);
    assert_eq!(
        published.cloned().collect::<BTreeSet<_>>(),
        names.into_iter().filter(|name| name != "identity").collect()
    );
}

#[test]
fn all_but_kafka_fits_into_a_gigabyte_with_three_services() {
    let containers = containers("docker-compose.yml");
    let limit = |name: &str| -> u32 {
        let limit = containers[name]["mem_limit"].as_str().and_then(|limit| limit.strip_suffix('m'));
        limit.expect("a limit in MiB").parse().unwrap()
    };
    for service in services::names() {
        assert!(limit(&service) <= 160, "{service}: {} MiB", limit(&service));
    }
    let beside = ::services::BESIDE.iter().map(|program| program.name);
    let others: u32 = ["identity", "postgres"].into_iter().chain(beside).map(limit).sum();
    assert!((256..=1024 - 3 * 160).contains(&others), "the others get {others} MiB");
}

#[test]
fn containers_get_the_roles_that_dev_makes() {
    let script = text("deploy/compose/databases.sql");
    assert!(
        script.contains("`cd /services && dirname */service.toml`")
            && ::services::BESIDE.iter().all(|program| script.contains(&format!(" {}'", program.name)))
    );
    assert!(text("docker-compose.yml").contains("- ./services:/services:ro"));
    // This is what the script and the Dockerfile list.
    let folders = std::fs::read_dir(services::folder()).unwrap().map(|folder| folder.unwrap());
    let described = folders.filter(|folder| folder.path().join("service.toml").exists());
    let mut described: Vec<String> = described.map(|it| it.file_name().into_string().unwrap()).collect();
    let mut expected = services::names();
    described.sort_unstable();
    expected.sort_unstable();
    assert_eq!(described, expected);
    let tool = text("tools/devtool/src/databases/mod.rs");
    for statement in [
        "CREATE ROLE",
        "LOGIN PASSWORD",
        "NOLOGIN",
        "CREATE DATABASE",
        "REVOKE ALL ON DATABASE",
        "GRANT CONNECT ON DATABASE",
    ] {
        assert!(
            tool.contains(statement) && script.contains(statement),
            "{statement} is in one of the two files only"
        );
    }
}
