#![doc = include_str!("../README.md")]

mod audit;
mod explain;
mod sources;
mod table;

pub use audit::Audit;
pub use explain::Explain;
pub use sources::Sources;

/// The output of a command, and whether all is well.
type Output = (String, bool);

/// Writes JSON with a line break at its end.
fn as_json(value: &impl serde::Serialize) -> String {
    // The values are structs of texts and numbers, which JSON has.
    let json =
        serde_json::to_string_pretty(value).unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}"));
    format!("{json}\n")
}
