//! `embed_migrations!` does not see that a folder was added. This crate, and all that depend on it, are then compiled again.

fn main() {
    println!("cargo:rerun-if-changed=../../migrations");
}
