//! Class folders of photographs, as ImageNet is unpacked: `train/<class>/*.JPEG` and
//! `val/<class>/*.JPEG`.

use std::ffi::OsString;
use std::fs::{DirEntry, FileType};
use std::path::{Path, PathBuf};

use super::dataset::{Dataset, Kind};
use super::split::{Photos, Split};
use super::{DataError, Mismatch, Part, Shape};

const EXTENSIONS: [&str; 3] = ["jpeg", "jpg", "png"];
/// The side of the usual recipe's crops.
pub(crate) const CROP: Shape = Shape { channels: 3, height: 224, width: 224 };

/// Whether a directory has a folder for training or one for validation.
pub(crate) fn recognises(dir: &Path) -> bool {
    dir.join("train").is_dir() || validation(dir).is_some()
}

fn validation(dir: &Path) -> Option<PathBuf> {
    ["val", "test"].iter().map(|name| dir.join(name)).find(|path| path.is_dir())
}

/// Lists both splits; no photograph is opened.
pub(crate) fn open(dir: &Path) -> Result<Dataset, DataError> {
    let train_dir = dir.join("train");
    let classes = class_folders(&train_dir)?;
    if classes.len() > usize::from(u16::MAX) {
        let found = classes.len().to_string();
        return Err(Mismatch::new("at most 65,535 class folders", found).in_file(&train_dir));
    }
    let val_dir = validation(dir).unwrap_or_else(|| dir.join("val"));
    for class in class_folders(&val_dir)? {
        if classes.binary_search(&class).is_err() {
            return Err(
                Mismatch::new("a class that train/ has too", "one it has not").in_file(&val_dir.join(class))
            );
        }
    }
    let names = classes.iter().map(|class| Some(class.to_string_lossy().into_owned())).collect();
    let train = photos(&train_dir, &classes, Part::Train)?;
    let test = photos(&val_dir, &classes, Part::Test)?;
    Ok(Dataset::new(Kind::ClassFolders, CROP, names, Split::Photos(train), Split::Photos(test)))
}

/// The entries of a directory by name, without hidden ones. Sorted, since the system's order is not
/// reproducible.
fn entries(dir: &Path) -> Result<Vec<(OsString, FileType)>, DataError> {
    let io = |source| DataError::Io { path: dir.to_owned(), source };
    let listed = |entry: std::io::Result<DirEntry>| {
        let entry = entry?;
        // Follows links, with which subsets of ImageNet are commonly made.
        let kind = entry.file_type()?;
        let kind = if kind.is_symlink() { entry.path().metadata()?.file_type() } else { kind };
        Ok((entry.file_name(), kind))
    };
    let mut entries: Vec<_> =
        std::fs::read_dir(dir).map_err(io)?.map(listed).collect::<Result<_, _>>().map_err(io)?;
    entries.retain(|(name, _)| !name.as_encoded_bytes().starts_with(b"."));
    entries.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    Ok(entries)
}

fn class_folders(dir: &Path) -> Result<Vec<OsString>, DataError> {
    let entries = entries(dir)?;
    if let Some((name, _)) = entries.iter().find(|(_, kind)| !kind.is_dir()) {
        return Err(Mismatch::new("nothing but class folders beside it", "a file").in_file(&dir.join(name)));
    }
    if entries.is_empty() {
        return Err(Mismatch::new("class folders", "none").in_file(dir));
    }
    Ok(entries.into_iter().map(|(name, _)| name).collect())
}

/// The photographs of a split. There must be some of every class to train on, not to test on.
fn photos(dir: &Path, classes: &[OsString], part: Part) -> Result<Photos, DataError> {
    let every_class = part == Part::Train;
    let folders: Vec<_> = classes.iter().map(|class| dir.join(class)).collect();
    let mut files = Vec::new();
    for (label, folder) in (0_u16..).zip(&folders) {
        if !every_class && !folder.is_dir() {
            continue;
        }
        let entries = entries(folder)?;
        if entries.is_empty() && every_class {
            return Err(Mismatch::new("photographs", "none").in_file(folder));
        }
        for (name, kind) in entries {
            if !kind.is_file() || !is_photograph(&name) {
                return Err(Mismatch::new("a photograph named .jpeg, .jpg or .png", "something else")
                    .in_file(&folder.join(name)));
            }
            files.push((label, name));
        }
    }
    if files.is_empty() {
        return Err(Mismatch::new("photographs in its class folders", "none").in_file(dir));
    }
    Ok(Photos::new(folders, files))
}

fn is_photograph(name: &OsString) -> bool {
    let extension = Path::new(name).extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    EXTENSIONS.iter().any(|known| extension.eq_ignore_ascii_case(known))
}
