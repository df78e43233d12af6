//! `Dev`: the script `./dev`. The demo and the lab break and cure with the same commands as a person at the terminal.

use std::env;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use tokio::process::Command;
use tokio::time::timeout;

use crate::{CommandOutput, Context, Error, Instance, Result, Role};

/// The script, and the ports of the processes that it starts.
#[derive(Debug)]
pub struct Dev {
    script: PathBuf,
    port_base: u16,
}

/// A variable that `./dev` sets for the programs that it runs.
pub fn variable(name: &'static str) -> Result<String> {
    env::var(name).map_err(|_| Error::Environment(name))
}

impl Dev {
    /// The script with ports counted from `port_base`.
    pub fn new(script: impl Into<PathBuf>, port_base: u16) -> Self {
        Self { script: script.into(), port_base }
    }

    /// The script that has started this program.
    pub fn from_environment() -> Result<Self> {
        let port_base = variable("IDEM_PORT_BASE")?.parse();
        Ok(Self::new(variable("IDEM_DEV")?, port_base.map_err(|_| Error::Environment("IDEM_PORT_BASE"))?))
    }

    /// `host:port` of a process.
    pub fn address(&self, instance: Instance) -> String {
        format!("127.0.0.1:{}", instance.port(self.port_base))
    }

    /// `host:port` of the admin listener of a process. A relay has no other one.
    pub fn admin(&self, instance: Instance) -> String {
        let above = if instance.role == Role::Relay { 0 } else { 1000 };
        format!("127.0.0.1:{}", instance.port(self.port_base) + above)
    }

    /// Runs a command to its end, and returns standard output. A failed command is an error with its output.
    pub async fn run(&self, words: &[&str]) -> Result<String> {
        self.run_with(words, &[]).await
    }

    /// The same, with these variables, which the started processes get, too.
    pub async fn run_with(&self, words: &[&str], variables: &[(&str, String)]) -> Result<String> {
        let mut command = self.command(words);
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        output(command, words).await?.expect_success(name(words))
    }

    /// Runs a command to its end. A failed command is no error.
    pub async fn output(&self, words: &[&str]) -> Result<CommandOutput> {
        output(self.command(words), words).await
    }

    /// Reads the JSON that a command prints, also if the command fails. The command is killed at the limit.
    pub async fn read_json(&self, words: &[&str], limit: Duration) -> Result<Value> {
        let mut command = self.command(words);
        command.kill_on_drop(true);
        let late = |_| Error::Refused(format!("{} took longer than {} s", name(words), limit.as_secs()));
        let output = timeout(limit, output(command, words)).await.map_err(late)??;
        serde_json::from_str(&output.stdout)
            .map_err(|_| Error::Command { command: name(words), output: output.text() })
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.script);
        command.args(words).env_remove("IDEM_CRASH");
        command
    }
}

async fn output(mut command: Command, words: &[&str]) -> Result<CommandOutput> {
    let output = command.output().await.context(format!("run {}", name(words)))?;
    Ok(CommandOutput::from(output))
}

fn name(words: &[&str]) -> String {
    format!("./dev {}", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_command_that_prints_no_json_is_an_error_with_its_output() {
        let dev = Dev::new("echo", 8080);
        let error = dev.read_json(&["no", "json"], Duration::from_mins(1)).await.unwrap_err();
        assert_eq!(error.to_string(), "./dev no json failed:\nno json\n");
    }

    #[tokio::test]
    async fn a_command_that_never_ends_is_given_up_at_the_limit() {
        let error = Dev::new("sleep", 8080).read_json(&["600"], Duration::from_millis(50)).await.unwrap_err();
        assert_eq!(error.to_string(), "./dev 600 took longer than 0 s");
    }
}
