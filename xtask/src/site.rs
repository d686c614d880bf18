//! The explorer as a folder of files: the page, the program that answers it as WebAssembly, and the
//! picture with which others show a link to it.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::{Failed, browser, cargo};

/// Where the folder is written.
pub const PLACE: &str = "target/site";

/// The page's source, and what it shares with report pages.
const SOURCES: [&str; 2] = ["crates/collegial/page", "crates/report/look"];

/// What the picture of a link shows.
const PICTURE: &str = "docs/figures/members.svg";

/// The title and the sentence of a link, and of its picture.
const TITLE: &str = "collegial: how many members, how wide";
const SENTENCE: &str = "How to split a network, exactly and without training: many narrow members cost as much as a wide one, \
     and their tangent kernel varies less.";

/// What a Rust compiler calls WebAssembly without a system.
const TARGET: &str = "wasm32-unknown-unknown";

/// The most that the folder may weigh compressed, in bytes.
const MOST: usize = 2_000_000;

/// Builds and writes it; `url` is where it will be served, if that is known.
pub fn site(url: Option<&str>) -> Result<(), Failed> {
    if let Some(other) = url.filter(|url| !url.starts_with("https://") && !url.starts_with("http://")) {
        eprintln!(
            "xtask: --url is {other}; give the address of the folder, such as https://example.org/collegial"
        );
        return Err(Failed);
    }
    if !target_is_there() {
        eprintln!(
            "xtask: the standard library for {TARGET} is missing; `rustup target add {TARGET}` installs it, elsewhere it is \
             part of the distribution's Rust packages"
        );
        return Err(Failed);
    }
    cargo(&["build", "--package", "collegial-web", "--target", TARGET, "--profile", "web"])?;
    let bytes = write(url).map_err(|error| {
        eprintln!("xtask: cannot write {PLACE}: {error}");
        Failed
    })?;
    if bytes > MOST {
        eprintln!("xtask: {PLACE} has {bytes} bytes compressed, more than {MOST}");
        return Err(Failed);
    }
    eprintln!("xtask: wrote {PLACE}, {bytes} bytes compressed; any web server can serve it");
    if url.is_none() {
        eprintln!(
            "xtask: links to it show no picture on most sites, which want its whole address: --url BASE gives it"
        );
    }
    Ok(())
}

/// Whether the compiler can build for the target.
fn target_is_there() -> bool {
    let printed = Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]).output();
    printed.is_ok_and(|output| Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir())
}

/// Writes the files; gives their size compressed.
fn write(url: Option<&str>) -> std::io::Result<usize> {
    let place = Path::new(PLACE);
    if place.exists() {
        std::fs::remove_dir_all(place)?;
    }
    std::fs::create_dir_all(place)?;
    let (image, mut size) = card(place)?;
    let folders: Vec<_> = SOURCES.iter().map(std::fs::read_dir).collect::<Result<_, _>>()?;
    for entry in folders.into_iter().flatten() {
        let path = entry?.path();
        let mut content = std::fs::read_to_string(&path)?;
        if path.ends_with("index.html") {
            content = content
                .replace(r#"name="answers" content="loopback""#, r#"name="answers" content="wasm""#)
                .replace("<title>collegial</title>", &head(url, image));
        }
        size += compressed(content.as_bytes())?;
        std::fs::write(place.join(path.file_name().unwrap_or_default()), content)?;
    }
    let program = std::fs::read(format!("target/{TARGET}/web/collegial_web.wasm"))?;
    size += compressed(&program)?;
    std::fs::write(place.join("collegial.wasm"), program)?;
    Ok(size)
}

/// The title, and what others show of a link. Most want the whole address of its picture, which only
/// the folder's own address makes.
fn head(url: Option<&str>, image: &str) -> String {
    let property =
        |name: &str, content: &str| format!("<meta property=\"og:{name}\" content=\"{content}\">\n");
    let base = url.map(|url| url.trim_end_matches('/').replace('&', "&amp;").replace('"', "&quot;"));
    let base = base.as_deref();
    format!(
        "<title>collegial</title>\n<meta name=\"description\" content=\"{SENTENCE}\">\n{}{}{}{}<meta name=\"twitter:card\" content=\"summary_large_image\">",
        property("type", "website")
            + &base.map_or(String::new(), |base| property("url", &format!("{base}/"))),
        property("title", TITLE),
        property("description", SENTENCE),
        property("image", &base.map_or_else(|| image.to_owned(), |base| format!("{base}/{image}"))),
    )
}

/// Writes the picture of a link as SVG and, where there is a Chromium, as PNG, which more readers
/// of links take; gives the name of the better one, and the size of both.
fn card(place: &Path) -> std::io::Result<(&'static str, usize)> {
    let members = std::fs::read_to_string(PICTURE)?;
    // Its first tag has a size of its own; the rest is put into another.
    let inside = members.split_once('>').map_or("", |(_, rest)| rest);
    let svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1200 630\" width=\"1200\" height=\"630\">\n\
         <rect width=\"1200\" height=\"630\" fill=\"#fafaf8\"/>\n\
         <text x=\"60\" y=\"82\" font-family=\"system-ui, sans-serif\" font-size=\"46\" font-weight=\"650\" fill=\"#1f2328\">{TITLE}</text>\n\
         <svg x=\"60\" y=\"120\" width=\"1080\" height=\"469\" viewBox=\"0 0 760 330\" font-family=\"system-ui, sans-serif\" font-size=\"14\">{inside}\n</svg>\n"
    );
    let path = place.join("card.svg");
    std::fs::write(&path, &svg)?;
    let size = compressed(svg.as_bytes())?;
    let (drawn, png) = (std::fs::canonicalize(&path)?, std::path::absolute(place.join("card.png"))?);
    let made = browser::chromium().is_some_and(|chromium| {
        let mut command = Command::new(chromium);
        command.args(["--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=1200,630"]);
        command.arg(format!("--screenshot={}", png.display())).arg(format!("file://{}", drawn.display()));
        command.output().is_ok_and(|output| output.status.success()) && png.is_file()
    });
    if !made {
        eprintln!("xtask: no Chromium drew {}; links show the SVG, which fewer readers take", png.display());
        return Ok(("card.svg", size));
    }
    Ok(("card.png", size + std::fs::metadata(png)?.len() as usize))
}

fn compressed(content: &[u8]) -> std::io::Result<usize> {
    let mut encoder = GzEncoder::new(vec![], Compression::best());
    encoder.write_all(content)?;
    Ok(encoder.finish()?.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_address_makes_that_of_the_picture_whole() {
        let of = |url| head(url, "card.png");
        for url in ["https://example.org/collegial", "https://example.org/collegial/"] {
            let head = of(Some(url));
            assert!(
                head.contains(r#""og:image" content="https://example.org/collegial/card.png""#),
                "{head}"
            );
            assert!(head.contains(r#""og:url" content="https://example.org/collegial/""#), "{head}");
        }
        assert!(of(None).contains(r#""og:image" content="card.png""#) && !of(None).contains("og:url"));
    }
}
