//! The same command once more in Python, whose package `collegial` is this program with PyTorch
//! beside it.

use std::ffi::{OsStr, OsString};
use std::io;
use std::process::{Command, ExitStatus};

use crate::program::arguments::eprint;
use crate::program::failure::Failure;

/// The interpreter, where it is not `python3`.
const INTERPRETER: &str = "COLLEGIAL_PYTHON";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Runs the words of this command, its own name first, by the package's own program, and gives the
/// exit code. Nothing has been computed or written before.
pub fn go_on(words: &[OsString]) -> u8 {
    let python = std::env::var_os(INTERPRETER).unwrap_or_else(|| "python3".into());
    let shown = python.to_string_lossy().into_owned();
    let package = match check(&isolated(&python, ASK).output(), &shown, extra(words)) {
        Ok(package) => package,
        Err(sentence) => {
            let is_plan = |word: &OsString| word.to_string_lossy().split('=').next() == Some("--plan");
            let instead = if words.iter().any(is_plan) {
                "; a plan with --seconds-per-step needs no Python"
            } else {
                ""
            };
            return Failure::User(format!("{sentence}{instead}")).report();
        }
    };
    if !words.iter().any(|word| word == "--quiet" || word == "-q") {
        eprint(&format!("in Python: {package}"));
    }
    let mut command = isolated(&python, RUN);
    command.args(words.iter().skip(1));
    let error = match replace(&mut command) {
        Ok(status) => return status.code().and_then(|code| code.try_into().ok()).unwrap_or(2),
        Err(error) => error,
    };
    Failure::User(format!("cannot run {shown}: {error}")).report()
}

/// An interpreter that imports nothing from the current directory, where a folder `collegial` may be
/// anybody's. Python puts that directory first on the path of `-c` and `-m`. PYTHONSAFEPATH keeps it
/// off from 3.11 on, in processes that this one starts too; the first line does so in 3.10.
fn isolated(python: &OsStr, script: &str) -> Command {
    let mut command = Command::new(python);
    command.env("PYTHONSAFEPATH", "1");
    if let Some(path) = std::env::var_os("PYTHONPATH") {
        match without_empty(&path) {
            Some(path) => command.env("PYTHONPATH", path),
            None => command.env_remove("PYTHONPATH"),
        };
    }
    command
        .arg("-c")
        .arg(format!("import sys; sys.path[:] = [entry for entry in sys.path if entry]\n{script}"));
    command
}

/// A path without its empty parts, which Python takes for the current directory; `None` where no part
/// is left. The processes that the interpreter starts inherit it.
fn without_empty(path: &OsStr) -> Option<OsString> {
    let parts = std::env::split_paths(path).filter(|part| !part.as_os_str().is_empty());
    std::env::join_paths(parts).ok().filter(|path| !path.is_empty())
}

/// Prints the version of the package, the interpreter and the file of the package.
const ASK: &str =
    "import collegial; print(collegial.__version__, sys.executable, collegial.__file__, sep='\\n')";

/// Runs the package as `python -m collegial` does.
const RUN: &str = "import runpy; runpy.run_module('collegial', run_name='__main__', alter_sys=True)";

/// The interpreter and the package that will be used; an error where it is not in our version.
fn check(answer: &io::Result<std::process::Output>, python: &str, extra: &str) -> Result<String, String> {
    let output = match answer {
        Ok(output) => output,
        Err(error) => {
            return Err(format!(
                "PyTorch and ONNX Runtime run in Python, and {python} cannot be run ({error}); {INTERPRETER} names another \
                 interpreter"
            ));
        }
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut lines = text.lines();
    let mut line = || lines.next().unwrap_or_default().to_owned();
    let (version, executable, file) = (line(), line(), line());
    if !output.status.success() {
        return Err(format!(
            "PyTorch and ONNX Runtime run in Python, and {python} has no package collegial; install it with: {python} -m \
             pip install 'collegial[{extra}]', or name another interpreter by {INTERPRETER}"
        ));
    }
    if version != VERSION {
        return Err(format!(
            "PyTorch and ONNX Runtime run in Python, and {python} has collegial {version}; this program is {VERSION}"
        ));
    }
    Ok(format!("collegial {version} of {file}, by {executable}"))
}

/// The package's extra that these words need: that of a runtime, or PyTorch, which trains.
fn extra(words: &[OsString]) -> &'static str {
    let onnx = |pair: &[OsString]| pair[0] == "--runtime" && pair[1] == "onnx";
    if words.windows(2).any(onnx) || words.iter().any(|word| word == "--runtime=onnx") {
        "onnx"
    } else {
        "torch"
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_advice_is_the_extra_that_is_needed() {
        let advised = |line: &str| extra(&line.split(' ').map(Into::into).collect::<Vec<_>>());
        assert_eq!(advised("collegial search resnet50 --cost time --runtime onnx"), "onnx");
        assert_eq!(advised("collegial search resnet50 --cost time --runtime=onnx"), "onnx");
        assert_eq!(advised("collegial search resnet50 --cost time --runtime torch"), "torch");
        assert_eq!(advised("collegial train resnet50 --backend torch"), "torch");
    }

    #[test]
    #[cfg(unix)]
    fn empty_parts_of_a_path_are_left_out() {
        for (path, left) in [
            ("", None),
            ("::", None),
            (":/x", Some("/x")),
            ("/x:", Some("/x")),
            ("/a::/b", Some("/a:/b")),
            (".:/x", Some(".:/x")),
        ] {
            assert_eq!(without_empty(path.as_ref()), left.map(OsString::from), "{path}");
        }
    }

    /// A folder `collegial` in the current directory is not the package.
    #[test]
    #[cfg(unix)]
    fn the_current_directory_is_not_on_the_path() {
        let folder = tempfile::tempdir().unwrap();
        let package = folder.path().join("collegial");
        std::fs::create_dir(&package).unwrap();
        let mark = "open('executed', 'w').close()\n";
        for name in ["__init__.py", "__main__.py"] {
            std::fs::write(package.join(name), mark).unwrap();
        }
        std::fs::write(folder.path().join("runpy.py"), mark).unwrap();
        for script in [ASK, RUN] {
            // Without any Python there is nobody to run the folder either.
            if let Ok(output) = isolated("python3".as_ref(), script).current_dir(folder.path()).output() {
                assert!(!folder.path().join("executed").exists(), "{script}: {output:?}");
            }
        }
        let plain = Command::new("python3").args(["-c", ASK]).current_dir(folder.path()).output();
        assert!(
            plain.is_err() || folder.path().join("executed").exists(),
            "the folder is found without care"
        );
    }
}
