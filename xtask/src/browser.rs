//! The explorer's page in a real browser: Node.js drives Chromium through playwright-core.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{Failed, run, site};

/// Where the tests are.
const TESTS: &str = "crates/collegial/browser";

/// Where they run, so that nothing is installed into the source.
const PLACE: &str = "target/explorer-browser";

/// Runs them against a binary.
pub fn test(binary: &str) -> Result<(), Failed> {
    let Some(chromium) = chromium() else {
        eprintln!("xtask: no Chromium was found; install one, or name it with CHROMIUM=/path/to/chromium");
        return Err(Failed);
    };
    let place = Path::new(PLACE);
    let copied = std::fs::create_dir_all(place).and_then(|()| {
        for name in [
            "package.json",
            "package-lock.json",
            "explorer.test.mjs",
            "report.test.mjs",
            "site.test.mjs",
            "views.test.mjs",
            "speed.mjs",
        ] {
            std::fs::copy(Path::new(TESTS).join(name), place.join(name))?;
        }
        Ok((std::fs::canonicalize(binary)?, std::fs::canonicalize(site::PLACE)?))
    });
    let (binary, site) = copied.map_err(|error| {
        eprintln!("xtask: cannot prepare {PLACE}: {error}");
        Failed
    })?;
    run(Command::new("npm").args(["ci", "--silent", "--no-audit", "--no-fund"]).current_dir(place))?;
    let mut node = Command::new("node");
    run(node
        .args(["--test", "explorer.test.mjs", "report.test.mjs", "site.test.mjs", "views.test.mjs"])
        .current_dir(place)
        .env("COLLEGIAL", binary)
        .env("CHROMIUM", chromium)
        .env("SITE", site))
}

/// The browser that CHROMIUM names, or the first that starts.
pub fn chromium() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("CHROMIUM") {
        return Some(named.into());
    }
    let folders = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    let found = std::env::split_paths(&folders).flat_map(|folder| names.map(|name| folder.join(name)));
    found.into_iter().find(|path| {
        let mut command = Command::new(path);
        command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    })
}
