//! Finds the step of each service in its folder.

fn main() -> std::io::Result<()> {
    services::write_modules("e2e/demo.rs")
}
