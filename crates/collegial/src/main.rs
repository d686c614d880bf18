//! The binary `collegial`.

use std::process::ExitCode;

use collegial::backend::Backends;
use collegial::runtime::Runtimes;

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().collect();
    collegial::program::main(&words, Backends::NATIVE, Runtimes::NATIVE).into()
}
