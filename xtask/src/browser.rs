//! The explorer's page in real browsers: Node.js drives Chromium through playwright-core, and
//! Firefox over WebDriver BiDi.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{Failed, run, site};

/// Where the tests are.
const TESTS: &str = "crates/collegial/browser";

/// Where they run, so that nothing is installed into the source.
const PLACE: &str = "target/explorer-browser";

/// Where the site that is tested says that it is served; nobody asks there.
pub const ADDRESS: &str = "https://explorer.example/";

/// The tests.
const FILES: [&str; 5] =
    ["explorer.test.mjs", "report.test.mjs", "site.test.mjs", "views.test.mjs", "firefox.test.mjs"];

/// Runs them against a binary.
pub fn test(binary: &str) -> Result<(), Failed> {
    let missing = |name: &str, variable: &str| {
        eprintln!("xtask: no {name} was found; install one, or name it with {variable}=/path/to/it");
        Failed
    };
    let chromium = chromium().ok_or_else(|| missing("Chromium", "CHROMIUM"))?;
    let firefox =
        first("FIREFOX", &["firefox-esr", "firefox"]).ok_or_else(|| missing("Firefox", "FIREFOX"))?;
    let place = Path::new(PLACE);
    let copied = std::fs::create_dir_all(place).and_then(|()| {
        for name in ["package.json", "package-lock.json", "speed.mjs"].iter().chain(&FILES) {
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
        .arg("--test")
        .args(FILES)
        .current_dir(place)
        .env("COLLEGIAL", binary)
        .env("CHROMIUM", chromium)
        .env("FIREFOX", firefox)
        .env("ADDRESS", ADDRESS)
        .env("SITE", site))
}

/// A Chromium, if there is one.
pub fn chromium() -> Option<PathBuf> {
    first("CHROMIUM", &["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"])
}

/// The browser that a variable names, or the first of these that starts.
fn first(variable: &str, names: &[&str]) -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(variable) {
        return Some(named.into());
    }
    let folders = std::env::var_os("PATH")?;
    let found =
        std::env::split_paths(&folders).flat_map(|folder| names.iter().map(move |name| folder.join(name)));
    found.into_iter().find(|path| {
        let mut command = Command::new(path);
        command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    })
}
