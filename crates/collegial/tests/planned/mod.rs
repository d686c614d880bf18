//! The program in a directory with data, for plans and their jobs.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use collegial_experiments::synthetic;
use serde_json::Value;

/// A directory with a small data set, and the program in it.
pub struct Bench {
    root: tempfile::TempDir,
}

impl Bench {
    pub fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        synthetic::write_digits(&root.path().join("data"), 200, 60, 0).unwrap();
        Self { root }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_collegial"));
        command.args(words).args(["--quiet", "--threads", "1"]).current_dir(self.root.path());
        command
    }

    pub fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    /// Runs, which must succeed, and reads what was printed.
    pub fn json(&self, words: &[&str]) -> Value {
        let output = self.run(&[words, &["--json"]].concat());
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

/// A file that must be there.
pub fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
