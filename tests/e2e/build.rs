//! Finds the modules that each service has for the tests here.

fn main() -> std::io::Result<()> {
    for name in ["stack", "contract", "journey", "alerts", "drills"] {
        services::write_modules(name)?;
    }
    Ok(())
}
