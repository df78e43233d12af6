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
    use std::path::Path;

    use super::*;

    /// Its configuration, the containers and `./dev` name the same port. Another program has 4, and second processes have 11 and more.
    #[test]
    fn every_service_has_the_port_of_its_configuration() {
        for Service { name, port, .. } in &ALL {
            assert!((1..10).contains(port) && *port != 4, "{name}: {port}");
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
            let config = std::fs::read_to_string(folder.join("config.toml")).unwrap();
            assert!(config.contains(&format!("[http]\nport = {}\n", 8080 + port)), "{name}: {port}");
        }
    }

    #[test]
    fn what_a_service_reads_is_a_service() {
        for service in &ALL {
            assert!(service.reads.iter().all(|read| named(read).is_some()), "{}", service.name);
        }
    }
}
