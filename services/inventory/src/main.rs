//! The program `inventory`.

use std::process::ExitCode;

fn main() -> ExitCode {
    runtime::main::<inventory::Inventory>()
}
