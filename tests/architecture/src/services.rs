//! The services of this project: one folder each below `services/`.

use std::path::{Path, PathBuf};

/// The folder of all services.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../services")
}

/// The names of the services, sorted. A rule that holds for each service asks this list, so that it holds for a new one.
pub fn names() -> Vec<String> {
    ::services::ALL.iter().map(|service| service.name.to_owned()).collect()
}
