//! The program `payments`.

use std::process::ExitCode;

fn main() -> ExitCode {
    runtime::main::<payments::Payments>()
}
