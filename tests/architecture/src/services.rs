//! The services of this project: one folder each below `services/`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The folder of all services.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../services")
}

/// The names of the services, sorted. A rule that holds for each service asks this list, so that it holds for a new one.
///
/// # Errors
/// The folder cannot be read.
pub fn names() -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder())? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}
