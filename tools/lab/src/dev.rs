//! The script `./dev`: the lab breaks and cures with the same commands as a person at the terminal.

use std::path::PathBuf;
use std::time::Duration;

use harness::{CommandOutput, Context, Error, Result};
use serde_json::Value;
use tokio::process::Command;
use tokio::time::timeout;

/// The script.
pub(crate) struct Dev {
    script: PathBuf,
}

impl Dev {
    pub(crate) fn new(script: impl Into<PathBuf>) -> Self {
        Self { script: script.into() }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.script);
        command.args(words).env_remove("IDEM_CRASH");
        command
    }

    /// Runs a command to its end, and returns standard output. A failed command is an error with its output.
    pub(crate) async fn run(&self, words: &[&str]) -> Result<String> {
        self.output(self.command(words), words).await?.expect_success(name(words))
    }

    /// The same, with a crash point, given as `name:hit`, at which the started process kills itself.
    pub(crate) async fn run_armed(&self, words: &[&str], point: &str) -> Result<String> {
        let mut command = self.command(words);
        command.env("IDEM_CRASH", point);
        self.output(command, words).await?.expect_success(name(words))
    }

    /// Reads the JSON that a command prints, also if the command fails. The command is killed at the limit.
    pub(crate) async fn read_json(&self, words: &[&str], limit: Duration) -> Result<Value> {
        let mut command = self.command(words);
        command.kill_on_drop(true);
        let late = |_| Error::Refused(format!("{} took longer than {} s", name(words), limit.as_secs()));
        let output = timeout(limit, self.output(command, words)).await.map_err(late)??;
        serde_json::from_str(&output.stdout)
            .map_err(|_| Error::Command { command: name(words), output: output.text() })
    }

    async fn output(&self, mut command: Command, words: &[&str]) -> Result<CommandOutput> {
        let output = command.output().await.context(format!("run {}", name(words)))?;
        Ok(CommandOutput::from(output))
    }
}

fn name(words: &[&str]) -> String {
    format!("./dev {}", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_command_that_prints_no_json_is_an_error_with_its_output() {
        let error = Dev::new("echo").read_json(&["no", "json"], Duration::from_mins(1)).await.unwrap_err();
        assert_eq!(error.to_string(), "./dev no json failed:\nno json\n");
    }

    #[tokio::test]
    async fn a_command_that_never_ends_is_given_up_at_the_limit() {
        let error = Dev::new("sleep").read_json(&["600"], Duration::from_millis(50)).await.unwrap_err();
        assert_eq!(error.to_string(), "./dev 600 took longer than 0 s");
    }
}
