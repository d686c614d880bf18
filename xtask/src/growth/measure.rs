//! Time and peak memory of a process.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// What one run of a command took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usage {
    /// By the clock, from before it is started until it has ended.
    pub seconds: f64,
    /// The most resident memory that it had at any moment.
    pub peak_bytes: u64,
}

/// Runs a program to its end; results go nowhere, what it says on standard error into the directory.
///
/// The kernel counts the memory of the process that starts another one as the other one's, too, up
/// to the moment at which the other program takes over: what this one holds is a lower bound of
/// every peak, and it holds less than any program of interest.
pub fn run(program: &Path, words: &[String], directory: &Path) -> Result<Usage, String> {
    let said = directory.join("stderr.txt");
    let file = std::fs::File::create(&said).map_err(|error| format!("{}: {error}", said.display()))?;
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
    let start = Instant::now();
    let child = command.spawn().map_err(|error| format!("{} did not start: {error}", program.display()))?;
    let (ended_well, peak_bytes) = wait(&child)?;
    let seconds = start.elapsed().as_secs_f64();
    if ended_well {
        return Ok(Usage { seconds, peak_bytes });
    }
    let sentence = std::fs::read_to_string(&said).unwrap_or_default();
    Err(format!("`collegial {}` did not end well: {}", words.join(" "), sentence.trim()))
}

/// Whether a child ended with exit code 0, and its peak memory.
#[cfg(unix)]
fn wait(child: &std::process::Child) -> Result<(bool, u64), String> {
    let mut status = 0;
    // SAFETY: zeros are a valid rusage.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the child is ours and nobody else waits for it; both places are ours, too.
    let waited = unsafe { libc::wait4(child.id().cast_signed(), &raw mut status, 0, &raw mut usage) };
    if waited < 0 {
        return Err(format!("waiting for the program: {}", std::io::Error::last_os_error()));
    }
    // Kilobytes everywhere but on Apple's systems.
    let unit = if cfg!(target_vendor = "apple") { 1 } else { 1024 };
    Ok((status == 0, usage.ru_maxrss.cast_unsigned() * unit))
}

#[cfg(not(unix))]
fn wait(_: &std::process::Child) -> Result<(bool, u64), String> {
    Err("the memory of a process is only known on Unix".to_owned())
}

/// The number of cores and the name of the CPU, as far as the system tells it.
pub fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let told = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = told.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let name = name.map_or(std::env::consts::ARCH, |(_, name)| name.trim());
    format!("{cores} cores of {}", name.replace(',', " "))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Result<Usage, String> {
        run(Path::new("/bin/sh"), &["-c".to_owned(), script.to_owned()], &std::env::temp_dir())
    }

    #[test]
    fn time_and_memory_are_those_of_the_child() {
        let usage = shell("sleep 0.2").unwrap();
        assert!(usage.seconds >= 0.2 && usage.peak_bytes > 100_000, "{usage:?}");
        // A shell that holds a text of twenty million characters.
        let large = shell("x=$(head -c 20000000 /dev/zero | tr '\\0' x); test ${#x} = 20000000").unwrap();
        assert!(large.peak_bytes > usage.peak_bytes + 20_000_000, "{large:?} {usage:?}");
    }

    #[test]
    fn a_command_that_fails_is_told_with_its_sentence() {
        let sentence = shell("echo no such thing >&2; exit 3").unwrap_err();
        assert!(sentence.ends_with("did not end well: no such thing"), "{sentence}");
    }
}
