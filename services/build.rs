//! Writes the list of the services: one for each folder with a crate.

use std::collections::BTreeMap;
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
    let skeleton = root.join("../skeleton");
    let list = format!(
        "/// All services, by port.\npub static ALL: {};\n
         /// The service that `./dev add-service` copies; nothing runs it but its own tests.\npub static SKELETON: {};",
        services(&root)?,
        if skeleton.exists() { services(&skeleton)? } else { "[Service; 0] = []".to_owned() }
    );
    fs::write(Path::new(&env::var("OUT_DIR")?).join("services.rs"), list)?;
    Ok(())
}

/// The type and the value of the list of the services in a folder, by port.
fn services(folder: &Path) -> Result<String, Box<dyn Error>> {
    let mut services = BTreeMap::new();
    for folder in entries(folder)? {
        if folder.join("Cargo.toml").exists() {
            let (port, service) =
                service(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
            if services.insert(port, service).is_some() {
                return Err(format!("{}: another service has its port", folder.display()).into());
            }
        }
    }
    let (number, services) = (services.len(), services.into_values().collect::<String>());
    Ok(format!("[Service; {number}] = [{services}]"))
}

/// The port of a service, and the expression of its description.
fn service(folder: &Path) -> Result<(u16, String), Box<dyn Error>> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let parent = folder.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    if !name.chars().all(|letter| letter.is_ascii_lowercase()) {
        return Err(
            "the name of a service has small letters only, because variables and SQL contain it".into()
        );
    }
    for watched in ["service.toml", "audits"] {
        println!("cargo::rerun-if-changed={}", folder.join(watched).display());
    }
    let description = fs::read_to_string(folder.join("service.toml"));
    let description = description.map_err(|error| format!("service.toml: {error}"))?;
    let Description { port, reads, scopes } = toml::from_str(&description)?;
    let (mut audits, mut explain) = (String::new(), String::new());
    let files = entries(&folder.join("audits"))?.into_iter();
    for file in files.filter(|file| file.extension().is_some_and(|suffix| suffix == "sql")) {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let text = format!("include_str!({:?})", file.to_string_lossy());
        match &*stem {
            "explain" => explain = text,
            _ => write!(audits, "(\"{parent}/{name}/audits/{stem}.sql\", {text}),")?,
        }
    }
    if explain.is_empty() {
        return Err("audits/explain.sql is missing".into());
    }
    let service = format!(
        "Service {{ name: {name:?}, port: {port}, reads: &{reads:?}, scopes: &{scopes:?}, audits: &[{audits}], explain: {explain} }},"
    );
    Ok((port, service))
}

/// The entries of a folder, by name.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let entries: Result<Vec<_>, _> = fs::read_dir(folder)?.map(|entry| entry.map(|it| it.path())).collect();
    let mut entries = entries?;
    entries.sort();
    Ok(entries)
}
