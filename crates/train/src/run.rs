//! A run's directory: its lock, its checkpoints and the files beside them.
//!
//! A checkpoint is a directory `checkpoint-000012` of two files. It is written under another name,
//! forced to disk and then renamed (an atomic write), so that the one with the highest number is
//! always complete; older ones are removed afterwards.

use std::fs::{self, File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use collegial_core::files::{TEMPORARY, disk, read_regular};

use crate::Error;
use crate::checkpoint::{MODEL_FILE, TRAINING_FILE};
use crate::error::io;

const PREFIX: &str = "checkpoint-";
const SAVING: &str = ".saving";
const LOCK: &str = "lock";

/// The directory of a run, held by this process alone.
#[derive(Debug)]
pub struct RunDirectory {
    root: PathBuf,
    /// The operating system drops the lock when the process ends, however it ends: there are no
    /// stale locks.
    lock: File,
    latest: Option<(u64, PathBuf)>,
}

impl RunDirectory {
    /// Opens a directory, made if it is not there, and locks it. What an interrupted save left
    /// behind is removed.
    pub fn open(root: &Path) -> Result<Self, Error> {
        disk::create_directories(root).map_err(io("create", root))?;
        Self::locked(root)
    }

    /// The same where the program chose the name: a symbolic link is an error, because somebody else's
    /// would decide where the run is written.
    pub fn open_own(root: &Path) -> Result<Self, Error> {
        disk::create_inside(root).map_err(io("create", root))?;
        Self::locked(root)
    }

    fn locked(root: &Path) -> Result<Self, Error> {
        let lock = lock(root)?;
        remove_stale_temporaries(root)?;
        let latest = latest_in(root)?;
        Ok(Self { root: root.to_owned(), lock, latest })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// The newest checkpoint.
    pub fn latest(&self) -> Option<&Path> {
        self.latest.as_ref().map(|(_, path)| path.as_path())
    }

    /// The number that the next checkpoint will have.
    pub fn next_number(&self) -> Result<u64, Error> {
        let Some((number, path)) = &self.latest else { return Ok(0) };
        number.checked_add(1).ok_or_else(|| Error::LastNumber { path: path.clone() })
    }

    /// Checks that the lock file is still the one that this process locked: if it was removed or
    /// replaced, another process may hold the directory too.
    pub fn check_lock(&self) -> Result<(), Error> {
        let path = self.root.join(LOCK);
        if is_same_file(&self.lock, &path) { Ok(()) } else { Err(Error::LostLock { path }) }
    }

    /// Saves a checkpoint under the next number; the one before is removed once this one is safe.
    pub fn save(&mut self, model: &[u8], training: &[u8]) -> Result<(), Error> {
        self.check_lock()?;
        let (number, temporary) = (self.next_number()?, self.root.join(SAVING));
        let path = self.root.join(format!("{PREFIX}{number:06}"));
        let saved = write_checkpoint(&temporary, &path, model, training)
            .and_then(|()| disk::rename(&temporary, &path).map_err(io("write", &path)))
            .and_then(|()| sync_directory(&self.root));
        if let Err(error) = saved {
            // It may be a disk without room: what was written of it is of no use.
            let _ = disk::remove(&temporary);
            return Err(error);
        }
        self.latest = Some((number, path));
        self.remove_older()
    }

    /// Removes the checkpoints before the newest one. A save does so too, but may have failed there.
    pub fn remove_older(&self) -> Result<(), Error> {
        self.check_lock()?;
        let newest = self.latest.as_ref().map_or(0, |(number, _)| *number);
        for (_, older) in checkpoints(&self.root)?.into_iter().filter(|(other, _)| *other < newest) {
            // One that cannot be removed only takes room.
            let _ = disk::remove(&older);
        }
        Ok(())
    }

    /// Writes a small file beside the checkpoints atomically; one that has this content stays.
    pub fn write(&self, name: &str, content: &str) -> Result<(), Error> {
        self.check_lock()?;
        let (temporary, path) = (self.root.join(format!("{TEMPORARY}{name}")), self.root.join(name));
        if read_regular(&path).is_ok_and(|found| found == content.as_bytes()) {
            return Ok(());
        }
        let written = write_synced(&temporary, &path, content.as_bytes())
            .and_then(|()| disk::rename(&temporary, &path).map_err(io("write", &path)))
            .and_then(|()| sync_directory(&self.root));
        if written.is_err() {
            let _ = disk::remove(&temporary);
        }
        written
    }
}

/// The file of a network that a path stands for: a file itself, the directory of a checkpoint, or
/// that of a run.
pub fn find_model(path: &Path) -> Result<PathBuf, Error> {
    if path.is_dir() {
        let directory = latest_in(path)?.map_or_else(|| path.to_owned(), |(_, latest)| latest);
        let file = directory.join(MODEL_FILE);
        return if file.is_file() { Ok(file) } else { Err(Error::NoCheckpoint { path: path.to_owned() }) };
    }
    Ok(path.to_owned())
}

fn lock(root: &Path) -> Result<File, Error> {
    let path = root.join(LOCK);
    let mut file = disk::open_lock(&path).map_err(io("write", &path))?;
    match lock_with_retries(&file) {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut process = String::new();
            let known = file.read_to_string(&mut process).is_ok() && !process.trim().is_empty();
            let process = if known { process.trim().to_owned() } else { "unknown".to_owned() };
            return Err(Error::Busy { path: root.to_owned(), process });
        }
        Err(TryLockError::Error(source)) => return Err(io("lock", &path)(source)),
    }
    let mut write = || {
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(format!("{}\n", process()).as_bytes())
    };
    write().map_err(io("write", &path))?;
    Ok(file)
}

/// This process as `PID@HOST`: on a shared file system a number alone names nobody.
fn process() -> String {
    let number = std::process::id();
    match host() {
        Some(host) => format!("{number}@{host}"),
        None => number.to_string(),
    }
}

/// The name of this machine, where the system tells it by a file or the environment.
fn host() -> Option<String> {
    let told =
        fs::read_to_string("/proc/sys/kernel/hostname").or_else(|_| fs::read_to_string("/etc/hostname"));
    let told = told.or_else(|_| std::env::var("HOSTNAME")).or_else(|_| std::env::var("COMPUTERNAME"));
    told.ok().map(|name| name.trim().to_owned()).filter(|name| !name.is_empty())
}

/// Locks, with retries: a process that looks whether a run is going on holds its lock for a moment.
fn lock_with_retries(file: &File) -> Result<(), TryLockError> {
    for _ in 0..10 {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(10)),
            other => return other,
        }
    }
    file.try_lock()
}

#[cfg(unix)]
fn is_same_file(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    let (ours, there) = (file.metadata().map(identity), fs::symlink_metadata(path).map(identity));
    matches!((ours, there), (Ok(ours), Ok(there)) if ours == there)
}

/// Elsewhere a file that is open cannot be removed.
#[cfg(not(unix))]
fn is_same_file(_file: &File, path: &Path) -> bool {
    path.exists()
}

/// Removes temporary files of killed processes. The holder of the lock is alone here, so that none
/// of them is in use.
fn remove_stale_temporaries(root: &Path) -> Result<(), Error> {
    remove(&root.join(SAVING))?;
    for entry in fs::read_dir(root).map_err(io("read", root))?.filter_map(Result::ok) {
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| name.starts_with(TEMPORARY)) {
            // One that cannot be removed only takes room.
            let _ = disk::remove(&entry.path());
        }
    }
    Ok(())
}

/// Writes both files under a temporary name; errors tell the one that the checkpoint will have.
fn write_checkpoint(temporary: &Path, path: &Path, model: &[u8], training: &[u8]) -> Result<(), Error> {
    disk::remove(temporary).map_err(io("write", path))?;
    disk::create_directories(temporary).map_err(io("write", path))?;
    write_synced(&temporary.join(MODEL_FILE), &path.join(MODEL_FILE), model)?;
    write_synced(&temporary.join(TRAINING_FILE), &path.join(TRAINING_FILE), training)?;
    disk::sync_directory(temporary).map_err(io("write", path))
}

fn write_synced(temporary: &Path, path: &Path, content: &[u8]) -> Result<(), Error> {
    disk::write_synced(temporary, content).map_err(io("write", path))
}

/// Makes a rename last.
fn sync_directory(path: &Path) -> Result<(), Error> {
    disk::sync_directory(path).map_err(io("write", path))
}

fn remove(path: &Path) -> Result<(), Error> {
    disk::remove(path).map_err(io("remove", path))
}

fn checkpoints(root: &Path) -> Result<Vec<(u64, PathBuf)>, Error> {
    let mut found = vec![];
    for entry in fs::read_dir(root).map_err(io("read", root))? {
        let entry = entry.map_err(io("read", root))?;
        let name = entry.file_name();
        let digits = name.to_str().and_then(|name| name.strip_prefix(PREFIX)).unwrap_or_default();
        let number =
            digits.bytes().all(|digit| digit.is_ascii_digit()).then(|| digits.parse().ok()).flatten();
        found.extend(number.map(|number| (number, entry.path())));
    }
    Ok(found)
}

fn latest_in(root: &Path) -> Result<Option<(u64, PathBuf)>, Error> {
    Ok(checkpoints(root)?.into_iter().max_by_key(|(number, _)| *number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_checkpoint_stays() {
        let root = tempfile::tempdir().unwrap();
        let mut run = RunDirectory::open(&root.path().join("a/b")).unwrap();
        assert_eq!((run.latest(), run.next_number().unwrap()), (None, 0));
        for content in [b"one", b"two"] {
            run.save(content, b"").unwrap();
        }
        let latest = run.latest().unwrap().to_owned();
        assert!(latest.ends_with("checkpoint-000001"));
        assert_eq!(fs::read(latest.join(MODEL_FILE)).unwrap(), b"two");
        assert_eq!(checkpoints(run.path()).unwrap().len(), 1);
        assert_eq!(find_model(run.path()).unwrap(), latest.join(MODEL_FILE));
        assert_eq!(find_model(&latest).unwrap(), latest.join(MODEL_FILE));
    }

    #[test]
    fn one_process_at_a_time_and_stale_temporaries_are_removed() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join(SAVING)).unwrap();
        let leftover = root.path().join(".collegial-recipe.toml");
        fs::write(&leftover, "half").unwrap();
        fs::write(root.path().join(".mine"), "not ours").unwrap();
        // A lock file whose process is gone, as after SIGKILL.
        fs::write(root.path().join(LOCK), "4242\n").unwrap();
        let run = RunDirectory::open(root.path()).unwrap();
        assert!(!root.path().join(SAVING).exists() && !leftover.exists());
        assert!(root.path().join(".mine").exists());
        let said = RunDirectory::open(root.path()).unwrap_err().to_string();
        assert!(said.contains(&format!("in use by process {}", process())), "{said}");
        if cfg!(target_os = "linux") {
            assert!(process().starts_with(&format!("{}@", std::process::id())), "{}", process());
        }
        drop(run);
        RunDirectory::open(root.path()).unwrap();
    }

    /// A lock that was removed, or replaced by another process's, protects nothing.
    #[test]
    fn a_run_that_lost_its_lock_writes_nothing_more() {
        for replaced in [false, true] {
            let root = tempfile::tempdir().unwrap();
            let mut run = RunDirectory::open(root.path()).unwrap();
            run.save(b"one", b"").unwrap();
            fs::remove_file(root.path().join(LOCK)).unwrap();
            let other = replaced.then(|| RunDirectory::open(root.path()).unwrap());
            let before: Vec<_> =
                fs::read_dir(root.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
            assert!(matches!(run.save(b"two", b""), Err(Error::LostLock { .. })));
            assert!(matches!(run.write("recipe.toml", ""), Err(Error::LostLock { .. })));
            let after: Vec<_> =
                fs::read_dir(root.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
            assert_eq!(after, before);
            drop(other);
        }
    }

    #[test]
    fn checkpoint_numbers_do_not_wrap() {
        let root = tempfile::tempdir().unwrap();
        let last = root.path().join(format!("{PREFIX}{}", u64::MAX));
        fs::create_dir(&last).unwrap();
        // Not numbers: none of ours.
        for name in ["checkpoint-", "checkpoint-+7", "checkpoint-7a", "checkpoint-99999999999999999999999"] {
            fs::create_dir(root.path().join(name)).unwrap();
        }
        let mut run = RunDirectory::open(root.path()).unwrap();
        assert_eq!(run.latest(), Some(last.as_path()));
        assert!(matches!(run.save(b"", b""), Err(Error::LastNumber { path }) if path == last));
    }
}
