//! A long time of bad luck: runs that are killed, ended, left without room and corrupted, over and
//! over, and must all end with the bits of a run that nothing happened to.
//!
//! Every round trains in a new directory until the training is finished, with one [`Trouble`] after
//! the other; every other round on a file system of one megabyte and a half, if one may be mounted.
//! So are the jobs of a plan. In every fourth round a share of a fit and the pages of a figure are
//! made under kills, too. When the troubles strike depends on the machine, so no two soaks are
//! alike; which they are does not.

mod disk;
mod trouble;
mod work;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::Failed;
use disk::SmallDisk;
use trouble::{Tally, Trouble};
use work::{Jobs, Known, Making, Training, Work};

/// How long, on what, and how many kills there must be at least.
pub struct Plan {
    minutes: u64,
    kills: u64,
    program: PathBuf,
}

impl Plan {
    /// Of the words that follow `soak`.
    pub fn parse(words: &[&str]) -> Option<Self> {
        let mut plan = Self { minutes: 60, kills: 1000, program: "target/release/collegial".into() };
        for pair in words.chunks(2) {
            match *pair {
                ["--minutes", count] => plan.minutes = count.parse().ok()?,
                ["--kills", count] => plan.kills = count.parse().ok()?,
                ["--program", path] => plan.program = path.into(),
                _ => return None,
            }
        }
        Some(plan)
    }
}

/// Soaks, and prints what happened.
pub fn soak(plan: &Plan) -> Result<(), Failed> {
    let root = std::env::current_dir().unwrap_or_default().join("target/soak");
    let (start, mut told) = (Instant::now(), Duration::ZERO);
    let outcome = prepare(plan, &root).and_then(|(small, works)| {
        let (mut tally, mut chance) = (Tally::default(), Chance::new());
        let minutes = Duration::from_secs(60 * plan.minutes);
        for round in 0.. {
            if start.elapsed() >= minutes && tally.kills() >= plan.kills {
                return Ok(tally);
            }
            // Trainings have most to lose, by themselves and as jobs; the others take their turn.
            let turn = if round % 4 == 0 { works.len() } else { 2 };
            for known in &works[..turn] {
                let small = small.as_ref().filter(|_| round % 2 == 1 && known.work.takes_trouble());
                round_of(known, &root, small, &mut chance, &mut tally)?;
            }
            if start.elapsed() > told + Duration::from_secs(60) {
                told = start.elapsed();
                eprintln!("soak: {:.0} minutes: {tally}", told.as_secs_f64() / 60.0);
            }
        }
        Ok(tally)
    });
    match outcome {
        Ok(tally) => {
            println!(
                "{:.0} minutes: {tally}; every result has the same bits",
                start.elapsed().as_secs_f64() / 60.0
            );
            Ok(())
        }
        Err(sentence) => {
            eprintln!("soak: {sentence}; see {}", root.display());
            Err(Failed)
        }
    }
}

/// A small file system if there can be one, and what is done in every round.
fn prepare(plan: &Plan, root: &Path) -> Result<(Option<SmallDisk>, Vec<Known>), String> {
    let program = plan.program.canonicalize().map_err(|error| {
        format!("{}: {error}; build it with `cargo build --release`", plan.program.display())
    })?;
    SmallDisk::remove_old(&root.join("small"));
    let _ = std::fs::remove_dir_all(root);
    std::fs::create_dir_all(root).map_err(|error| format!("{}: {error}", root.display()))?;
    let small = SmallDisk::mount(&root.join("small"));
    if small.is_none() {
        eprintln!(
            "soak: no small file system may be mounted; limits on the size of files stand for full disks"
        );
    }
    let works: [Box<dyn Work>; 4] = [
        Box::new(Training::new(&program, root)?),
        Box::new(Jobs::new(&program, root)),
        Box::new(Making::share_of_fit(&program)),
        Box::new(Making::pages(&program)),
    ];
    let known = works.into_iter().map(|work| Known::of(work, root)).collect::<Result<_, _>>()?;
    Ok((small, known))
}

/// Does a piece of work to its end, through one trouble after the other, and compares its result.
fn round_of(
    known: &Known,
    root: &Path,
    small: Option<&SmallDisk>,
    chance: &mut Chance,
    tally: &mut Tally,
) -> Result<(), String> {
    let work = &*known.work;
    let directory = small.map_or(root, SmallDisk::path).join("work");
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    work.prepare(&directory)?;
    // A work that is always struck early would never end.
    let troubles = 2 + chance.below(12);
    for _ in 0..troubles {
        let trouble = Trouble::draw(chance, work, small.is_some());
        trouble.strike(known, &directory, small, chance, tally)?;
    }
    work.finish(&directory)?;
    if work.result(&directory)? != known.expected {
        return Err(format!("{} ended with other bits", work.name()));
    }
    // Elsewhere a temporary file is only removed once it is old: others may be writing it.
    if let Some(left) = leftover(&directory).filter(|_| work.takes_trouble()) {
        return Err(format!("{} left {left} behind", work.name()));
    }
    tally.finished(work.name());
    Ok(())
}

/// A temporary file or directory of ours.
fn leftover(directory: &Path) -> Option<String> {
    let entries = std::fs::read_dir(directory).ok()?.filter_map(Result::ok);
    let mut names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.find(|name| name.starts_with(".collegial-") || name == ".saving")
}

/// Numbers that look random; xorshift is enough for bad luck.
pub struct Chance {
    state: u64,
    /// What share of a work's time kills wait at most. It follows the machine, which others use
    /// too: it falls when a process ended before it could be killed.
    pace: f64,
}

impl Chance {
    fn new() -> Self {
        Self { state: 1, pace: 0.3 }
    }

    /// One of 0 to `end` - 1.
    fn below(&mut self, end: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 11) % end.max(1)
    }

    /// A moment within the pace.
    fn moment(&mut self, time: Duration) -> Duration {
        Duration::from_micros(self.below((time.as_micros() as f64 * self.pace) as u64))
    }

    /// Learns whether the last moment was early enough.
    fn learn(&mut self, early: bool) {
        self.pace = if early { (1.1 * self.pace).min(0.5) } else { (0.5 * self.pace).max(0.01) };
    }
}
