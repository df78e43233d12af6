//! The programs with the environment of deploy/kubernetes: a setting that a program does not know keeps it from starting.

use std::path::{Path, PathBuf};

use e2e::{Options, Part, Stack};
use messaging::Brokers;
use serde_json::Value;
use testkit::identity;
use uuid::Uuid;

fn text(file: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(file)).unwrap()
}

/// The container of a service's resource, by the words that its program gets.
fn container(file: &str, words: [&str; 2]) -> Value {
    let text = text(&format!("services/{}/kubernetes/{file}", words[0]));
    let resources = text.split("\n---\n").map(|one| serde_saphyr::from_str::<Value>(one).unwrap());
    let mut containers = resources.map(|it| it["spec"]["template"]["spec"]["containers"][0].clone());
    containers.find(|it| it["args"] == serde_json::json!(words)).unwrap()
}

/// The environment of a container: the `ConfigMap`s, then its own variables.
fn environment(container: &Value) -> Vec<(String, String)> {
    let maps = container["envFrom"].as_array().into_iter().flatten();
    let names = maps.map(|map| map["configMapRef"]["name"].as_str().unwrap().to_owned());
    let files = names.map(|name| match name.strip_suffix("-settings").unwrap() {
        "idem" => "deploy/kubernetes/base/settings.env".to_owned(),
        service => format!("services/{service}/kubernetes/settings.env"),
    });
    let mut settings: Vec<(String, String)> = Vec::new();
    for file in files {
        let text = text(&file);
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        settings.extend(lines.map(|line| {
            let (name, value) = line.split_once('=').unwrap();
            (name.to_owned(), value.to_owned())
        }));
    }
    for variable in container["env"].as_array().unwrap() {
        let [name, value] = ["name", "value"].map(|member| variable[member].as_str().unwrap().to_owned());
        settings.push((name, value));
    }
    settings
}

/// A folder for secrets, as a volume mounts them.
struct Secrets(PathBuf);

impl Secrets {
    fn new() -> Self {
        let folder = std::env::temp_dir().join(format!("idem-secrets-{}", Uuid::new_v4().simple()));
        std::fs::create_dir(&folder).unwrap();
        Self(folder)
    }

    fn file(&self, contents: &str) -> String {
        let path = self.0.join(Uuid::new_v4().simple().to_string());
        std::fs::write(&path, contents).unwrap();
        path.display().to_string()
    }
}

impl Drop for Secrets {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Replaces the addresses of the cluster by those of the test, and the paths of secrets by files. Names stay as they are.
fn moved_here(
    settings: Vec<(String, String)>,
    stack: &Stack,
    part: Part,
    secrets: &Secrets,
) -> Vec<(String, String)> {
    let here = |name: &str, value: String| match name {
        "IDEM_HTTP__BIND" | "IDEM_ADMIN__BIND" => "127.0.0.1".to_owned(),
        "IDEM_KAFKA__BROKERS" => stack.kafka().brokers.to_string(),
        // The brokers of the test accept no login. An empty variable counts as absent.
        name if name.starts_with(KAFKA_PROPERTY) => String::new(),
        "IDEM_AUTH__JWKS" => secrets.file(&identity::jwks()),
        "IDEM_DATABASE__URL_FILE" => secrets.file(&stack.database(part).service_url(None)),
        "IDEM_DATABASE__MIGRATION_URL_FILE" => secrets.file(&stack.database(part).owner_url()),
        name => match (stack.own_setting(part, name), name.strip_suffix("_FILE")) {
            (Some(own), _) => own,
            (None, Some(name)) => stack.own_setting(part, name).map_or(value, |secret| secrets.file(&secret)),
            (None, None) => value,
        },
    };
    settings.into_iter().map(|(name, value)| (name.clone(), here(&name, value))).collect()
}

/// The beginning of the variables that secure the connections to Kafka.
const KAFKA_PROPERTY: &str = "IDEM_KAFKA__PROPERTIES__";

#[test]
fn the_brokers_of_the_manifests_are_reached_by_tls_with_a_login() {
    let settings = environment(&container("service.yaml", ["orders", "serve"]));
    let property = |(name, value): &(String, String)| {
        Some((name.strip_prefix(KAFKA_PROPERTY)?.to_ascii_lowercase(), value.clone()))
    };
    let properties: Vec<_> = settings.iter().filter_map(property).collect();
    assert!(properties.contains(&("security_protocol".to_owned(), "SASL_SSL".to_owned())), "{properties:?}");
    let (_, addresses) = settings.iter().find(|(name, _)| name == "IDEM_KAFKA__BROKERS").unwrap();
    Brokers::new(addresses, properties).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_environments_of_the_manifests_migrate_and_start_every_service() {
    let mut stack = Stack::prepared(Options::default()).await;
    let secrets = Secrets::new();
    for part in Part::SERVICES {
        let name = part.name();
        let job = environment(&container("migration.yaml", [name, "migrate"]));
        let migrated =
            stack.operate_exactly(part, &["migrate"], &moved_here(job, &stack, part, &secrets)).await;
        assert!(migrated.is_success(), "{name} migrate: {}", migrated.text());

        let pod = environment(&container("service.yaml", [name, "serve"]));
        let mut settings = moved_here(pod, &stack, part, &secrets);
        // Several tests share this machine and the broker, and pods share neither ports nor topics.
        let port = stack.address(name).rsplit_once(':').unwrap().1.to_owned();
        settings.extend([
            ("IDEM_HTTP__PORT".to_owned(), port),
            ("IDEM_ADMIN__PORT".to_owned(), "0".to_owned()),
            ("IDEM_DEPLOYMENT__NAME".to_owned(), stack.kafka().topics.deployment().to_owned()),
        ]);
        stack.launch_exactly(name, &settings);
    }
    for part in Part::SERVICES {
        stack.ready(part.name()).await;
    }
}
