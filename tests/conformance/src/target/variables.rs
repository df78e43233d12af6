//! `${NAME}` in a target file: values from the environment, from the file, or printed by a command.

use std::collections::BTreeMap;
use std::process::Command;

use serde::Deserialize;

use super::TargetError;

/// A default of a variable.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum Default {
    /// The value.
    Text(String),
    /// The value is what this command prints. `{run}` in an argument is different in each run.
    Printed { command: Vec<String> },
}

/// Replaces each `${NAME}`. `given` comes before the environment, the environment before the defaults.
pub(super) fn replace(
    text: &str,
    given: &BTreeMap<String, String>,
    defaults: &BTreeMap<String, Default>,
    run: &str,
) -> Result<String, TargetError> {
    let mut known = given.clone();
    let (mut replaced, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, after)) = rest.split_once("${") {
        let (name, after) = after.split_once('}').ok_or(TargetError::Unclosed)?;
        if !known.contains_key(name) {
            known.insert(name.to_owned(), value(name, defaults, run)?);
        }
        replaced.push_str(before);
        replaced.push_str(&known[name]);
        rest = after;
    }
    replaced.push_str(rest);
    Ok(replaced)
}

fn value(name: &str, defaults: &BTreeMap<String, Default>, run: &str) -> Result<String, TargetError> {
    if let Ok(value) = std::env::var(name) {
        return Ok(value);
    }
    match defaults.get(name) {
        Some(Default::Text(text)) => Ok(text.clone()),
        Some(Default::Printed { command }) => printed(name, command, run),
        None => Err(TargetError::Unset(name.to_owned())),
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
