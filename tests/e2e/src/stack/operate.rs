//! What operators do from the command line.

use std::path::PathBuf;

use testkit::given;
use tokio::process::Command;

use super::Stack;
use crate::Part;

/// Who does it.
const OPERATOR: &str = "dana";

impl Stack {
    /// Runs `PROGRAM WORDS` with the settings of this installation: exit code, and what it printed.
    pub async fn operate(&self, name: &str, words: &[&str]) -> (i32, String) {
        let part = Part::named(name);
        let output = Command::new(PathBuf::from(given("IDEM_BIN_DIR")).join(part.program))
            .args(words)
            .env_clear()
            .env("USER", OPERATOR)
            .envs(self.settings(part, 0))
            .output()
            .await
            .unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.code().expect("it ended by itself"), String::from_utf8(said).unwrap())
    }
}
