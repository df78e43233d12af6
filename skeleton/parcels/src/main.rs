//! The program `parcels`.

use std::process::ExitCode;

fn main() -> ExitCode {
    runtime::main::<parcels::Parcels>()
}
