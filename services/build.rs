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
    #[serde(default)]
    beside: BTreeMap<String, Beside>,
    /// For `./dev`.
    #[serde(default)]
    settings: BTreeMap<String, BTreeMap<String, String>>,
}

/// A program that runs beside a service.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Beside {
    program: String,
    port: u16,
    #[serde(rename = "sections")]
    _sections: Vec<String>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    // A new service is a new crate. The sources of the services are not watched: all that depends on this list would be built again.
    println!("cargo::rerun-if-changed=../Cargo.lock");
    let skeleton = root.join("../skeleton");
    let mut beside = BTreeMap::new();
    let all = services(&root, &mut beside)?;
    let skeleton = if skeleton.exists() {
        services(&skeleton, &mut BTreeMap::new())?
    } else {
        "[Service; 0] = []".to_owned()
    };
    let (number, beside) = (beside.len(), beside.into_values().collect::<String>());
    let list = format!(
        "/// All services, by port.\npub static ALL: {all};\n
         /// The service that `./dev add-service` copies; nothing runs it but its own tests.\npub static SKELETON: {skeleton};\n
         /// The programs that run beside services, by port.\npub static BESIDE: [Beside; {number}] = [{beside}];"
    );
    fs::write(Path::new(&env::var("OUT_DIR")?).join("services.rs"), list)?;
    Ok(())
}

/// The type and the value of the list of the services in a folder, by port.
fn services(folder: &Path, beside: &mut BTreeMap<u16, String>) -> Result<String, Box<dyn Error>> {
    let mut services = BTreeMap::new();
    for folder in entries(folder)? {
        if folder.join("Cargo.toml").exists() {
            let (port, service) =
                service(&folder, beside).map_err(|error| format!("{}: {error}", folder.display()))?;
            if services.insert(port, service).is_some() {
                return Err(format!("{}: another service has its port", folder.display()).into());
            }
        }
    }
    let (number, services) = (services.len(), services.into_values().collect::<String>());
    Ok(format!("[Service; {number}] = [{services}]"))
}

/// The port of a service, and the expression of its description.
fn service(folder: &Path, programs: &mut BTreeMap<u16, String>) -> Result<(u16, String), Box<dyn Error>> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let parent = folder.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    if !name.chars().all(|letter| letter.is_ascii_lowercase()) {
        return Err(
            "the name of a service has small letters only, because variables and SQL contain it".into()
        );
    }
    println!("cargo::rerun-if-changed={}", folder.join("service.toml").display());
    let description = fs::read_to_string(folder.join("service.toml"));
    let description = description.map_err(|error| format!("service.toml: {error}"))?;
    let Description { port, reads, scopes, beside, settings } = toml::from_str(&description)?;
    if let Some(part) = settings.keys().find(|part| *part != &name && !beside.contains_key(*part)) {
        return Err(format!("settings.{part}: the service describes no such part").into());
    }
    for (name, Beside { program, port, .. }) in beside {
        let tool = folder.join("../../tools").join(&program);
        let questions = questions(&tool, &format!("tools/{program}"))?;
        let beside = format!("Beside {{ name: {name:?}, program: {program:?}, port: {port}, {questions} }},");
        if programs.insert(port, beside).is_some() {
            return Err(format!("{name}: another program has its port").into());
        }
    }
    let questions = questions(folder, &format!("{parent}/{name}"))?;
    let service = format!(
        "Service {{ name: {name:?}, port: {port}, reads: &{reads:?}, scopes: &{scopes:?}, {questions} }},"
    );
    Ok((port, service))
}

/// The members `audits` and `explain`, from the files of the folder `audits`.
fn questions(folder: &Path, name: &str) -> Result<String, Box<dyn Error>> {
    println!("cargo::rerun-if-changed={}", folder.join("audits").display());
    let (mut audits, mut explain) = (String::new(), String::new());
    let files = entries(&folder.join("audits"))?.into_iter();
    for file in files.filter(|file| file.extension().is_some_and(|suffix| suffix == "sql")) {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let text = format!("include_str!({:?})", file.to_string_lossy());
        match &*stem {
            "explain" => explain = text,
            _ => write!(audits, "(\"{name}/audits/{stem}.sql\", {text}),")?,
        }
    }
    if explain.is_empty() {
        return Err(format!("{name}/audits/explain.sql is missing").into());
    }
    Ok(format!("audits: &[{audits}], explain: {explain}"))
}

/// The entries of a folder, by name.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let entries: Result<Vec<_>, _> = fs::read_dir(folder)?.map(|entry| entry.map(|it| it.path())).collect();
    let mut entries = entries?;
    entries.sort();
    Ok(entries)
}
