//! `profile = "…"` in a target file: the rules of a protocol. What the file says itself comes before its profile.

use toml::{Table, Value};

use super::TargetError;

/// The profiles, by name.
const PROFILES: [(&str, &str); 1] = [("acp", include_str!("../../profiles/acp.toml"))];

/// Adds the members of the file's profile that the file does not have.
pub(super) fn apply(file: &mut Table) -> Result<(), TargetError> {
    let Some(name) = file.remove("profile") else { return Ok(()) };
    let known = PROFILES.iter().find(|(known, _)| name.as_str() == Some(*known));
    let Some((_, text)) = known else {
        let names = PROFILES.map(|(name, _)| name).join(", ");
        return Err(TargetError::Value(format!("there is no profile {name}: the profiles are {names}")));
    };
    let own = std::mem::replace(file, toml::from_str(text)?);
    overlay(file, own);
    Ok(())
}

fn overlay(base: &mut Table, over: Table) {
    for (name, value) in over {
        match (base.get_mut(&name), value) {
            (Some(Value::Table(base)), Value::Table(over)) => overlay(base, over),
            (_, value) => {
                base.insert(name, value);
            }
        }
    }
}
