#![doc = include_str!("README.md")]

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, io};

/// A service, as its folder describes it.
#[derive(Debug)]
pub struct Service {
    /// The name of its folder, its crate, its program and its database.
    pub name: &'static str,
    /// The port of its first process, counted from `IDEM_PORT_BASE`.
    pub port: u16,
    /// The services whose events it consumes.
    pub reads: &'static [&'static str],
    /// The scopes of its operations.
    pub scopes: &'static [&'static str],
    /// The questions about its own tables: file and text.
    pub audits: &'static [(&'static str, &'static str)],
    /// The statement that returns what it knows about an order.
    pub explain: &'static str,
}

/// A program that runs beside a service and stands for another system: with a database, without events.
#[derive(Debug)]
pub struct Beside {
    /// The name of its part and of its database.
    pub name: &'static str,
    /// The name of its program, and of its folder in `tools`.
    pub program: &'static str,
    /// Its port, counted from `IDEM_PORT_BASE`.
    pub port: u16,
    /// The questions about its tables: file and text.
    pub audits: &'static [(&'static str, &'static str)],
    /// The statement that returns what it knows about an order.
    pub explain: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/services.rs"));

/// The scopes of all operations, separated by spaces.
pub fn scopes() -> String {
    let scopes: Vec<&str> = ALL.iter().flat_map(|service| service.scopes).copied().collect();
    scopes.join(" ")
}

/// The service of this name. The skeleton is one, too.
pub fn named(name: &str) -> Option<&'static Service> {
    ALL.iter().chain(&SKELETON).find(|service| service.name == name)
}

/// Of a build script: writes `NAME.rs`, which calls the macro `service_modules!` with the name of each service that has `e2e/NAME.rs` or
/// `e2e/NAME/mod.rs` in its folder, and with the path of that file, by the name of the service.
///
/// # Errors
/// The output folder cannot be written.
pub fn write_modules(name: &str) -> io::Result<()> {
    let mut services: Vec<_> = ALL.iter().map(|service| service.name).collect();
    services.sort_unstable();
    let mut call = "service_modules! {".to_owned();
    for service in services {
        let folder = folder(service).join("e2e");
        let files = [folder.join(format!("{name}.rs")), folder.join(name).join("mod.rs")];
        let found = files.iter().find(|path| path.exists());
        // A file that is not there yet appears in the nearest folder.
        let nearest = || folder.ancestors().find(|folder| folder.exists()).unwrap_or(&folder);
        println!(
            "cargo::rerun-if-changed={}",
            found.map_or_else(nearest, std::path::PathBuf::as_path).display()
        );
        if let Some(path) = found {
            let _ = write!(call, " {service} \"{}\"", path.display());
        }
    }
    let output = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("this is not a build script"))?;
    fs::write(Path::new(&output).join(format!("{name}.rs")), format!("{call} }}\n"))
}

/// The folder of a service.
fn folder(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Its configuration, the containers and `./dev` name the same port. Second processes have 11 and more.
    #[test]
    fn every_service_has_the_port_of_its_configuration() {
        for Service { name, port, .. } in &ALL {
            let is_free = BESIDE.iter().all(|program| program.port != *port);
            assert!((1..10).contains(port) && is_free, "{name}: {port}");
            let config = fs::read_to_string(folder(name).join("config.toml")).unwrap();
            assert!(config.contains(&format!("[http]\nport = {}\n", 8080 + port)), "{name}: {port}");
        }
    }

    #[test]
    fn what_a_service_reads_is_a_service() {
        for service in &ALL {
            assert!(
                service.reads.iter().all(|read| ALL.iter().any(|it| it.name == *read)),
                "{}",
                service.name
            );
        }
    }
}
