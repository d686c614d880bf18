//! A run's directory: its lock, its checkpoints and what is written beside them.
//!
//! A checkpoint is a directory `checkpoint-000012` of two files. It is written under another name, forced to disk and then
//! renamed, so that at every moment the one with the highest number is whole; older ones are removed afterwards.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

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
    /// The operating system drops the lock when the process ends, however it ends: there are no stale locks.
    _lock: File,
    latest: Option<(u64, PathBuf)>,
}

impl RunDirectory {
    /// Opens a directory, made if it is not there, and locks it. What an interrupted save left behind is removed.
    pub fn open(root: &Path) -> Result<Self, Error> {
        fs::create_dir_all(root).map_err(io("create", root))?;
        let lock = lock(root)?;
        remove(&root.join(SAVING))?;
        let latest = latest_in(root)?;
        Ok(Self { root: root.to_owned(), _lock: lock, latest })
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
    pub fn next_number(&self) -> u64 {
        self.latest.as_ref().map_or(0, |(number, _)| number + 1)
    }

    /// Saves a checkpoint under the next number; the one before is removed once this one is safe.
    pub fn save(&mut self, model: &[u8], training: &[u8]) -> Result<(), Error> {
        let (number, temporary) = (self.next_number(), self.root.join(SAVING));
        let path = self.root.join(format!("{PREFIX}{number:06}"));
        let saved = write_checkpoint(&temporary, model, training)
            .and_then(|()| fs::rename(&temporary, &path).map_err(io("write", &path)))
            .and_then(|()| sync_directory(&self.root));
        if let Err(error) = saved {
            // It may be a disk without room: what was written of it is of no use.
            let _ = fs::remove_dir_all(&temporary);
            return Err(error);
        }
        for (_, older) in checkpoints(&self.root)?.into_iter().filter(|(other, _)| *other < number) {
            // One that cannot be removed only takes room.
            let _ = fs::remove_dir_all(older);
        }
        self.latest = Some((number, path));
        Ok(())
    }

    /// Writes a small file beside the checkpoints, whole or not at all.
    pub fn write(&self, name: &str, content: &str) -> Result<(), Error> {
        let (temporary, path) = (self.root.join(format!(".{name}")), self.root.join(name));
        let written = write_synced(&temporary, content.as_bytes())
            .and_then(|()| fs::rename(&temporary, &path).map_err(io("write", &path)));
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written
    }
}

/// The file of a network that a path stands for: a file itself, the directory of a checkpoint, or that of a run.
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
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(io("write", &path))?;
    match file.try_lock() {
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
        file.write_all(format!("{}\n", std::process::id()).as_bytes())
    };
    write().map_err(io("write", &path))?;
    Ok(file)
}

fn write_checkpoint(directory: &Path, model: &[u8], training: &[u8]) -> Result<(), Error> {
    remove(directory)?;
    fs::create_dir(directory).map_err(io("create", directory))?;
    write_synced(&directory.join(MODEL_FILE), model)?;
    write_synced(&directory.join(TRAINING_FILE), training)?;
    sync_directory(directory)
}

fn write_synced(path: &Path, content: &[u8]) -> Result<(), Error> {
    let write = || {
        let mut file = File::create(path)?;
        file.write_all(content)?;
        file.sync_all()
    };
    write().map_err(io("write", path))
}

/// Makes a rename last, where directories can be forced to disk.
fn sync_directory(path: &Path) -> Result<(), Error> {
    if cfg!(unix) {
        File::open(path).and_then(|file| file.sync_all()).map_err(io("write", path))
    } else {
        Ok(())
    }
}

fn remove(directory: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(io("remove", directory)(error)),
        _ => Ok(()),
    }
}

fn checkpoints(root: &Path) -> Result<Vec<(u64, PathBuf)>, Error> {
    let mut found = vec![];
    for entry in fs::read_dir(root).map_err(io("read", root))? {
        let entry = entry.map_err(io("read", root))?;
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.parse().ok());
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
        assert_eq!((run.latest(), run.next_number()), (None, 0));
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
    fn one_process_at_a_time_and_leftovers_are_swept() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join(SAVING)).unwrap();
        // A lock file whose process is gone, as after SIGKILL.
        fs::write(root.path().join(LOCK), "4242\n").unwrap();
        let run = RunDirectory::open(root.path()).unwrap();
        assert!(!root.path().join(SAVING).exists());
        let said = RunDirectory::open(root.path()).unwrap_err().to_string();
        assert!(said.contains(&format!("in use by process {}", std::process::id())), "{said}");
        drop(run);
        RunDirectory::open(root.path()).unwrap();
    }
}
