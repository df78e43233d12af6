//! Finds the tests of this program in the folders of the services.

fn main() -> std::io::Result<()> {
    services::write_modules("operator")
}
