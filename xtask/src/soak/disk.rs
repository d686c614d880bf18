//! A file system that is soon full.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A mounted file system in memory, unmounted when dropped.
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts one at a new directory; `None` where that is not allowed.
    pub fn mount(path: &Path) -> Option<Self> {
        std::fs::create_dir_all(path).ok()?;
        let words = ["-t", "tmpfs", "-o", "size=1536k", "collegial-soak"];
        let mounted = quiet(Command::new("mount").args(words).arg(path));
        mounted.then(|| Self(path.to_owned()))
    }

    /// Unmounts one that a soak before this one left.
    pub fn remove_old(path: &Path) {
        quiet(Command::new("umount").arg(path));
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Leaves so many bytes of room, or hardly fewer.
    pub fn fill(&self, room: usize) {
        let Ok(mut file) = File::create(self.ballast()) else { return };
        // By pages, until there is no room; then some of it is given back.
        let mut written = 0_u64;
        while file.write_all(&[0; 4096]).is_ok() {
            written += 4096;
        }
        let _ = file.set_len(written.saturating_sub(room as u64));
    }

    /// Makes room again.
    pub fn empty(&self) {
        let _ = std::fs::remove_file(self.ballast());
    }

    fn ballast(&self) -> PathBuf {
        self.0.join("ballast")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        Self::remove_old(&self.0);
    }
}

fn quiet(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}
