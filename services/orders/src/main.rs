//! The program `orders`.

use std::process::ExitCode;

fn main() -> ExitCode {
    runtime::main::<orders::Orders>()
}
