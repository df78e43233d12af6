//! docs/clients.md shows the retry policy of each client as it is.

use std::fs;
use std::path::Path;

#[test]
fn the_retry_policies_in_the_documentation_are_the_code() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("docs/clients.md")).unwrap();
    let policies = [
        "python/retries.py",
        "typescript/retries.ts",
        "go/retries.go",
        "java/Retries.java",
        "rust/retries.rs",
    ];
    for policy in policies {
        let code = fs::read_to_string(root.join("tests/clients").join(policy)).unwrap();
        assert!(page.contains(&format!("\n{code}```\n")), "docs/clients.md does not have {policy} as it is");
    }
}
