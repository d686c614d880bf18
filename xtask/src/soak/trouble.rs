//! What may happen to a process and its files.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::Chance;
use super::disk::SmallDisk;
use super::work::{Known, Training, Work};

/// One misfortune.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trouble {
    /// SIGKILL at some moment.
    Kill,
    /// SIGTERM at some moment, after which a training saves.
    Terminate,
    /// No file may become longer than this: a write fails halfway.
    ShortFiles,
    /// The file system is full.
    FullDisk,
    /// A bit of the newest checkpoint flips; it must be noticed.
    FlippedBit,
    /// A file of the newest checkpoint loses its end; it must be noticed.
    CutFile,
}

/// What happened so far.
#[derive(Default)]
pub struct Tally {
    troubles: BTreeMap<Trouble, u64>,
    finished: BTreeMap<&'static str, u64>,
}

impl Tally {
    /// How many processes were killed before their end.
    pub fn kills(&self) -> u64 {
        self.troubles.get(&Trouble::Kill).copied().unwrap_or_default()
    }

    /// Notes a work that ended with the right bits.
    pub fn finished(&mut self, name: &'static str) {
        *self.finished.entry(name).or_default() += 1;
    }

    fn happened(&mut self, trouble: Trouble) {
        *self.troubles.entry(trouble).or_default() += 1;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (trouble, count) in &self.troubles {
            write!(f, "{count} {}, ", trouble.words())?;
        }
        let finished: Vec<String> =
            self.finished.iter().map(|(name, count)| format!("{count} x {name}")).collect();
        write!(f, "finished {}", finished.join(", "))
    }
}

impl Trouble {
    /// Kills are half of all that happens.
    pub fn draw(chance: &mut Chance, work: &dyn Work, small: bool) -> Self {
        if !work.takes_trouble() {
            return Self::Kill;
        }
        match chance.below(10) {
            0 => Self::Terminate,
            1 => Self::FlippedBit,
            2 => Self::CutFile,
            3 | 4 if small => Self::FullDisk,
            3 | 4 => Self::ShortFiles,
            _ => Self::Kill,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Kill => "kills",
            Self::Terminate => "SIGTERMs",
            Self::ShortFiles => "limits on the size of files",
            Self::FullDisk => "full disks",
            Self::FlippedBit => "flipped bits noticed",
            Self::CutFile => "cut files noticed",
        }
    }

    /// Lets it happen, and checks how the program took it.
    pub fn strike(
        self,
        known: &Known,
        directory: &Path,
        small: Option<&SmallDisk>,
        chance: &mut Chance,
        tally: &mut Tally,
    ) -> Result<(), String> {
        let work = &*known.work;
        let struck = match self {
            Self::Kill => kill(known, directory, chance)?,
            Self::Terminate => terminate(known, directory, chance)?,
            Self::ShortFiles => short_files(work, directory, chance)?,
            Self::FullDisk => small.map_or(Ok(false), |small| full_disk(work, directory, small, chance))?,
            Self::FlippedBit | Self::CutFile => damage(self, work, directory, chance)?,
        };
        if struck {
            tally.happened(self);
        }
        Ok(())
    }
}

/// A process that has been at work for a moment.
fn start(known: &Known, directory: &Path, chance: &mut Chance) -> Result<Child, String> {
    let mut command = known.work.command(directory);
    let child = command.stderr(Stdio::null()).spawn().map_err(|error| error.to_string())?;
    std::thread::sleep(chance.moment(known.time));
    Ok(child)
}

/// Whether the process was killed before it ended.
fn kill(known: &Known, directory: &Path, chance: &mut Chance) -> Result<bool, String> {
    let mut child = start(known, directory, chance)?;
    let _ = child.kill();
    let code = child.wait().map_err(|error| error.to_string())?.code();
    chance.learn(code.is_none());
    match code {
        None => Ok(true),
        Some(0) => Ok(false),
        Some(code) => Err(format!("{} ended by itself with exit code {code}", known.work.name())),
    }
}

fn terminate(known: &Known, directory: &Path, chance: &mut Chance) -> Result<bool, String> {
    let mut child = start(known, directory, chance)?;
    let asked = Command::new("kill").args(["-TERM", &child.id().to_string()]).stderr(Stdio::null()).status();
    asked.map_err(|error| error.to_string())?;
    let patience = Instant::now();
    while child.try_wait().map_err(|error| error.to_string())?.is_none() {
        if patience.elapsed() > Duration::from_secs(60) {
            let _ = child.kill();
            return Err(format!("{} did not end a minute after SIGTERM", known.work.name()));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    match child.wait().map_err(|error| error.to_string())?.code() {
        // Before it watches for signals, one ends it as any program.
        None | Some(143) => Ok(true),
        Some(0) => Ok(false),
        Some(code) => Err(format!("{} ended with exit code {code} after SIGTERM", known.work.name())),
    }
}

/// As by `ulimit -f`, whose blocks are of 512 bytes; a checkpoint has two files of 10 kB.
fn short_files(work: &dyn Work, directory: &Path, chance: &mut Chance) -> Result<bool, String> {
    let command = work.command(directory);
    let mut limited = Command::new("sh");
    limited.args(["-c", &format!("ulimit -f {}; exec \"$0\" \"$@\"", 1 + chance.below(24))]);
    limited.arg(command.get_program()).args(command.get_args());
    if let Some(place) = command.get_current_dir() {
        limited.current_dir(place);
    }
    refused(work, &mut limited, "cannot write")
}

fn full_disk(
    work: &dyn Work,
    directory: &Path,
    small: &SmallDisk,
    chance: &mut Chance,
) -> Result<bool, String> {
    small.fill(4096 * chance.below(12) as usize);
    let refused = refused(work, &mut work.command(directory), "No space left on device");
    small.empty();
    refused
}

/// Whether the program refused to go on, in one sentence with these words; it may succeed.
fn refused(work: &dyn Work, command: &mut Command, words: &str) -> Result<bool, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    match output.status.code() {
        Some(0) => Ok(false),
        Some(2) if said.lines().count() == 1 && said.contains(words) => Ok(true),
        code => Err(format!("{} ended with exit code {code:?} and said: {said}", work.name())),
    }
}

/// Changes a file of the newest checkpoint, which must be refused, and puts it right again.
fn damage(trouble: Trouble, work: &dyn Work, directory: &Path, chance: &mut Chance) -> Result<bool, String> {
    let Some(newest) = Training::newest(directory) else { return Ok(false) };
    let name = ["model.safetensors", "training.safetensors"][chance.below(2) as usize];
    let path: PathBuf = newest.join(name);
    let io = |error: std::io::Error| format!("{}: {error}", path.display());
    let whole = std::fs::read(&path).map_err(io)?;
    let place = chance.below(whole.len() as u64) as usize;
    let mut damaged = whole.clone();
    match trouble {
        Trouble::CutFile => damaged.truncate(place),
        _ => damaged[place] ^= 1 << chance.below(8),
    }
    std::fs::write(&path, damaged).map_err(io)?;
    let noticed = refused(work, &mut work.command(directory), name)?;
    std::fs::write(&path, &whole).map_err(io)?;
    if noticed {
        Ok(true)
    } else {
        Err(format!("a change of byte {place} of {} was not noticed", path.display()))
    }
}
