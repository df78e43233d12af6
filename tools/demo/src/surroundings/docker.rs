//! The command `docker`, in the folder that the demo runs in.

use tokio::process::Command;

use super::Told;
use crate::trouble::Trouble;

/// What docker-compose.yml reads from the environment, beside what the demo was started with.
pub(super) type Variables<'a> = &'a [(&'a str, &'a str)];

/// What it prints.
pub(super) async fn docker(arguments: &[&str], variables: Variables<'_>) -> Result<String, Trouble> {
    let told = tell(arguments, variables).await?;
    if told.done { Ok(told.text) } else { Err(failed(arguments, told.text)) }
}

/// What it prints, and whether it has done what it was asked.
pub(super) async fn tell(arguments: &[&str], variables: Variables<'_>) -> Result<Told, Trouble> {
    let output = Command::new("docker").args(arguments).envs(variables.iter().copied()).output().await;
    let output = output.map_err(|error| failed(arguments, error.to_string()))?;
    Ok(Told::of(&output))
}

fn failed(arguments: &[&str], output: String) -> Trouble {
    Trouble::Outside { command: format!("docker {}", arguments.join(" ")), output }
}
