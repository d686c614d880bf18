//! Virtual environments under `target/`, with the wheel of this tree in them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{Failed, run};

/// Says 3.10 or later, and whether it can make environments.
const CHECK: &str = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))";

/// An interpreter of at least 3.10.
pub struct Python(String);

impl Python {
    /// The one that PYTHON names, or the first that is found.
    pub fn find() -> Option<Self> {
        let named = std::env::var("PYTHON").ok();
        let usual =
            ["python3", "python", "python3.14", "python3.13", "python3.12", "python3.11", "python3.10"];
        let candidates: Vec<String> =
            named.map_or_else(|| usual.map(ToOwned::to_owned).to_vec(), |named| vec![named]);
        let works = |name: &String| {
            let mut command = Command::new(name);
            command.args(["-c", CHECK]).stdout(Stdio::null()).stderr(Stdio::null());
            command.status().is_ok_and(|status| status.success())
        };
        candidates.into_iter().find(works).map(Self)
    }
}

/// A virtual environment.
pub struct Environment {
    python: PathBuf,
}

impl Environment {
    /// The environment of a name with what a file of requirements lists, made anew where the file
    /// has changed since.
    pub fn new(python: &Python, name: &str, requirements: &str, options: &[&str]) -> Result<Self, Failed> {
        let folder = Path::new("target").join(name);
        let bin = if cfg!(windows) { "Scripts" } else { "bin" };
        let environment = Self { python: folder.join(bin).join("python") };
        let stamp = folder.join("installed.txt");
        let wanted = std::fs::read_to_string(requirements).map_err(|error| {
            eprintln!("xtask: cannot read {requirements}: {error}");
            Failed
        })?;
        if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
            return Ok(environment);
        }
        eprintln!("xtask: installing {requirements} into {}", folder.display());
        run(Command::new(&python.0).args(["-m", "venv", "--clear"]).arg(&folder))?;
        environment.pip(&[options, &["--requirement", requirements]].concat())?;
        std::fs::write(&stamp, wanted).map_err(|error| {
            eprintln!("xtask: cannot write {}: {error}", stamp.display());
            Failed
        })?;
        Ok(environment)
    }

    /// What `pip install .` makes of this tree.
    pub fn install_wheel(&self) -> Result<(), Failed> {
        eprintln!("xtask: building and installing the wheel");
        self.pip(&["--no-deps", "--force-reinstall", "."])
    }

    /// Runs tests; they compare the wheel and other people's engines with the programs that Cargo
    /// built into a folder.
    pub fn pytest(&self, built: &Path, arguments: &[&str]) -> Result<(), Failed> {
        let mut command = Command::new(&self.python);
        command.args(["-m", "pytest"]).args(arguments);
        run(command.env("COLLEGIAL", built.join("collegial")).env("COLLEGIAL_TARGET", built))
    }

    fn pip(&self, arguments: &[&str]) -> Result<(), Failed> {
        let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        run(Command::new(&self.python).args(install).args(arguments))
    }
}
