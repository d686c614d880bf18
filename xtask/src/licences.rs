//! The licences of everything that is linked into the program or the wheel, and where it comes
//! from.
//!
//! By hand, because cargo-deny would take longer to build than the project. Where it is installed it
//! is asked as well, by the same rules (`deny.toml`); advisories are left to whoever can reach a
//! database of them.

use std::process::Command;

use crate::Failed;

/// Licences that let the program be given away under MIT or Apache-2.0.
const ACCEPTED: [&str; 11] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Where packages may come from; ours have no source.
const SOURCE: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Asks Cargo for every dependency on any platform, and names those whose licence is not accepted
/// or that do not come from crates.io.
pub fn check() -> Result<(), Failed> {
    check_sources("Cargo.lock")?;
    check_sources("fuzz/Cargo.lock")?;
    let arguments = ["tree", "--workspace", "--edges", "normal,build", "--target", "all", "--prefix", "none"];
    let listed = Command::new(crate::cargo_program()).args(arguments).args(["--format", "{p}|{l}"]).output();
    let listed = match listed {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).into_owned(),
        Ok(output) => {
            eprintln!("xtask: cargo tree failed: {}", String::from_utf8_lossy(&output.stderr));
            return Err(Failed);
        }
        Err(error) => {
            eprintln!("xtask: cargo tree did not start: {error}");
            return Err(Failed);
        }
    };
    let mut packages: Vec<(&str, &str)> = listed.lines().filter_map(|line| line.split_once('|')).collect();
    packages.sort_unstable();
    packages.dedup();
    let refused: Vec<_> = packages.iter().filter(|(_, licence)| !is_accepted(licence)).collect();
    for (package, licence) in &refused {
        eprintln!("xtask: the licence of {package} is {licence:?}, which is not among the accepted ones");
    }
    if !refused.is_empty() || packages.is_empty() {
        return Err(Failed);
    }
    eprintln!("xtask: the licences of {} packages are accepted", packages.len());
    ask_cargo_deny()
}

/// The same by cargo-deny, where it is installed.
fn ask_cargo_deny() -> Result<(), Failed> {
    let mut there = Command::new("cargo-deny");
    if !there.arg("--version").output().is_ok_and(|output| output.status.success()) {
        eprintln!("xtask: cargo-deny is not installed: nothing else was checked, advisories neither");
        return Ok(());
    }
    crate::run(Command::new("cargo-deny").args(["check", "licenses", "bans", "sources"]))
}

/// Every package of a lock file that is not ours must be crates.io's, with a checksum.
fn check_sources(path: &str) -> Result<(), Failed> {
    let lock = std::fs::read_to_string(path).map_err(|error| {
        eprintln!("xtask: {path}: {error}");
        Failed
    })?;
    let strangers = strangers(&lock);
    for package in &strangers {
        eprintln!("xtask: {package} of {path} does not come from crates.io with a checksum");
    }
    if strangers.is_empty() { Ok(()) } else { Err(Failed) }
}

/// The packages from elsewhere, by the lines with their names.
fn strangers(lock: &str) -> Vec<&str> {
    let is_strange = |package: &&str| {
        let has = |start: &str| package.lines().any(|line| line.starts_with(start));
        has("source = ") && !(has(&format!("source = \"{SOURCE}\"")) && has("checksum = "))
    };
    let packages = lock.split("[[package]]").skip(1).filter(is_strange);
    packages.filter_map(|package| package.trim().lines().next()).collect()
}

/// Whether every AND term of an SPDX expression leaves an accepted choice. Old manifests write OR
/// as a slash, and repeated rows of the tree end in a star.
fn is_accepted(licence: &str) -> bool {
    let plain = licence.trim_end_matches("(*)").replace('/', " OR ").replace(['(', ')'], "");
    let choice = |term: &str| term.split(" OR ").any(|one| ACCEPTED.contains(&one.trim()));
    plain.split(" AND ").all(choice)
}

#[cfg(test)]
mod tests {
    use super::{SOURCE, is_accepted, strangers};

    #[test]
    fn packages_come_from_one_place() {
        let lock = format!(
            "[[package]]\nname = \"ours\"\n\n[[package]]\nname = \"good\"\nsource = \"{SOURCE}\"\nchecksum = \"ab\"\n\n\
             [[package]]\nname = \"bare\"\nsource = \"{SOURCE}\"\n\n\
             [[package]]\nname = \"git\"\nsource = \"git+https://example.org/x\"\nchecksum = \"ab\"\n"
        );
        assert_eq!(strangers(&lock), ["name = \"bare\"", "name = \"git\""]);
    }

    /// One list in two files.
    #[test]
    fn cargo_deny_is_given_the_same_licences() {
        let rules = include_str!("../../deny.toml");
        let list = rules.split_once("allow = [").and_then(|(_, rest)| rest.split_once(']')).unwrap().0;
        let listed: Vec<&str> = list.split(',').map(|word| word.trim().trim_matches('"')).collect();
        assert_eq!(listed, [&super::ACCEPTED[..], &[""]].concat());
        assert!(SOURCE.ends_with("https://github.com/rust-lang/crates.io-index"));
        assert!(rules.contains("allow-registry = [\"https://github.com/rust-lang/crates.io-index\"]"));
    }

    #[test]
    fn expressions_leave_a_choice_or_not() {
        for licence in ["MIT", "MIT/Apache-2.0", "MIT OR LGPL-2.1-or-later (*)", "(MIT OR X) AND Unicode-3.0"]
        {
            assert!(is_accepted(licence), "{licence}");
        }
        for licence in ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT OR Apache-2.0) AND X"] {
            assert!(!is_accepted(licence), "{licence}");
        }
    }
}
