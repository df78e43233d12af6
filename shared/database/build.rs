//! `embed_migrations!` does not see that a folder was added. This crate, and all that depend on it, are then compiled again.

use std::path::Path;

fn main() {
    // Those of all services. The published crate has its own alone.
    let all = Path::new("../../migrations");
    let watched = if all.exists() { all } else { Path::new("migrations") };
    println!("cargo:rerun-if-changed={}", watched.display());
}
