//! States of a disk after a power loss, derived from the operations that were done to it.
//!
//! Nothing lasts that was not forced to disk: bytes by a sync of their file, entries (new files,
//! renames, removals) by a sync of their directory. What was not may last all the same, whole or in
//! part. This is weaker than any file system in use promises.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::files::faults::Step;

/// Which of the things that need not last do.
#[derive(Clone, Copy, Debug)]
pub enum Luck {
    /// The same for all.
    Alike {
        /// Entries that were not forced to disk last.
        entries: bool,
        /// How much lasts of the bytes that were not forced to disk: none, half or all of them.
        halves: usize,
    },
    /// Of every entry and of every file's bytes by itself, drawn from a seed: what was done later may
    /// last where what was done before does not, and of a directory's removal some part.
    Drawn(u64),
}

impl Luck {
    /// What is worth trying where the power goes after so many steps: everything alike, and two draws
    /// that are others at every step.
    pub fn after(steps: usize) -> [Self; 7] {
        let drawn = 2 * steps as u64;
        [
            Self::Alike { entries: false, halves: 0 },
            Self::Alike { entries: false, halves: 2 },
            Self::Alike { entries: true, halves: 0 },
            Self::Alike { entries: true, halves: 1 },
            Self::Alike { entries: true, halves: 2 },
            Self::Drawn(drawn),
            Self::Drawn(drawn + 1),
        ]
    }

    /// Whether the change of an entry by a step lasts that was not forced to disk; `which` tells
    /// apart what one step changes.
    fn keeps_entry(self, step: usize, which: &Path) -> bool {
        match self {
            Self::Alike { entries, .. } => entries,
            Self::Drawn(seed) => drawn(seed, step, which) & 1 == 0,
        }
    }

    /// How many halves last of the bytes of the file that a step made.
    fn halves(self, step: usize) -> usize {
        match self {
            Self::Alike { halves, .. } => halves,
            Self::Drawn(seed) => drawn(seed, step, Path::new("bytes")) as usize % 3,
        }
    }
}

/// The same number for the same place, whatever else is drawn. The name of a temporary file is a
/// random one, so that it has no say.
fn drawn(seed: u64, step: usize, which: &Path) -> u64 {
    let name = which.file_name().map(std::ffi::OsStr::as_encoded_bytes).unwrap_or_default();
    let name =
        if name.starts_with(crate::files::TEMPORARY.as_bytes()) { b"temporary".as_slice() } else { name };
    let bytes = seed.to_le_bytes().into_iter().chain((step as u64).to_le_bytes()).chain(name.iter().copied());
    // FNV-1a, and a finaliser that mixes its low bits.
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mixed = (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 29)
}

#[derive(Clone, Copy)]
enum Entry {
    Directory,
    /// The number of the step that made it.
    File(usize),
}

type Entries = BTreeMap<PathBuf, Entry>;

#[derive(Default)]
struct Bytes {
    written: Vec<u8>,
    synced: Vec<u8>,
}

impl Bytes {
    /// What lasts: what was forced to disk, and from the front so much of what was written since.
    fn lasting(&self, halves: usize) -> Vec<u8> {
        let Self { written, synced } = self;
        let end = if written.len() > synced.len() {
            synced.len() + (written.len() - synced.len()) * halves / 2
        } else if halves == 0 {
            synced.len()
        } else {
            written.len()
        };
        let new = if halves == 0 { 0 } else { written.len() * halves / 2 };
        let at = |at: usize| if at < new || at >= synced.len() { written[at] } else { synced[at] };
        (0..end).map(at).collect()
    }
}

/// Makes the directory `to` what is left of `from` if the power goes after these steps.
///
/// # Panics
///
/// If a file cannot be written: this is for tests.
pub fn after_power_loss(steps: &[Step], luck: Luck, from: &Path, to: &Path) {
    let bytes = contents(steps);
    let (mut entries, mut truth) = (Entries::new(), Entries::new());
    for (index, step) in steps.iter().enumerate() {
        match step {
            _ if is_forced(steps, index) => apply(step, index, &truth, &mut entries),
            // Those below it go one by one.
            Step::Remove(path) => {
                entries.retain(|other, _| !other.starts_with(path) || !luck.keeps_entry(index, other));
            }
            _ if luck.keeps_entry(index, Path::new("")) => apply(step, index, &truth, &mut entries),
            _ => {}
        }
        let before = truth.clone();
        apply(step, index, &before, &mut truth);
    }
    std::fs::create_dir_all(to).expect("a directory for what lasted");
    for (path, entry) in entries {
        let Ok(inside) = path.strip_prefix(from) else { continue };
        let target = to.join(inside);
        if !target.parent().expect("it lies below `to`").is_dir() || inside.as_os_str().is_empty() {
            continue;
        }
        match entry {
            Entry::Directory => std::fs::create_dir(target).expect("its parent is there"),
            Entry::File(made) => {
                std::fs::write(target, bytes[&made].lasting(luck.halves(made))).expect("its parent is there");
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
            Step::Resize(path, length) => {
                let made = *open.entry(path).or_insert(index);
                bytes.entry(made).or_default().written.resize(*length as usize, 0);
            }
            Step::WriteAt(path, place, new) => {
                let file = bytes.entry(open[path.as_path()]).or_default();
                file.written[*place as usize..][..new.len()].copy_from_slice(new);
            }
            Step::Write(path, more) => bytes.entry(open[path.as_path()]).or_default().written.extend(more),
            Step::Sync(path) => {
                let file = bytes.entry(open[path.as_path()]).or_default();
                file.synced.clone_from(&file.written);
            }
            _ => {}
        }
    }
    bytes
}

/// Whether the directory of an entry was forced to disk after the step that changed it.
fn is_forced(steps: &[Step], index: usize) -> bool {
    let (Step::CreateDirectory(path)
    | Step::CreateFile(path)
    | Step::Resize(path, _)
    | Step::Rename(path, _)
    | Step::Remove(path)) = &steps[index]
    else {
        return false;
    };
    let parent = path.parent().expect("an entry lies in a directory");
    steps[index..].iter().any(|later| matches!(later, Step::SyncDirectory(synced) if synced == parent))
}

/// Changes entries by a step; `truth` is what there was before it, had everything lasted.
fn apply(step: &Step, index: usize, truth: &Entries, entries: &mut Entries) {
    match step {
        Step::CreateDirectory(path) => {
            // There was none, so that nothing can be in it.
            entries.retain(|other, _| !other.starts_with(path));
            entries.insert(path.clone(), Entry::Directory);
        }
        Step::CreateFile(path) => {
            entries.insert(path.clone(), Entry::File(index));
        }
        Step::Resize(path, _) => {
            entries.entry(path.clone()).or_insert(Entry::File(index));
        }
        Step::Rename(from, to) => {
            // The new name is that of the same file or directory even where the old one has not lasted.
            let Some(&entry) = truth.get(from) else { return };
            let moved: Vec<PathBuf> = entries.keys().filter(|path| path.starts_with(from)).cloned().collect();
            entries.retain(|path, _| !path.starts_with(to));
            for path in moved {
                let rest = path.strip_prefix(from).expect("it starts with it");
                let new = if rest.as_os_str().is_empty() { to.clone() } else { to.join(rest) };
                let entry = entries.remove(&path).expect("a key of them");
                entries.insert(new, entry);
            }
            entries.insert(to.clone(), entry);
        }
        Step::Remove(path) => entries.retain(|other, _| !other.starts_with(path)),
        Step::Write(..) | Step::WriteAt(..) | Step::Sync(_) | Step::SyncDirectory(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left of files that were made one after the other, the last one forced to disk.
    fn left(luck: Luck) -> [bool; 3] {
        let root = tempfile::tempdir().unwrap();
        let file = |name: &str| root.path().join("disk").join(name);
        let steps = [
            Step::CreateDirectory(root.path().join("disk")),
            Step::SyncDirectory(root.path().to_owned()),
            Step::CreateFile(file("c")),
            Step::SyncDirectory(root.path().join("disk")),
            Step::CreateFile(file("a")),
            Step::CreateFile(file("b")),
        ];
        let place = root.path().join("place");
        after_power_loss(&steps, luck, root.path(), &place);
        ["a", "b", "c"].map(|name| place.join("disk").join(name).is_file())
    }

    #[test]
    fn later_entries_may_last_where_earlier_ones_do_not() {
        let all: Vec<[bool; 3]> = (0..10).flat_map(Luck::after).map(left).collect();
        assert!(all.iter().all(|[_, _, forced]| *forced), "{all:?}");
        for expected in [[true, true, true], [true, false, true], [false, true, true], [false, false, true]] {
            assert!(all.contains(&expected), "{expected:?} of {all:?}");
        }
    }

    /// A rename that lasts brings its file along, even where the file's first name did not last.
    #[test]
    fn a_renamed_file_has_its_bytes_under_every_luck() {
        let root = tempfile::tempdir().unwrap();
        let file = |name: &str| root.path().join(name);
        let steps = [
            Step::CreateFile(file(".collegial-x")),
            Step::Write(file(".collegial-x"), b"whole".to_vec()),
            Step::Sync(file(".collegial-x")),
            Step::Rename(file(".collegial-x"), file("x")),
        ];
        let mut seen = 0;
        for seed in 0..100 {
            let place = root.path().join(format!("place-{seed}"));
            after_power_loss(&steps, Luck::Drawn(seed), root.path(), &place);
            if let Ok(bytes) = std::fs::read(place.join("x")) {
                assert_eq!(bytes, b"whole");
                seen += 1;
            }
        }
        // Every second time, with a standard deviation of five.
        assert!((30..=70).contains(&seen), "{seen}");
    }
}
