//! Compares the files in `openapi/` with what the programs print, and with the routes that keys are stored under.

use std::path::{Path, PathBuf};
use std::process::Command;

use diesel::QueryableByName;
use diesel::sql_types::Text;
use diesel_async::RunQueryDsl;
use serde_json::Value;

use crate::TestDatabase;

/// The document of a service, and its examples. The skeleton keeps both in its folder.
fn files(name: &str) -> [PathBuf; 2] {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let skeleton = root.join("skeleton").join(name);
    if skeleton.exists() {
        return ["openapi.json", "examples.json"].map(|file| skeleton.join(file));
    }
    [format!("openapi/{name}.json"), format!("services/{name}/examples.json")].map(|file| root.join(file))
}

/// Fails unless `openapi/NAME.json` is exactly what devtool makes of the routes that the program describes. `./dev test` builds devtool
/// beside the program.
pub fn assert_document_is_fresh(program: &str, name: &str) {
    let [document, examples] = files(name);
    let devtool = Path::new(program).with_file_name("devtool");
    let completed =
        Command::new(devtool).arg("openapi").args([Path::new(program), &examples]).output().unwrap();
    assert!(completed.status.success(), "{name}: {}", String::from_utf8_lossy(&completed.stderr));
    let stored = std::fs::read(document).unwrap_or_default();
    assert!(stored == completed.stdout, "openapi/{name}.json is stale; renew it with: ./dev openapi {name}");
}

#[derive(QueryableByName)]
struct StoredRoute {
    #[diesel(sql_type = Text)]
    command: String,
}

/// Fails unless the commands with a key in `openapi/NAME.json` are exactly these, and their keys are stored under these routes.
///
/// A key counts for its route only. A new name of a route, or of a parameter in it, would forget each key: a retry that arrives
/// after the deployment would take effect again. Each command must have been executed before.
pub async fn assert_keyed_commands(database: &TestDatabase, name: &str, expected: &[&str]) {
    let [document, _] = files(name);
    let document: Value = serde_json::from_slice(&std::fs::read(document).unwrap()).unwrap();
    let has_key = |operation: &Value| {
        let parameters = operation["parameters"].as_array();
        parameters.is_some_and(|all| all.iter().any(|parameter| parameter["name"] == "Idempotency-Key"))
    };
    let mut documented = Vec::new();
    for (route, methods) in document["paths"].as_object().unwrap() {
        let keyed = methods.as_object().unwrap().iter().filter(|(_, operation)| has_key(operation));
        documented.extend(keyed.map(|(method, _)| format!("{} {route}", method.to_uppercase())));
    }
    documented.sort_unstable();
    assert_eq!(documented, expected, "the commands of openapi/{name}.json");

    let stored = "SELECT DISTINCT method || ' ' || route AS command FROM idempotency_record";
    let stored: Vec<StoredRoute> = diesel::sql_query(stored).load(&mut database.owner().await).await.unwrap();
    let mut stored: Vec<String> = stored.into_iter().map(|row| row.command).collect();
    stored.sort_unstable();
    assert_eq!(stored, expected, "the routes that keys are stored under");
}
