//! The binary `collegial`.

use std::process::ExitCode;

fn main() -> ExitCode {
    collegial::program::main(&std::env::args_os().collect::<Vec<_>>()).into()
}
