//! The binary `collegial`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().collect();
    collegial::program::main(&words, collegial::backend::Backends::NATIVE).into()
}
