//! What is done under bad luck, and what must come out.

#[path = "../../../crates/train/tests/common/mod.rs"]
mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Files by name, or what is compared of them.
pub type Bits = BTreeMap<String, Vec<u8>>;

/// A command that is given again until it succeeds.
pub trait Work {
    /// For people.
    fn name(&self) -> &'static str;
    /// The command, whose results go to a directory.
    fn command(&self, directory: &Path) -> Command;
    /// What is compared.
    fn result(&self, directory: &Path) -> Result<Bits, String>;
    /// Whether it is struck by more than kills: whether it keeps anything between two commands.
    fn takes_trouble(&self) -> bool {
        false
    }

    /// What has to be there before the first command; nothing for most.
    fn prepare(&self, _directory: &Path) -> Result<(), String> {
        Ok(())
    }

    /// Gives the command, which must succeed.
    fn finish(&self, directory: &Path) -> Result<(), String> {
        succeed(self.name(), &mut self.command(directory))
    }
}

/// Runs a command that must succeed.
fn succeed(name: &str, command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if output.status.success() { Ok(()) } else { Err(format!("{name} did not end well: {said}")) }
}

/// A work, what comes of it when nothing happens to it, and how long that takes.
pub struct Known {
    pub work: Box<dyn Work>,
    pub expected: Bits,
    pub time: Duration,
}

impl Known {
    /// Does the work once.
    pub fn of(work: Box<dyn Work>, root: &Path) -> Result<Self, String> {
        let directory = root.join(format!("undisturbed-{}", work.name().replace(' ', "-")));
        std::fs::create_dir_all(&directory).map_err(|error| error.to_string())?;
        work.prepare(&directory)?;
        let start = Instant::now();
        work.finish(&directory)?;
        let time = start.elapsed();
        Ok(Self { expected: work.result(&directory)?, work, time })
    }
}

fn quiet(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// A training of a small network with batch norms, a checkpoint every other step.
pub struct Training {
    program: PathBuf,
    root: PathBuf,
}

impl Training {
    /// Writes its data.
    pub fn new(program: &Path, root: &Path) -> Result<Self, String> {
        common::write_data(&root.join("data"), 400, 100);
        std::fs::write(root.join("small.toml"), common::NETWORK).map_err(|error| error.to_string())?;
        Ok(Self { program: program.to_owned(), root: root.to_owned() })
    }

    /// The files of the newest checkpoint, by which a run goes on.
    pub fn newest(directory: &Path) -> Option<PathBuf> {
        let number =
            |path: &Path| path.file_name()?.to_str()?.strip_prefix("checkpoint-")?.parse::<u64>().ok();
        let entries = std::fs::read_dir(directory).ok()?.filter_map(Result::ok);
        entries
            .map(|entry| entry.path())
            .filter(|path| number(path).is_some())
            .max_by_key(|path| number(path))
    }
}

impl Work for Training {
    fn name(&self) -> &'static str {
        "training"
    }

    fn command(&self, directory: &Path) -> Command {
        let mut command = quiet(&self.program);
        command.current_dir(&self.root).args(["train", "small.toml", "--data", "data", "--epochs", "8"]);
        command.args(["--set", "batch=20", "--set", "learning_rate=0.01", "--save-every", "2"]);
        command.args(["--threads", "1", "--seed", "5", "--quiet", "--resume", "--out"]).arg(directory);
        command
    }

    /// The tensors of network and optimiser. The headers before them tell how many checkpoints
    /// there were, which kills change.
    fn result(&self, directory: &Path) -> Result<Bits, String> {
        let newest = Self::newest(directory).ok_or("training left no checkpoint")?;
        let tensors = |name: &str| {
            let bytes = std::fs::read(newest.join(name)).map_err(|error| error.to_string())?;
            let length = bytes.first_chunk().map_or(0, |length| u64::from_le_bytes(*length)) as usize;
            let tensors = bytes.get(8 + length..).ok_or_else(|| format!("{name} has no tensors"))?;
            Ok((name.to_owned(), tensors.to_vec()))
        };
        ["model.safetensors", "training.safetensors"].into_iter().map(tensors).collect()
    }

    fn takes_trouble(&self) -> bool {
        true
    }
}

/// The jobs of a plan, two networks trained twice each, and what is gathered of them.
pub struct Jobs {
    program: PathBuf,
    root: PathBuf,
}

impl Jobs {
    /// With the data of [`Training`].
    pub fn new(program: &Path, root: &Path) -> Self {
        Self { program: program.to_owned(), root: root.to_owned() }
    }
}

impl Work for Jobs {
    fn name(&self) -> &'static str {
        "jobs of a plan"
    }

    fn prepare(&self, directory: &Path) -> Result<(), String> {
        let mut plan = quiet(&self.program);
        plan.current_dir(&self.root).args([
            "sweep",
            "small.toml",
            "fc3-8",
            "--data",
            "data",
            "--epochs",
            "4",
        ]);
        plan.args(["--runs", "2", "--set", "batch=20", "--seconds-per-step", "0.001", "--quiet"]);
        succeed(self.name(), plan.arg("--plan").arg(directory))
    }

    fn command(&self, directory: &Path) -> Command {
        let mut command = quiet(&self.program);
        command.arg("job").arg(directory).args(["0-3", "--threads", "1", "--quiet"]);
        command
    }

    fn finish(&self, directory: &Path) -> Result<(), String> {
        succeed(self.name(), &mut self.command(directory))?;
        succeed(self.name(), quiet(&self.program).arg("gather").arg(directory).arg("--quiet"))
    }

    /// Pages and script tell where they lie.
    fn result(&self, directory: &Path) -> Result<Bits, String> {
        let mut files = files(directory)?;
        files.retain(|name, _| ["sweep.json", "sweep.csv"].contains(&name.as_str()));
        if files.len() == 2 { Ok(files) } else { Err("gather left no results".into()) }
    }

    fn takes_trouble(&self) -> bool {
        true
    }
}

/// A command whose files are all that there is to it.
pub struct Making {
    name: &'static str,
    program: PathBuf,
    words: &'static [&'static str],
    /// Where the files go.
    out: &'static str,
}

impl Making {
    /// A share of a fit's draws.
    pub fn share_of_fit(program: &Path) -> Self {
        let words = &["fit", "bottleneck-32", "--trials", "100000", "--shard", "2/3", "--out", "share.json"];
        Self { name: "a share of a fit", program: program.to_owned(), words, out: "" }
    }

    /// The pages of a figure.
    pub fn pages(program: &Path) -> Self {
        let words = &["reproduce", "fig3", "--scale", "smoke", "--out", "pages"];
        Self { name: "pages of a figure", program: program.to_owned(), words, out: "pages" }
    }
}

impl Work for Making {
    fn name(&self) -> &'static str {
        self.name
    }

    fn command(&self, directory: &Path) -> Command {
        let mut command = quiet(&self.program);
        command.current_dir(directory).args(self.words).args(["--threads", "1", "--quiet"]);
        command
    }

    fn result(&self, directory: &Path) -> Result<Bits, String> {
        files(&directory.join(self.out))
    }
}

/// Every file below a directory, temporary ones and finished parts apart: those tell how long a
/// part took.
fn files(directory: &Path) -> Result<Bits, String> {
    let mut found = Bits::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(next) = waiting.pop() {
        for entry in std::fs::read_dir(&next).map_err(|error| format!("{}: {error}", next.display()))? {
            let path = entry.map_err(|error| error.to_string())?.path();
            let name = path.strip_prefix(directory).unwrap_or(&path).display().to_string();
            match path.is_dir() {
                true if name == "parts" => {}
                true => waiting.push(path),
                false if name.contains(".collegial-") => {}
                false => {
                    found.insert(name, std::fs::read(&path).map_err(|error| error.to_string())?);
                }
            }
        }
    }
    Ok(found)
}
