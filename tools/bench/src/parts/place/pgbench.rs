//! The same statement through pgbench, where it is installed: PostgreSQL's own load generator, which costs next to
//! nothing itself.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use tokio::process::Command;
use uuid::Uuid;

use super::statement::{PLACE, Specimen};
use crate::ground::TestBed;
use crate::load::Load;
use crate::trouble::{Doing, Trouble};

/// pgbench, with its script.
pub(crate) struct Pgbench {
    program: PathBuf,
    folder: PathBuf,
    constants: Vec<String>,
}

impl Pgbench {
    /// `None` if it is not in PATH.
    pub(crate) fn find(specimen: &Specimen) -> Result<Option<Self>, Trouble> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let Some(program) =
            std::env::split_paths(&path).map(|folder| folder.join("pgbench")).find(|p| p.is_file())
        else {
            return Ok(None);
        };
        let folder = std::env::temp_dir().join(format!("idem-bench-{}", Uuid::new_v4().simple()));
        std::fs::create_dir(&folder).doing("make a folder for pgbench")?;
        let pgbench = Self { program, folder, constants: constants(specimen)? };
        std::fs::write(pgbench.script(), script()).doing("write pgbench's script")?;
        Ok(Some(pgbench))
    }

    fn script(&self) -> PathBuf {
        self.folder.join("place.sql")
    }

    /// Runs it for this long with so many connections.
    pub(crate) async fn run(
        &self,
        database: &TestBed,
        connections: usize,
        length: Duration,
    ) -> Result<Load, Trouble> {
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
        let output = command.output().await.doing("run pgbench")?;
        let said = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() || !said.contains("number of failed transactions: 0 ") {
            let complaint = String::from_utf8_lossy(&output.stderr);
            return Err(Trouble::Refused(format!("pgbench failed: {said}{complaint}")));
        }
        let mut load = Load::of(self.times()?, length);
        // Its own rate: it knows when its connections were there.
        let line = said.lines().find_map(|line| line.strip_prefix("tps = "));
        let rate = line.and_then(|line| line.split(' ').next()?.parse().ok());
        load.rate = rate.ok_or_else(|| Trouble::Refused(format!("pgbench tells no rate: {said}")))?;
        Ok(load)
    }

    /// How long each transaction took, from the logs; which are removed.
    fn times(&self) -> Result<Vec<Duration>, Trouble> {
        let mut times = Vec::new();
        for entry in std::fs::read_dir(&self.folder).doing("look for pgbench's logs")? {
            let path = entry.doing("look for pgbench's logs")?.path();
            if path != self.script() {
                times.extend(times_in(&path)?);
                std::fs::remove_file(&path).doing("remove pgbench's log")?;
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
fn times_in(log: &Path) -> Result<Vec<Duration>, Trouble> {
    let text = std::fs::read_to_string(log).doing("read pgbench's log")?;
    let column = text.lines().filter_map(|line| line.split(' ').nth(2)?.parse().ok());
    Ok(column.map(Duration::from_micros).collect())
}

/// The statement with pgbench's variables in the places of its parameters. UUIDs begin with the same 64 bits and end
/// with random ones, so that an index takes them, as it takes UUIDv7, at its right end.
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

fn constants(specimen: &Specimen) -> Result<Vec<String>, Trouble> {
    let bytes = |bytes: &[u8]| {
        let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("\\x{}", hex.concat())
    };
    #[expect(clippy::disallowed_methods, reason = "it only makes ids that no other run has")]
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).doing("read the clock")?;
    Ok(vec![
        format!("prefix={:016x}", now.as_millis() << 16),
        format!("tenant={}", specimen.tenant),
        format!("client={}", specimen.client),
        format!("lines={}", specimen.lines),
        format!("payload={}", bytes(&specimen.payload)),
        format!("headers={}", specimen.headers),
        format!("body={}", bytes(&specimen.body)),
        format!("fingerprint={}", bytes(&specimen.fingerprint)),
        format!("traceparent={}", specimen.traceparent.as_deref().unwrap_or_default()),
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
