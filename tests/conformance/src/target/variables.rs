//! `${NAME}` in a target file: values from the environment, from the file, or printed by a command.

use std::collections::BTreeMap;
use std::process::Command;

use serde::Deserialize;

use super::TargetError;

/// A default of a variable.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Default {
    /// The value.
    Text(String),
    /// The value is what this command prints. `{run}` in an argument is different in each run.
    Printed { command: Vec<String> },
}

/// The variables of a target file. The value of each is found once, so that a command runs once.
pub(super) struct Variables {
    /// Values that come before the environment, and values that were found.
    pub(super) known: BTreeMap<String, String>,
    /// The defaults, which come after the environment.
    pub(super) defaults: BTreeMap<String, Default>,
    pub(super) run: String,
}

impl Variables {
    /// Replaces each `${NAME}` in the strings of a parsed file. Because the file is parsed first, a value may have quotes.
    pub(super) fn replace(&mut self, value: &mut toml::Value) -> Result<(), TargetError> {
        match value {
            toml::Value::String(text) => *text = self.replaced(text)?,
            toml::Value::Array(items) => items.iter_mut().try_for_each(|item| self.replace(item))?,
            toml::Value::Table(table) => table.iter_mut().try_for_each(|(_, item)| self.replace(item))?,
            _ => {}
        }
        Ok(())
    }

    fn replaced(&mut self, text: &str) -> Result<String, TargetError> {
        let (mut replaced, mut rest) = (String::new(), text);
        while let Some((before, after)) = rest.split_once("${") {
            let (name, after) = after.split_once('}').ok_or(TargetError::Unclosed)?;
            replaced.push_str(before);
            replaced.push_str(&self.value(name)?);
            rest = after;
        }
        replaced.push_str(rest);
        Ok(replaced)
    }

    fn value(&mut self, name: &str) -> Result<String, TargetError> {
        if let Some(value) = self.known.get(name) {
            return Ok(value.clone());
        }
        let value = match (std::env::var(name), self.defaults.get(name)) {
            (Ok(value), _) => value,
            (_, Some(Default::Text(text))) => text.clone(),
            (_, Some(Default::Printed { command })) => printed(name, command, &self.run)?,
            (_, None) => return Err(TargetError::Unset(name.to_owned())),
        };
        self.known.insert(name.to_owned(), value.clone());
        Ok(value)
    }
}

/// The first line that the command prints.
fn printed(name: &str, command: &[String], run: &str) -> Result<String, TargetError> {
    let failed = |why: String| TargetError::Command { variable: name.to_owned(), why };
    let (program, arguments) = command.split_first().ok_or_else(|| failed("it is empty".to_owned()))?;
    let arguments = arguments.iter().map(|argument| argument.replace("{run}", run));
    let output = Command::new(program)
        .args(arguments)
        .output()
        .map_err(|error| failed(format!("{program}: {error}")))?;
    if !output.status.success() {
        return Err(failed(format!(
            "{program}: {}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        )));
    }
    let output = String::from_utf8(output.stdout).map_err(|error| failed(error.to_string()))?;
    Ok(output.lines().next().unwrap_or_default().to_owned())
}
