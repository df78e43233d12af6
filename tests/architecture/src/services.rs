//! The services of this project: one folder each below `services/`.

use std::path::{Path, PathBuf};

/// The folder of all services.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../services")
}

/// The folders of the services, and that of the skeleton, with their names. A rule for sources asks this list.
pub fn folders() -> Vec<(&'static str, PathBuf)> {
    let services = ::services::ALL.iter().map(|service| (service.name, folder().join(service.name)));
    let skeletons = ::services::SKELETON.iter();
    let skeletons = skeletons.map(|service| (service.name, folder().join("../skeleton").join(service.name)));
    services.chain(skeletons).collect()
}

/// The names of the services, sorted. A rule that holds for each service asks this list, so that it holds for a new one.
pub fn names() -> Vec<String> {
    ::services::ALL.iter().map(|service| service.name.to_owned()).collect()
}
