//! Each service runs the queries of its store as another tenant, in `store/other_tenant.rs`. Here we check that the file
//! names all of them.

use std::fs;
use std::path::Path;

use architecture::services;

/// The functions of this file that take a tenant and do not only insert.
fn queries(source: &str) -> impl Iterator<Item = &str> {
    source.split("pub(crate) async fn ").skip(1).filter_map(|function| {
        let (name, rest) = function.split_once('(')?;
        let (parameters, body) = rest.split_once(") -> ")?;
        let takes_a_tenant = parameters.contains("tenant: &TenantId");
        let only_inserts = body.contains("insert_into") && !body.contains("do_update");
        (takes_a_tenant && !only_inserts).then_some(name)
    })
}

/// The text of a module: of its file, or of all files in its folder.
fn source(module: &Path) -> String {
    if module.is_file() {
        return fs::read_to_string(module).unwrap();
    }
    let files = fs::read_dir(module).unwrap().map(|file| fs::read_to_string(file.unwrap().path()).unwrap());
    files.collect()
}

#[test]
fn every_query_of_a_store_that_takes_a_tenant_is_run_as_another_tenant() {
    let (mut found, mut missing) = (0, Vec::new());
    for (service, folder) in services::folders() {
        let before = found;
        let store = folder.join("src/store");
        let test = fs::read_to_string(store.join("other_tenant.rs")).unwrap();
        for file in fs::read_dir(&store).unwrap() {
            let file = file.unwrap().path();
            let module = file.file_stem().unwrap().to_str().unwrap();
            for query in queries(&source(&file)) {
                found += 1;
                let call = format!("{module}::{query}(");
                if !test.contains(&call) {
                    missing.push(format!("{service}: {call}"));
                }
            }
        }
        assert!(found > before, "the store of {service} has no query: was it read?");
    }
    let folders = services::folders().len();
    assert!(found >= 4 * folders + 2, "{found} queries in {folders} stores: were they read?");
    assert!(missing.is_empty(), "store/other_tenant.rs does not run {missing:#?}");
}
