//! The context of every figure: the machine, the commit, and the durability of the servers.

use std::fs;

use serde::Serialize;

use super::Session;
use harness::{Context, Error, Result};

/// Machine, code and servers.
#[derive(Debug, Default, Clone, Serialize)]
pub(crate) struct MachineInfo {
    pub(crate) cores: usize,
    pub(crate) memory_gib: Option<u64>,
    pub(crate) processor: Option<String>,
    pub(crate) commit: String,
    pub(crate) postgres: String,
    /// `name=value` of the settings that decide what a commit costs.
    pub(crate) durability: Vec<String>,
}

/// With any of these off, a commit is not durable.
const MUST_BE_ON: [&str; 3] = ["fsync", "synchronous_commit", "full_page_writes"];

impl MachineInfo {
    pub(super) async fn gather(admin: &Session, commit: &str) -> Result<Self> {
        let version: String = admin.one("SHOW server_version").await?.get(0);
        let names = [&MUST_BE_ON[..], &["wal_level", "shared_buffers", "max_wal_size"]].concat();
        let question = "SELECT name, current_setting(name) FROM pg_settings WHERE name = ANY($1)";
        let rows = admin.query(question, &[&names]).await.context("read the server's settings")?;
        let mut durability = Vec::new();
        for row in rows {
            let (name, value): (String, String) = (row.get(0), row.get(1));
            if MUST_BE_ON.contains(&name.as_str()) && value != "on" {
                return Err(Error::Refused(format!(
                    "PostgreSQL runs with {name}={value}: its commits are not durable, and the figures would be meaningless; \
                     set {name}=on, or unset IDEM_POSTGRES_URL to measure with this checkout's own server"
                )));
            }
            durability.push(format!("{name}={value}"));
        }
        Ok(Self {
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_gib: memory_gib(),
            processor: processor(),
            commit: commit.to_owned(),
            postgres: version.split(' ').next().unwrap_or(&version).to_owned(),
            durability,
        })
    }

    /// One paragraph for the head of the report.
    pub(crate) fn sentence(&self) -> String {
        let processor = self.processor.as_deref().map_or(String::new(), |name| format!(" ({name})"));
        let memory = self.memory_gib.map_or(String::new(), |gib| format!(", {gib} GiB of memory"));
        format!(
            "commit {}; {} cores{processor}{memory}; PostgreSQL {}: {}; load generator, services and servers share \
             the machine",
            self.commit,
            self.cores,
            self.postgres,
            self.durability.join(", ")
        )
    }
}

fn memory_gib() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let kib: u64 = text.lines().next()?.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib >> 20)
}

fn processor() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}
