//! Compares the files in `openapi/` with what the programs print.

use std::path::Path;
use std::process::Command;

/// Fails unless `openapi/NAME.json` is exactly what `program openapi` prints. The message has the command that renews it.
pub fn assert_document_is_fresh(program: &str, name: &str) {
    let printed = Command::new(program).arg("openapi").output().unwrap();
    assert!(printed.status.success(), "{name} openapi failed: {}", String::from_utf8_lossy(&printed.stderr));
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../openapi").join(format!("{name}.json"));
    let stored = std::fs::read(&file).unwrap_or_default();
    assert!(
        stored == printed.stdout,
        "openapi/{name}.json is stale; renew it with: cargo run -p {name} -- openapi > openapi/{name}.json"
    );
}
