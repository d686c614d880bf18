//! The explorer as a folder of files: the page, and the program that answers it as WebAssembly.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::{Failed, cargo};

/// Where the folder is written.
pub const PLACE: &str = "target/site";

/// The page's source, and what it shares with report pages.
const SOURCES: [&str; 2] = ["crates/collegial/page", "crates/report/look"];

/// What a Rust compiler calls WebAssembly without a system.
const TARGET: &str = "wasm32-unknown-unknown";

/// The most that the folder may weigh compressed, in bytes.
const MOST: usize = 2_000_000;

/// Builds and writes it.
pub fn site() -> Result<(), Failed> {
    if !target_is_there() {
        eprintln!(
            "xtask: the standard library for {TARGET} is missing; `rustup target add {TARGET}` installs it, elsewhere it is \
             part of the distribution's Rust packages"
        );
        return Err(Failed);
    }
    cargo(&["build", "--package", "collegial-web", "--target", TARGET, "--profile", "web"])?;
    let bytes = write().map_err(|error| {
        eprintln!("xtask: cannot write {PLACE}: {error}");
        Failed
    })?;
    if bytes > MOST {
        eprintln!("xtask: {PLACE} has {bytes} bytes compressed, more than {MOST}");
        return Err(Failed);
    }
    eprintln!("xtask: wrote {PLACE}, {bytes} bytes compressed; any web server can serve it");
    Ok(())
}

/// Whether the compiler can build for the target.
fn target_is_there() -> bool {
    let printed = Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]).output();
    printed.is_ok_and(|output| Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir())
}

/// Writes the files; gives their size compressed.
fn write() -> std::io::Result<usize> {
    let place = Path::new(PLACE);
    if place.exists() {
        std::fs::remove_dir_all(place)?;
    }
    std::fs::create_dir_all(place)?;
    let mut size = 0;
    let folders: Vec<_> = SOURCES.iter().map(std::fs::read_dir).collect::<Result<_, _>>()?;
    for entry in folders.into_iter().flatten() {
        let path = entry?.path();
        let mut content = std::fs::read_to_string(&path)?;
        if path.ends_with("index.html") {
            content =
                content.replace(r#"name="answers" content="loopback""#, r#"name="answers" content="wasm""#);
        }
        size += compressed(content.as_bytes())?;
        std::fs::write(place.join(path.file_name().unwrap_or_default()), content)?;
    }
    let program = std::fs::read(format!("target/{TARGET}/web/collegial_web.wasm"))?;
    size += compressed(&program)?;
    std::fs::write(place.join("collegial.wasm"), program)?;
    Ok(size)
}

fn compressed(content: &[u8]) -> std::io::Result<usize> {
    let mut encoder = GzEncoder::new(vec![], Compression::best());
    encoder.write_all(content)?;
    Ok(encoder.finish()?.len())
}
