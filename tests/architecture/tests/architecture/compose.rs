//! docker-compose.yml uses the same compiler, servers and roles as `./dev`, and restricts every container.

use std::collections::BTreeMap;
use std::path::Path;

use architecture::services;

fn text(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the text between the first `before` and the next `after`.
fn between(text: &str, before: &str, after: &str) -> String {
    let (_, rest) = text.split_once(before).unwrap_or_else(|| panic!("no {before}"));
    rest.split(after).next().unwrap().trim().to_owned()
}

/// Returns the lines of each service by name. Lines of a YAML anchor are under the anchor's name.
fn blocks(compose: &str) -> BTreeMap<String, Vec<String>> {
    let (mut blocks, mut name) = (BTreeMap::<String, Vec<String>>::new(), None);
    for line in compose.lines().filter(|line| !line.trim_start().starts_with('#')) {
        let indent = line.len() - line.trim_start().len();
        let anchor = line.split_once(": &").map(|(_, anchor)| anchor.trim().to_owned());
        match (indent, line.trim().strip_suffix(':')) {
            (0, _) => name = anchor,
            (2, Some(service)) => name = Some(service.to_owned()),
            _ => {}
        }
        if let Some(name) = &name {
            blocks.entry(name.clone()).or_default().push(line.trim().to_owned());
        }
    }
    blocks
}

/// Reports whether a line is in the block itself or in an anchor that it merges.
fn says(blocks: &BTreeMap<String, Vec<String>>, name: &str, wanted: &str) -> bool {
    let lines = &blocks[name];
    lines.iter().any(|line| line.starts_with(wanted))
        || lines
            .iter()
            .filter_map(|line| line.strip_prefix("<<: *"))
            .any(|anchor| blocks.contains_key(anchor) && says(blocks, anchor, wanted))
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
        assert!(!text(file).split(|c: char| !c.is_alphanumeric()).any(|word| word == "lab"), "{file}");
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

    let blocks = blocks(&text("docker-compose.yml"));
    let is_service = |name: &String| services::names().contains(name);
    for name in programs() {
        let develops = says(&blocks, &name, "build: *development");
        assert_eq!(develops, !is_service(&name), "{name}");
        assert!(says(&blocks, &name, "build: { context: ., target: services,"), "{name}");
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
    let compose = text("docker-compose.yml");
    let blocks = blocks(&compose);
    for name in programs().into_iter().chain(SERVERS.map(str::to_owned)) {
        for rule in [
            "read_only: true",
            "cap_drop: [ALL]",
            "security_opt: [\"no-new-privileges:true\"]",
            "init: true",
            "restart: unless-stopped",
            "mem_limit:",
            "stop_grace_period:",
            "healthcheck:",
        ] {
            assert!(says(&blocks, &name, rule), "{name} has no {rule}");
        }
    }
    let ports: Vec<&str> = compose.lines().filter(|line| line.trim().starts_with("ports:")).collect();
    assert_eq!(ports.len(), services::names().len() + ::services::BESIDE.len() + 2); // with PostgreSQL and Kafka
    for port in ports {
        assert!(
            port.contains("\"127.0.0.1:${"),
            "the port is open to other machines, or has no variable: {port}"
        );
    }
    assert!(
        !compose.contains("container_name"),
        "a container_name prevents two checkouts from running side by side"
    );
}

#[test]
fn all_but_kafka_fits_into_a_gigabyte_with_three_services() {
    let blocks = blocks(&text("docker-compose.yml"));
    let limit = |name: &str| -> u32 {
        // A container's own limit overrides that of the anchor which it merges.
        let anchor = blocks[name].iter().find_map(|line| line.strip_prefix("<<: *"));
        let lines = blocks[name].iter().chain(anchor.map(|anchor| &blocks[anchor]).into_iter().flatten());
        let limit = lines.into_iter().find_map(|line| line.strip_prefix("mem_limit: "));
        let number = limit.and_then(|limit| limit.split('m').next()).expect("a limit in MiB");
        number.parse().unwrap()
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
