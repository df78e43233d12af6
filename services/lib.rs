#![doc = include_str!("README.md")]

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

include!(concat!(env!("OUT_DIR"), "/services.rs"));

/// The scopes of all operations, separated by spaces.
pub fn scopes() -> String {
    let scopes: Vec<&str> = ALL.iter().flat_map(|service| service.scopes).copied().collect();
    scopes.join(" ")
}

/// The service of this name.
pub fn named(name: &str) -> Option<&'static Service> {
    ALL.iter().find(|service| service.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_folder_with_a_crate_is_a_service_with_a_port_of_its_own() {
        let folders = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        let paths = folders.map(|folder| folder.unwrap().path());
        let crates = paths.filter(|path| path.join("Cargo.toml").exists());
        let found: BTreeSet<String> =
            crates.map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect();
        assert_eq!(ALL.iter().map(|service| service.name.to_owned()).collect::<BTreeSet<_>>(), found);
        let ports: BTreeSet<u16> = ALL.iter().map(|service| service.port).collect();
        assert_eq!(ports.len(), ALL.len());
    }

    #[test]
    fn what_a_service_reads_is_a_service() {
        for service in &ALL {
            assert!(service.reads.iter().all(|read| named(read).is_some()), "{}", service.name);
        }
    }
}
