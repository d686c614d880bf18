//! The operations that change a disk, each of which may fail.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::read::refuse_special;

/// What is about to be done. Paths are those given to the operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation<'a> {
    /// A directory is made.
    CreateDirectory(&'a Path),
    /// An empty file is made, or an existing one emptied.
    CreateFile(&'a Path),
    /// A file is made where there is none, and cut or filled up with zeros to a length.
    Resize(&'a Path, u64),
    /// Bytes are added to the end of a file.
    Write(&'a Path, &'a [u8]),
    /// Bytes are written over those at a place of a file.
    WriteAt(&'a Path, u64, &'a [u8]),
    /// A file's bytes are forced to disk.
    Sync(&'a Path),
    /// The entries of a directory are forced to disk.
    SyncDirectory(&'a Path),
    /// An entry gets another name, in place of what had it.
    Rename(&'a Path, &'a Path),
    /// An entry goes, with all below it.
    Remove(&'a Path),
}

#[cfg(feature = "faults")]
use crate::files::faults::attempt;

/// Nothing fails but what the system fails.
#[cfg(not(feature = "faults"))]
fn attempt(_: &Operation<'_>) -> io::Result<()> {
    Ok(())
}

/// Makes a directory and those above it where they are missing, and forces their entries to disk.
pub fn create_directories(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return sync_found(parent_of(path));
    }
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        create_directories(parent)?;
    }
    attempt(&Operation::CreateDirectory(path))?;
    // Another process may have been quicker.
    fs::create_dir(path).or_else(|error| if path.is_dir() { Ok(()) } else { Err(error) })?;
    sync_directory(parent_of(path))
}

/// Forces the entry of a directory that was found to disk: whoever made it may have been killed
/// before. That costs nothing where nothing has changed. The parent may be somebody else's and
/// unreadable, which is no reason to stop.
fn sync_found(parent: &Path) -> io::Result<()> {
    attempt(&Operation::SyncDirectory(parent))?;
    if cfg!(unix) {
        let _ = File::open(parent).and_then(|parent| parent.sync_all());
    }
    Ok(())
}

/// The directory that holds an entry.
pub(crate) fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Makes a directory inside of a run or plan; a symbolic link in its place is an error, because all
/// files of the directory would be written wherever somebody else's link leads.
pub fn create_inside(directory: &Path) -> io::Result<()> {
    refuse_link(directory)?;
    create_directories(directory)
}

/// An error where an entry is a symbolic link; one that is not there is left to others.
pub fn refuse_link(path: &Path) -> io::Result<()> {
    let is_link = path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
    if is_link {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is a symbolic link, which may lead anywhere; remove it",
        ));
    }
    Ok(())
}

/// Opens a lock file, made if it is not there; a symbolic link or what is no regular file is an error.
pub fn open_lock(path: &Path) -> io::Result<File> {
    refuse_link(path)?;
    if let Ok(metadata) = path.symlink_metadata() {
        refuse_special(&metadata)?;
    }
    let file = unlinked(OpenOptions::new().read(true)).truncate(false).open(path)?;
    refuse_special(&file.metadata()?)?;
    Ok(file)
}

/// To write a file, made if it is not there, but not through a link.
fn unlinked(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(libc::O_NOFOLLOW);
    }
    options.write(true).create(true)
}

/// Makes a file of these bytes and forces them to disk.
pub fn write_synced(path: &Path, content: &[u8]) -> io::Result<()> {
    attempt(&Operation::CreateFile(path))?;
    let mut file = unlinked(&mut OpenOptions::new()).truncate(true).open(path)?;
    write_and_sync(&mut file, path, content)
}

/// A new file that is appended to; it is an error if there is one of this name.
pub fn create_for_appending(path: &Path) -> io::Result<File> {
    attempt(&Operation::CreateFile(path))?;
    OpenOptions::new().append(true).create_new(true).open(path)
}

/// Appends bytes to a file without forcing them to disk.
pub fn append(file: &mut File, path: &Path, content: &[u8]) -> io::Result<()> {
    attempt(&Operation::Write(path, content))?;
    file.write_all(content)
}

/// Opens a file of a length to read and write pieces of it; one that is there keeps its bytes.
pub fn open_resized(path: &Path, length: u64) -> io::Result<File> {
    attempt(&Operation::Resize(path, length))?;
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    file.set_len(length)?;
    Ok(file)
}

/// Writes bytes at a place of a file without forcing them to disk.
pub fn write_at(file: &mut File, path: &Path, place: u64, content: &[u8]) -> io::Result<()> {
    attempt(&Operation::WriteAt(path, place, content))?;
    file.seek(SeekFrom::Start(place))?;
    file.write_all(content)
}

/// Reads the bytes at a place of a file.
pub fn read_at(file: &mut File, place: u64, content: &mut [u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(place))?;
    file.read_exact(content)
}

/// Forces the bytes of an open file to disk.
pub fn sync(file: &File, path: &Path) -> io::Result<()> {
    attempt(&Operation::Sync(path))?;
    file.sync_all()
}

/// Writes to an open file and forces it to disk.
pub(crate) fn write_and_sync(file: &mut File, path: &Path, content: &[u8]) -> io::Result<()> {
    if let Err(error) = attempt(&Operation::Write(path, content)) {
        // As on a full disk: some of it is there.
        file.write_all(&content[..content.len() / 2])?;
        return Err(error);
    }
    file.write_all(content)?;
    attempt(&Operation::Sync(path))?;
    file.sync_all()
}

/// Tells that a file was made by other means.
pub(crate) fn creating(path: &Path) -> io::Result<()> {
    attempt(&Operation::CreateFile(path))
}

/// Tells that an entry gets another name by other means.
pub(crate) fn renaming(from: &Path, to: &Path) -> io::Result<()> {
    attempt(&Operation::Rename(from, to))
}

/// Gives an entry another name, in place of what had it.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    attempt(&Operation::Rename(from, to))?;
    fs::rename(from, to)
}

/// Makes what changed in a directory last, where directories can be forced to disk.
pub fn sync_directory(path: &Path) -> io::Result<()> {
    attempt(&Operation::SyncDirectory(path))?;
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}

/// Removes a file, or a directory with all below it; nothing is done where there is none.
pub fn remove(path: &Path) -> io::Result<()> {
    let Ok(metadata) = path.symlink_metadata() else { return Ok(()) };
    attempt(&Operation::Remove(path))?;
    if metadata.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
}
