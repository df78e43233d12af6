//! A Prometheus for one test, with the rules of deploy/prometheus.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::{eventually, free_port, given};
use tokio::process::{Child, Command};
use uuid::Uuid;

/// One server, stopped and removed with its data when the test ends.
pub(crate) struct Prometheus {
    folder: PathBuf,
    url: String,
    _process: Child,
}

/// The rules as they are, except that a condition must hold for a second, that rates are over shorter times (a minute is a second,
/// and an hour ten seconds), and that a megabyte counts as a gigabyte.
fn impatient_rules(file: &Path) -> String {
    let rules = fs::read_to_string(file).unwrap().replace("10e9", "10e6");
    let line = |line: &str| match line.split_once("for: ") {
        Some((before, _)) if before.trim().is_empty() => format!("{before}for: 1s\n"),
        _ => format!("{}\n", with_short_ranges(line)),
    };
    rules.lines().map(line).collect()
}

/// Shortens what is in square brackets: `[5m]` becomes `[5s]`, and `[6h:5m]` becomes `[60s:5s]`.
fn with_short_ranges(line: &str) -> String {
    let range = |text: &str| match (text.strip_suffix('m'), text.strip_suffix('h')) {
        (Some(minutes), _) => format!("{minutes}s"),
        (_, Some(hours)) => format!("{hours}0s"),
        _ => text.to_owned(),
    };
    let part = |part: &str| match part.split_once(']') {
        Some((inside, after)) => {
            format!("{}]{after}", inside.split(':').map(range).collect::<Vec<_>>().join(":"))
        }
        None => part.to_owned(),
    };
    line.split('[').map(part).collect::<Vec<_>>().join("[")
}

impl Prometheus {
    /// Scrapes each of these services at its port. Returns once it has seen all of them.
    pub(crate) async fn start(services: &[(&str, u16)]) -> Self {
        let folder = std::env::temp_dir().join(format!("idem-prometheus-{}", Uuid::new_v4().simple()));
        fs::create_dir(&folder).unwrap();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let own = services.iter().map(|(name, _)| root.join(format!("services/{name}/alerts.yml")));
        let files =
            [root.join("deploy/prometheus/alerts.yml")].into_iter().chain(own).filter(|file| file.exists());
        for (number, file) in files.enumerate() {
            fs::write(folder.join(format!("{number}-alerts.yml")), impatient_rules(&file)).unwrap();
        }
        let targets = |port: u16| json!({ "targets": [format!("127.0.0.1:{port}")], "labels": { "application": "idem" } });
        let job =
            |(name, port): &(&str, u16)| json!({ "job_name": name, "static_configs": [targets(*port)] });
        let config = json!({
            "global": { "scrape_interval": "1s", "evaluation_interval": "1s" },
            "rule_files": ["*-alerts.yml"],
            "scrape_configs": services.iter().map(job).collect::<Vec<_>>(),
        });
        // JSON is YAML.
        fs::write(folder.join("prometheus.yml"), config.to_string()).unwrap();
        let address = format!("127.0.0.1:{}", free_port());
        let mut command = Command::new(given("IDEM_PROMETHEUS"));
        command
            .arg(format!("--config.file={}", folder.join("prometheus.yml").display()))
            .arg(format!("--storage.tsdb.path={}", folder.join("data").display()))
            .args([format!("--web.listen-address={address}"), "--log.level=error".to_owned()])
            .kill_on_drop(true);
        let process = command.spawn().unwrap();
        let prometheus = Self { folder, url: format!("http://{address}/api/v1"), _process: process };
        eventually("Prometheus has seen every service", async || {
            let seen = prometheus.get("query?query=sum(up)").await?;
            let number: usize = seen["data"]["result"][0]["value"][1].as_str()?.parse().ok()?;
            (number == services.len()).then_some(())
        })
        .await;
        prometheus
    }

    async fn get(&self, path: &str) -> Option<Value> {
        let response = testkit::http::client().get(format!("{}/{path}", self.url)).send().await.ok()?;
        serde_json::from_str(&response.text().await.ok()?).ok()
    }

    /// The alerts that fire, as `alert of service`.
    async fn firing(&self) -> Option<BTreeSet<String>> {
        let alerts = self.get("alerts").await?;
        let firing = alerts["data"]["alerts"].as_array()?.iter().filter(|alert| alert["state"] == "firing");
        let name = |alert: &Value| {
            let label = |name: &str| alert["labels"][name].as_str().unwrap_or("any").to_owned();
            format!("{} of {}", label("alertname"), label("job"))
        };
        Some(firing.map(name).collect())
    }

    /// Waits until this alert fires.
    pub(crate) async fn fires(&self, alert: &str) {
        eventually(&format!("{alert} fires"), async || self.firing().await?.contains(alert).then_some(()))
            .await;
    }

    /// Waits until one of these alerts fires.
    pub(crate) async fn fires_one_of(&self, alerts: &[&str]) {
        eventually(&format!("one of {alerts:?} fires"), async || {
            let firing = self.firing().await?;
            alerts.iter().any(|alert| firing.contains(*alert)).then_some(())
        })
        .await;
    }

    /// Waits until this alert does not fire.
    pub(crate) async fn is_quiet(&self, alert: &str) {
        eventually(&format!("{alert} is quiet"), async || {
            (!self.firing().await?.contains(alert)).then_some(())
        })
        .await;
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}
