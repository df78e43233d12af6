//! deploy/kubernetes contains its pods as docker-compose.yml does, waits for their drain, and keeps secrets out of files and the
//! owners' secrets away from the services.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// After `shutdown.drain_seconds`, as the comment of that setting says.
const STEPS_AFTER_DRAIN: u64 = 19;

/// The longest time in seconds from a failing liveness to the restart.
const RESTART: u64 = 30;

/// Settings that are secrets: only `…_FILE` may be in a manifest.
const SECRETS: [&str; 4] = [
    "IDEM_DATABASE__URL",
    "IDEM_DATABASE__MIGRATION_URL",
    "IDEM_PROCESSOR__SECRET_KEY",
    "IDEM_PROCESSOR__WEBHOOK_SECRETS",
];

const EVERY_POD: [(&str, bool); 3] = [
    ("/automountServiceAccountToken", false),
    ("/enableServiceLinks", false),
    ("/securityContext/runAsNonRoot", true),
];
const EVERY_CONTAINER: [(&str, bool); 2] =
    [("/securityContext/allowPrivilegeEscalation", false), ("/securityContext/readOnlyRootFilesystem", true)];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The resources of the base.
fn base() -> Vec<Value> {
    resources_of("deploy/kubernetes/base")
}

/// The resources of a folder, as its kustomization lists them: files, and the folders of services.
fn resources_of(folder: &str) -> Vec<Value> {
    let list: Value = serde_saphyr::from_str(&text(&format!("{folder}/kustomization.yaml"))).unwrap();
    let resources = list["resources"].as_array().unwrap().iter();
    resources
        .flat_map(|resource| {
            let path = format!("{folder}/{}", resource.as_str().unwrap());
            if root().join(&path).is_dir() {
                return resources_of(&path);
            }
            text(&path).split("\n---\n").map(|one| serde_saphyr::from_str(one).unwrap()).collect()
        })
        .collect()
}

/// The number behind a name in a settings file or in deploy/compose/bases.yml.
fn number(text: &str, name: &str) -> u64 {
    let (_, rest) = text.split_once(name).unwrap_or_else(|| panic!("no {name}"));
    let digits: String =
        rest.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

fn at<'v>(value: &'v Value, pointer: &str) -> &'v Value {
    value.pointer(pointer).unwrap_or(&Value::Null)
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Everything that is wrong with the resources.
fn violations(resources: &[Value]) -> Vec<String> {
    let mut found = Vec::new();
    for resource in resources {
        let (kind, name) = (&resource["kind"], &resource["metadata"]["name"]);
        let mut wrong = |what: &str| found.push(format!("{kind} {name}: {what}"));
        match kind.as_str().unwrap() {
            "Secret" => wrong("a secret belongs in no file"),
            "Deployment" => {
                pod(at(resource, "/spec/template/spec"), &mut wrong);
                service(resource, resources, &mut wrong);
            }
            "Job" => pod(at(resource, "/spec/template/spec"), &mut wrong),
            _ => {}
        }
    }
    let closed = resources.iter().any(|it| {
        it["kind"] == "NetworkPolicy"
            && it["spec"] == json!({"podSelector": {}, "policyTypes": ["Ingress", "Egress"]})
    });
    found.extend((!closed).then(|| "no policy closes what the others do not open".to_owned()));
    found
}

fn pod(spec: &Value, wrong: &mut impl FnMut(&str)) {
    let mut is = |of: &Value, pointer: &str, expected: Value| {
        if at(of, pointer) != &expected {
            wrong(&format!("{pointer} is not {expected}"));
        }
    };
    for (pointer, expected) in EVERY_POD {
        is(spec, pointer, json!(expected));
    }
    is(spec, "/securityContext/seccompProfile/type", json!("RuntimeDefault"));
    for container in list(&spec["containers"]) {
        for (pointer, expected) in EVERY_CONTAINER {
            is(container, pointer, json!(expected));
        }
        is(container, "/securityContext/capabilities/drop", json!(["ALL"]));
    }
    for container in list(&spec["containers"]) {
        if at(container, "/resources/limits/memory").is_null() {
            wrong("no limit of memory");
        }
        for variable in list(&container["env"]) {
            if SECRETS.iter().any(|secret| variable["name"] == *secret) {
                wrong("a secret is in a variable");
            }
        }
    }
}

fn service(deployment: &Value, resources: &[Value], wrong: &mut impl FnMut(&str)) {
    let spec = at(deployment, "/spec/template/spec");
    let container = at(spec, "/containers/0");
    if at(deployment, "/spec/replicas").as_u64() < Some(2) {
        wrong("fewer than two replicas");
    }
    for (probe, path) in [("livenessProbe", "/health/live"), ("readinessProbe", "/health/ready")] {
        let get = &container[probe]["httpGet"];
        if get["path"] != path || get["port"] != "admin" {
            wrong(&format!("{probe} does not ask {path} of the admin listener"));
        }
    }
    let restart = ["periodSeconds", "failureThreshold"].map(|name| container["livenessProbe"][name].as_u64());
    if !matches!(restart, [Some(period), Some(failures)] if period * failures <= RESTART) {
        wrong("a pod that stands still is restarted too late");
    }
    let pause = at(container, "/lifecycle/preStop/sleep/seconds").as_u64().unwrap_or(0);
    let drain = number(&text("shared/runtime/src/config/defaults.toml"), "\ndrain_seconds");
    let grace = spec["terminationGracePeriodSeconds"].as_u64();
    if pause == 0 || grace < Some(pause + drain + STEPS_AFTER_DRAIN) {
        wrong("preStop and drain take longer than the grace period, or there is no preStop");
    }
    let memory = number(&text("deploy/compose/bases.yml"), "\n  service:\n");
    if at(container, "/resources/limits/memory") != &json!(format!("{memory}Mi")) {
        wrong(&format!("the limit of memory is not the {memory} MiB of deploy/compose/bases.yml"));
    }
    let mut secrets = list(&spec["volumes"]).filter_map(|volume| at(volume, "/secret/secretName").as_str());
    if secrets.any(|secret| secret.ends_with("-owner")) {
        wrong("it sees the secret of the owner");
    }
    let selector = at(deployment, "/spec/selector");
    let budget = |it: &&Value| it["kind"] == "PodDisruptionBudget" && it["spec"]["selector"] == *selector;
    if !resources.iter().any(|it| budget(&it)) {
        wrong("no disruption budget selects its pods");
    }
}

#[test]
fn every_pod_is_contained_and_only_migrations_see_the_owners_secrets() {
    let resources = base();
    let count = |kind: &str| resources.iter().filter(|it| it["kind"] == kind).count();
    let services = architecture::services::names().len();
    assert_eq!((count("Deployment"), count("Job")), (services, services));
    assert_eq!(violations(&resources), Vec::<String>::new());
}

#[test]
fn no_secret_is_in_a_file_of_settings() {
    let own = architecture::services::names()
        .into_iter()
        .map(|service| format!("services/{service}/kubernetes/settings.env"));
    let own = own.filter(|file| root().join(file).exists());
    for file in own.chain(["deploy/kubernetes/base/settings.env".to_owned()]) {
        let text = text(&file);
        for secret in SECRETS {
            assert!(!text.contains(secret), "{file} has {secret}");
        }
        assert!(
            !text.contains("MODE__DEVELOPMENT") && !text.contains("HTTP__DOCS"),
            "{file} is for the demo"
        );
    }
}

#[test]
fn every_planted_mistake_in_a_manifest_is_found() {
    let plant = |kind: &str, pointer: &str, value: Value| {
        let mut resources = base();
        let resource = resources.iter_mut().find(|it| it["kind"] == kind).unwrap();
        *resource.pointer_mut(pointer).unwrap_or_else(|| panic!("{kind} has no {pointer}")) = value;
        assert!(!violations(&resources).is_empty(), "{pointer} of a {kind} was not missed");
    };
    for kind in ["Deployment", "Job"] {
        for (pointer, expected) in EVERY_POD {
            plant(kind, &format!("/spec/template/spec{pointer}"), json!(!expected));
        }
        for (pointer, expected) in EVERY_CONTAINER {
            plant(kind, &format!("/spec/template/spec/containers/0{pointer}"), json!(!expected));
        }
        let container = "/spec/template/spec/containers/0";
        plant(kind, "/spec/template/spec/securityContext/seccompProfile", json!({"type": "Unconfined"}));
        plant(kind, &format!("{container}/securityContext/capabilities"), json!({"drop": ["NET_RAW"]}));
        plant(kind, &format!("{container}/resources/limits"), json!({}));
        for secret in SECRETS {
            plant(kind, &format!("{container}/env/0"), json!({"name": secret, "value": "x"}));
        }
    }
    let container = "/spec/template/spec/containers/0";
    plant("Deployment", "/spec/replicas", json!(1));
    plant("Deployment", "/spec/selector/matchLabels", json!({"app.kubernetes.io/name": "another"}));
    plant("Deployment", "/spec/template/spec/terminationGracePeriodSeconds", json!(30));
    plant("Deployment", "/spec/template/spec/volumes/0/secret/secretName", json!("orders-database-owner"));
    plant("Deployment", &format!("{container}/lifecycle"), json!({}));
    plant("Deployment", &format!("{container}/livenessProbe/httpGet/path"), json!("/health/ready"));
    plant("Deployment", &format!("{container}/livenessProbe/failureThreshold"), json!(6));
    plant("Deployment", &format!("{container}/readinessProbe/httpGet/port"), json!("http"));
    plant("Deployment", &format!("{container}/resources/limits/memory"), json!("512Mi"));
    plant("NetworkPolicy", "/spec/policyTypes", json!(["Ingress"]));
    plant("Namespace", "/kind", json!("Secret"));
}
