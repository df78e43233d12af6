//! The same statement through pgbench, where it is installed: PostgreSQL's own load generator costs little itself.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use tokio::process::Command;
use uuid::Uuid;

use super::bare_statement::{PLACE, SampleOrder};
use crate::environment::TestBed;
use crate::load::Load;
use harness::{Context, Error, Result};

/// pgbench, with its script.
pub(crate) struct Pgbench {
    program: PathBuf,
    folder: PathBuf,
    constants: Vec<String>,
}

impl Pgbench {
    /// `None` if it is not in PATH.
    pub(crate) fn find(sample: &SampleOrder) -> Result<Option<Self>> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let Some(program) =
            std::env::split_paths(&path).map(|folder| folder.join("pgbench")).find(|p| p.is_file())
        else {
            return Ok(None);
        };
        let folder = std::env::temp_dir().join(format!("idem-bench-{}", Uuid::new_v4().simple()));
        std::fs::create_dir(&folder).context("make a folder for pgbench")?;
        let pgbench = Self { program, folder, constants: constants(sample)? };
        std::fs::write(pgbench.script(), script()).context("write pgbench's script")?;
        Ok(Some(pgbench))
    }

    fn script(&self) -> PathBuf {
        self.folder.join("place.sql")
    }

    /// Runs it for this long with so many connections.
    pub(crate) async fn run(&self, database: &TestBed, connections: usize, length: Duration) -> Result<Load> {
        let log = self.folder.join("log");
        let mut command = Command::new(&self.program);
        command
            .args(["--no-vacuum", "--protocol=prepared", "--log"])
            .arg(format!("--log-prefix={}", log.display()))
            .arg(format!("--client={connections}"))
            .arg(format!("--jobs={}", connections.min(2)))
            .arg(format!("--time={}", length.as_secs_f64().ceil()))
            .arg(format!("--file={}", self.script().display()))
            .args(self.constants.iter().map(|constant| format!("--define={constant}")))
            .arg(&database.service_url)
            .stdin(Stdio::null())
            .kill_on_drop(true);
        let output = command.output().await.context("run pgbench")?;
        let report = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() || !report.contains("number of failed transactions: 0 ") {
            let complaint = String::from_utf8_lossy(&output.stderr);
            return Err(Error::Refused(format!("pgbench failed: {report}{complaint}")));
        }
        let mut load = Load::of(self.times()?, length);
        // pgbench's own rate does not count the time to connect.
        let line = report.lines().find_map(|line| line.strip_prefix("tps = "));
        let rate = line.and_then(|line| line.split(' ').next()?.parse().ok());
        load.rate = rate.ok_or_else(|| Error::Refused(format!("pgbench reports no rate: {report}")))?;
        Ok(load)
    }

    /// The time of each transaction, from the logs, which are removed.
    fn times(&self) -> Result<Vec<Duration>> {
        let mut times = Vec::new();
        for entry in std::fs::read_dir(&self.folder).context("look for pgbench's logs")? {
            let path = entry.context("look for pgbench's logs")?.path();
            if path != self.script() {
                times.extend(times_in(&path)?);
                std::fs::remove_file(&path).context("remove pgbench's log")?;
            }
        }
        Ok(times)
    }
}

impl Drop for Pgbench {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The third column, in microseconds.
fn times_in(log: &Path) -> Result<Vec<Duration>> {
    let text = std::fs::read_to_string(log).context("read pgbench's log")?;
    let column = text.lines().filter_map(|line| line.split(' ').nth(2)?.parse().ok());
    Ok(column.map(Duration::from_micros).collect())
}

/// The statement with variables of pgbench instead of its parameters. The UUIDs share their first 64 bits, so that an index
/// inserts them at its right end, like UUIDv7.
fn script() -> String {
    let mut text: String =
        PLACE.lines().filter(|line| !line.starts_with("--")).collect::<Vec<_>>().join("\n");
    let uuid = |name: &str| format!("(:prefix || lpad(to_hex(:{name}::bigint), 16, '0'))");
    let constants = ["tenant", "client", "lines", "payload", "headers", "body", "fingerprint", "traceparent"];
    for (index, name) in constants.iter().enumerate().rev() {
        text = text.replace(&format!("${}", index + 6), &format!(":{name}"));
    }
    for (index, name) in ["order", "key", "operation", "event", "fact"].iter().enumerate().rev() {
        let value = if *name == "key" { format!("{}::uuid::text", uuid(name)) } else { uuid(name) };
        text = text.replace(&format!("${}", index + 1), &value);
    }
    let random = ["order", "key", "operation", "event", "fact"]
        .map(|name| format!("\\set {name} random(1, 9000000000000000000)\n"));
    format!("{}{text};\n", random.concat())
}

fn constants(sample: &SampleOrder) -> Result<Vec<String>> {
    let bytes = |bytes: &[u8]| {
        let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("\\x{}", hex.concat())
    };
    #[expect(clippy::disallowed_methods, reason = "the ids only have to differ from those of other runs")]
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).context("read the clock")?;
    Ok(vec![
        format!("prefix={:016x}", now.as_millis() << 16),
        format!("tenant={}", sample.tenant),
        format!("client={}", sample.client),
        format!("lines={}", sample.lines),
        format!("payload={}", bytes(&sample.payload)),
        format!("headers={}", sample.headers),
        format!("body={}", bytes(&sample.body)),
        format!("fingerprint={}", bytes(&sample.fingerprint)),
        format!("traceparent={}", sample.traceparent.as_deref().unwrap_or_default()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_of_the_statement_has_a_variable() {
        let script = script();
        assert!(!script.contains('$'), "{script}");
        for name in ["order", "key", "operation", "event", "fact", "tenant", "body", "traceparent"] {
            assert!(script.contains(&format!(":{name}")), "{name} is missing:\n{script}");
        }
    }
}
