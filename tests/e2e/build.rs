//! Finds what each service adds to the tests in its folder.

fn main() -> std::io::Result<()> {
    for name in ["stack", "contract", "journey", "alerts", "drills"] {
        services::write_modules(name)?;
    }
    Ok(())
}
