//! Writes the list of the services: one for each folder with a `service.toml`.

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use serde::Deserialize;

/// `service.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    port: u16,
    reads: Vec<String>,
    scopes: Vec<String>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    // A new service is a new crate. The sources of the services are not watched: all that depends on this list would be built again.
    println!("cargo::rerun-if-changed=../Cargo.lock");
    let mut services = Vec::new();
    for folder in entries(&root)? {
        if folder.join("service.toml").exists() {
            services.push(service(&folder).map_err(|error| format!("{}: {error}", folder.display()))?);
        }
    }
    let list = format!(
        "/// All services, by name.\npub static ALL: [Service; {}] = [{}];",
        services.len(),
        services.concat()
    );
    fs::write(Path::new(&env::var("OUT_DIR")?).join("services.rs"), list)?;
    Ok(())
}

/// The expression of one service.
fn service(folder: &Path) -> Result<String, Box<dyn Error>> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    for watched in ["service.toml", "audits"] {
        println!("cargo::rerun-if-changed={name}/{watched}");
    }
    let Description { port, reads, scopes } =
        toml::from_str(&fs::read_to_string(folder.join("service.toml"))?)?;
    let (mut audits, mut explain) = (String::new(), String::new());
    for file in entries(&folder.join("audits"))? {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let text = format!("include_str!({:?})", file.to_string_lossy());
        match &*stem {
            "explain" => explain = text,
            _ => write!(audits, "(\"services/{name}/audits/{stem}.sql\", {text}),")?,
        }
    }
    if explain.is_empty() {
        return Err("audits/explain.sql is missing".into());
    }
    Ok(format!(
        "Service {{ name: {name:?}, port: {port}, reads: &{reads:?}, scopes: &{scopes:?}, audits: &[{audits}], explain: {explain} }},"
    ))
}

/// The entries of a folder, by name.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let entries: Result<Vec<_>, _> = fs::read_dir(folder)?.map(|entry| entry.map(|it| it.path())).collect();
    let mut entries = entries?;
    entries.sort();
    Ok(entries)
}
