//! Finds the steps of each service in its folder.

fn main() -> std::io::Result<()> {
    services::write_modules("demo")
}
