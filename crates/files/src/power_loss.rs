//! What a power loss leaves of a disk, worked out from the operations that were done to it.
//!
//! Nothing lasts that was not forced to disk: bytes by a sync of their file, entries (new files,
//! renames, removals) by a sync of their directory. What was not may last all the same, whole or in
//! part. This is weaker than any file system in use promises.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::faults::Step;

/// Which of the things that need not last do.
#[derive(Clone, Copy, Debug)]
pub struct Luck {
    /// Entries that were not forced to disk last.
    pub entries: bool,
    /// How much lasts of the bytes that were not forced to disk: none, half or all of them.
    pub halves: usize,
}

impl Luck {
    /// What is worth trying.
    pub const ALL: [Self; 5] = [
        Self { entries: false, halves: 0 },
        Self { entries: false, halves: 2 },
        Self { entries: true, halves: 0 },
        Self { entries: true, halves: 1 },
        Self { entries: true, halves: 2 },
    ];
}

#[derive(Clone, Copy)]
enum Entry {
    Directory,
    /// The number of the step that made it.
    File(usize),
}

#[derive(Default)]
struct Bytes {
    written: Vec<u8>,
    synced: usize,
}

/// Makes the directory `to` what is left of `from` if the power goes after these steps.
///
/// # Panics
///
/// If a file cannot be written: this is for tests.
pub fn after_power_loss(steps: &[Step], luck: Luck, from: &Path, to: &Path) {
    let bytes = contents(steps);
    let mut entries: BTreeMap<PathBuf, Entry> = BTreeMap::new();
    for (index, step) in steps.iter().enumerate() {
        if luck.entries || is_forced(steps, index) {
            apply(step, index, &mut entries);
        }
    }
    std::fs::create_dir_all(to).unwrap();
    for (path, entry) in entries {
        let Ok(inside) = path.strip_prefix(from) else { continue };
        let target = to.join(inside);
        if !target.parent().unwrap().is_dir() || inside.as_os_str().is_empty() {
            continue;
        }
        match entry {
            Entry::Directory => std::fs::create_dir(target).unwrap(),
            Entry::File(made) => {
                let Bytes { written, synced } = &bytes[&made];
                let lasting = synced + (written.len() - synced) * luck.halves / 2;
                std::fs::write(target, &written[..lasting]).unwrap();
            }
        }
    }
}

/// The bytes of every file, by the step that made it.
fn contents(steps: &[Step]) -> BTreeMap<usize, Bytes> {
    let mut open: BTreeMap<&Path, usize> = BTreeMap::new();
    let mut bytes: BTreeMap<usize, Bytes> = BTreeMap::new();
    for (index, step) in steps.iter().enumerate() {
        match step {
            Step::CreateFile(path) => {
                open.insert(path, index);
                bytes.insert(index, Bytes::default());
            }
            Step::Write(path, more) => bytes.get_mut(&open[path.as_path()]).unwrap().written.extend(more),
            Step::Sync(path) => {
                let file = bytes.get_mut(&open[path.as_path()]).unwrap();
                file.synced = file.written.len();
            }
            _ => {}
        }
    }
    bytes
}

/// Whether the directory of an entry was forced to disk after the step that changed it.
fn is_forced(steps: &[Step], index: usize) -> bool {
    let (Step::CreateDirectory(path) | Step::CreateFile(path) | Step::Rename(path, _) | Step::Remove(path)) =
        &steps[index]
    else {
        return false;
    };
    let parent = path.parent().unwrap();
    steps[index..].iter().any(|later| matches!(later, Step::SyncDirectory(synced) if synced == parent))
}

fn apply(step: &Step, index: usize, entries: &mut BTreeMap<PathBuf, Entry>) {
    match step {
        Step::CreateDirectory(path) => {
            entries.insert(path.clone(), Entry::Directory);
        }
        Step::CreateFile(path) => {
            entries.insert(path.clone(), Entry::File(index));
        }
        Step::Rename(from, to) => {
            let moved: Vec<PathBuf> = entries.keys().filter(|path| path.starts_with(from)).cloned().collect();
            if moved.is_empty() {
                return;
            }
            entries.retain(|path, _| !path.starts_with(to));
            for path in moved {
                let rest = path.strip_prefix(from).unwrap();
                let new = if rest.as_os_str().is_empty() { to.clone() } else { to.join(rest) };
                let entry = entries.remove(&path).unwrap();
                entries.insert(new, entry);
            }
        }
        Step::Remove(path) => entries.retain(|other, _| !other.starts_with(path)),
        Step::Write(..) | Step::Sync(_) | Step::SyncDirectory(_) => {}
    }
}
