//! Finds the client of each service in its folder.

fn main() -> std::io::Result<()> {
    services::write_modules("client")
}
