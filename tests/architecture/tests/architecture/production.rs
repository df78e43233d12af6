//! deploy/production makes the databases, roles, topics and rights that the services need, and no other ones.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use services::ALL;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The calls of Kafka's tools by deploy/production/kafka.sh, without the addresses of the brokers.
fn calls(deployment: &str) -> Vec<String> {
    let tools = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kafka-tools");
    fs::create_dir_all(&tools).unwrap();
    for name in ["kafka-topics.sh", "kafka-acls.sh"] {
        let tool = tools.join(name);
        fs::write(&tool, "#!/bin/sh\nshift 2\necho \"$@\"\n").unwrap();
        fs::set_permissions(&tool, Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap());
    let script = root().join("deploy/production/kafka.sh");
    let output = Command::new(script)
        .args([deployment, "--bootstrap-server", "kafka-1:9093"])
        .env("PATH", path)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// The number of this setting in this section of the defaults.
fn default(section: &str, setting: &str) -> u32 {
    let defaults = text("shared/runtime/src/config/defaults.toml");
    let (_, section) = defaults.split_once(&format!("\n[{section}]\n")).unwrap();
    let (_, value) = section.split_once(&format!("{setting} = ")).unwrap();
    value.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn each_service_may_write_its_own_topics_and_read_those_of_the_services_that_it_consumes() {
    let days = u64::from(default("inbox", "keep_days") - default("outbox", "keep_days"));
    let configured = format!(
        "--replication-factor 3 --config min.insync.replicas=2 --config cleanup.policy=delete --config retention.ms={}",
        days * 24 * 3600 * 1000
    );
    let topics = text("shared/envelope/src/topics.rs");
    let (_, partitions) = topics.split_once("PARTITIONS: i32 = ").unwrap();
    let partitions = partitions.split(';').next().unwrap();
    let mut expected: Vec<String> = ALL
        .iter()
        .flat_map(|service| {
            let name = service.name;
            let create = |topic: &str, partitions: &str| {
                format!(
                    "--create --if-not-exists --topic shop.{name}.{topic} --partitions {partitions} {configured}"
                )
            };
            let allow = format!("--add --force --allow-principal User:{name} --operation");
            let read: Vec<String> =
                service.reads.iter().map(|read| format!(" --topic shop.{read}.events")).collect();
            [
                create("events", partitions),
                create("dlq", "1"),
                format!("{allow} Write --topic shop.{name}.events --topic shop.{name}.dlq"),
                format!("{allow} Read --group shop.{name}{}", read.concat()),
                format!(
                    "{allow} DescribeConfigs --topic shop.{name}.events --topic shop.{name}.dlq{}",
                    read.concat()
                ),
            ]
        })
        .collect();
    let mut found = calls("shop");
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
}

#[test]
fn production_gets_the_roles_of_docker_compose_and_no_password() {
    let (compose, production) =
        (text("deploy/compose/databases.sql"), text("deploy/production/databases.sql"));
    for statement in [
        "CREATE ROLE idem_service NOLOGIN",
        "'CREATE ROLE %2$I LOGIN",
        "'CREATE ROLE %3$I LOGIN",
        "IN ROLE idem_service'",
        "'CREATE DATABASE %1$I OWNER %2$I",
        "'REVOKE ALL ON DATABASE %1$I FROM PUBLIC'",
        "'GRANT CONNECT ON DATABASE %1$I TO %3$I'",
    ] {
        assert!(compose.contains(statement) && production.contains(statement), "{statement}");
    }
    assert!(!production.contains(" PASSWORD "));
}
