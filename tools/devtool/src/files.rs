//! Files that a reader sees complete or not at all.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::Result;

pub(crate) fn make_folder(dir: &Path) -> Result<()> {
    fs::create_dir_all(dir).map_err(|error| format!("cannot create {}: {error}", dir.display()))
}

/// Writes a temporary file and renames it.
pub(crate) fn write(path: &Path, mode: u32, content: &[u8]) -> Result<()> {
    let aside = path.with_extension("new");
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(mode)
        .open(&aside)
        .and_then(|mut file| file.write_all(content))
        .and_then(|()| fs::rename(&aside, path))
        .map_err(|error| format!("cannot write {}: {error}", path.display()))
}
