//! The same command once more in Python, whose package `collegial` is this program with PyTorch
//! beside it.

use std::ffi::OsString;
use std::io;
use std::process::{Command, ExitStatus};

use crate::program::failure::Failure;

/// The interpreter, where it is not `python3`.
const INTERPRETER: &str = "COLLEGIAL_PYTHON";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Runs the words of this command, its own name first, by `python3 -m collegial`, and gives the
/// exit code. Nothing has been computed or written before.
pub fn go_on(words: &[OsString]) -> u8 {
    let python = std::env::var_os(INTERPRETER).unwrap_or_else(|| "python3".into());
    let shown = python.to_string_lossy().into_owned();
    if let Err(sentence) = check(&Command::new(&python).args(["-c", ASK]).output(), &shown) {
        let is_plan = |word: &OsString| word.to_string_lossy().split('=').next() == Some("--plan");
        let instead =
            if words.iter().any(is_plan) { "; a plan with --seconds-per-step needs no Python" } else { "" };
        return Failure::User(format!("{sentence}{instead}")).report();
    }
    let mut command = Command::new(&python);
    command.args(["-m", "collegial"]).args(words.iter().skip(1));
    let error = match replace(&mut command) {
        Ok(status) => return status.code().and_then(|code| code.try_into().ok()).unwrap_or(2),
        Err(error) => error,
    };
    Failure::User(format!("cannot run {shown}: {error}")).report()
}

/// Prints the version of the package.
const ASK: &str = "import collegial; print(collegial.__version__)";

/// Whether an interpreter has the package in our version.
fn check(answer: &io::Result<std::process::Output>, python: &str) -> Result<(), String> {
    let output = match answer {
        Ok(output) => output,
        Err(error) => {
            return Err(format!(
                "the torch engine runs in Python, and {python} cannot be run ({error}); {INTERPRETER} names another \
                 interpreter"
            ));
        }
    };
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if !output.status.success() {
        return Err(format!(
            "the torch engine runs in Python, and {python} has no package collegial; install it with: {python} -m \
             pip install 'collegial[torch]', or name another interpreter by {INTERPRETER}"
        ));
    }
    if version != VERSION {
        return Err(format!(
            "the torch engine runs in Python, and {python} has collegial {version}; this program is {VERSION}"
        ));
    }
    Ok(())
}

/// In place of this process, so that signals reach it.
#[cfg(unix)]
fn replace(command: &mut Command) -> io::Result<ExitStatus> {
    use std::os::unix::process::CommandExt;
    Err(command.exec())
}

/// Where processes cannot be replaced this one waits.
#[cfg(not(unix))]
fn replace(command: &mut Command) -> io::Result<ExitStatus> {
    command.status()
}
