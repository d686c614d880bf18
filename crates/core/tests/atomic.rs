//! A file is the old one or the new one, whatever fails on the way.

use std::path::{Path, PathBuf};

use collegial_core::files::faults::{Plan, Step, recorded, with_failures};
use collegial_core::files::{TEMPORARY, disk, write_atomic, write_inside};

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn whichever_operation_fails_the_file_is_old_or_new() {
    let mut failures = 0;
    for once in [true, false] {
        for number in 0.. {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("result.json");
            write_atomic(&path, b"old").unwrap();
            let plan = if once { Plan::Once(number) } else { Plan::FromThenOn(number) };
            let (written, failed) = with_failures(plan, || write_atomic(&path, b"new and longer"));
            let content = std::fs::read(&path).unwrap();
            if !failed {
                written.unwrap();
                assert_eq!(content, b"new and longer");
                break;
            }
            failures += 1;
            let sentence = written.unwrap_err().to_string();
            assert!(sentence.starts_with(&format!("cannot write {}: ", path.display())), "{sentence}");
            assert!(!sentence.contains(TEMPORARY), "{sentence}");
            assert!(content == b"old" || content == b"new and longer", "{number}");
            assert_eq!(names(directory.path()), ["result.json"], "{number}");
        }
    }
    // Create, write, sync, rename, sync the directory; each by both plans.
    assert_eq!(failures, 10);
}

/// The real system's words too: tempfile puts the path it tried behind them.
#[test]
fn errors_do_not_name_the_temporary_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("nowhere/result.json");
    let sentence = write_atomic(&path, b"new").unwrap_err().to_string();
    assert!(sentence.starts_with(&format!("cannot write {}: ", path.display())), "{sentence}");
    assert!(!sentence.contains(TEMPORARY) && !sentence.contains(" at path "), "{sentence}");
}

#[test]
fn bytes_are_forced_to_disk_before_they_take_the_name_and_the_name_after() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a");
    let ((), steps) = recorded(|| write_atomic(&path, b"content").unwrap());
    let Step::CreateFile(temporary) = &steps[0] else { panic!("{steps:?}") };
    let expected = [
        Step::CreateFile(temporary.clone()),
        Step::Write(temporary.clone(), b"content".to_vec()),
        Step::Sync(temporary.clone()),
        Step::Rename(temporary.clone(), path.clone()),
        Step::SyncDirectory(PathBuf::from(directory.path())),
    ];
    assert_eq!(steps, expected);
}

/// A process that is killed between the two leaves its temporary file.
#[test]
fn abandoned_files_are_swept_and_new_ones_left() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let names = [".collegial-old", ".collegial-new", "mine"];
    names.iter().for_each(|name| std::fs::write(path(name), "half").unwrap());
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(7200);
    for name in [".collegial-old", "mine"] {
        std::fs::File::options().write(true).open(path(name)).unwrap().set_modified(long_ago).unwrap();
    }
    write_atomic(&path("new"), b"whole").unwrap();
    assert_eq!(names.map(|name| path(name).exists()), [false, true, true]);
}

/// A link in somebody else's run or plan must not decide what is overwritten.
#[test]
#[cfg(unix)]
fn links_inside_a_directory_are_not_followed() {
    use std::os::unix::fs::symlink;
    let place = tempfile::tempdir().unwrap();
    let path = |name: &str| place.path().join(name);
    std::fs::write(path("precious"), "kept").unwrap();
    symlink(path("precious"), path("result")).unwrap();
    write_inside(&path("result"), b"new").unwrap();
    assert_eq!(std::fs::read(path("precious")).unwrap(), b"kept");
    assert_eq!(std::fs::read(path("result")).unwrap(), b"new");

    symlink(path("precious"), path("lock")).unwrap();
    assert!(disk::open_lock(&path("lock")).is_err());
    assert!(disk::open_lock(&path("other-lock")).is_ok());

    std::fs::create_dir(path("elsewhere")).unwrap();
    symlink(path("elsewhere"), path("parts")).unwrap();
    let error = disk::create_inside(&path("parts")).unwrap_err().to_string();
    assert!(error.contains("symbolic link"), "{error}");
    disk::create_inside(&path("others")).unwrap();
}

/// A new directory survives a power loss: its entry and those above it are forced to disk.
#[test]
fn new_directories_are_forced_to_disk_with_their_parents() {
    let place = tempfile::tempdir().unwrap();
    let (_, steps) = recorded(|| disk::create_directories(&place.path().join("a/b/c")).unwrap());
    let synced = |path: &Path| steps.contains(&Step::SyncDirectory(path.to_owned()));
    for parent in ["", "a", "a/b"] {
        assert!(synced(&place.path().join(parent)), "{parent:?} in {steps:?}");
    }
}

/// Whoever made a directory may have been killed before its entry was forced to disk; the next one
/// repairs that.
#[test]
fn a_directory_that_is_found_is_forced_to_disk_too() {
    let place = tempfile::tempdir().unwrap();
    std::fs::create_dir(place.path().join("a")).unwrap();
    let (_, steps) = recorded(|| disk::create_directories(&place.path().join("a/b")).unwrap());
    let (made, parent) = (place.path().join("a/b"), place.path().join("a"));
    let expected = [
        Step::SyncDirectory(place.path().to_owned()),
        Step::CreateDirectory(made.clone()),
        Step::SyncDirectory(parent.clone()),
    ];
    assert_eq!(steps, expected);
    let (_, again) = recorded(|| disk::create_directories(&made).unwrap());
    assert_eq!(again, [Step::SyncDirectory(parent)]);
}
