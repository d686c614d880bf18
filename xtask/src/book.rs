//! The book: built by mdBook, then every link of what came out is followed.

use std::collections::{HashMap, HashSet};
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use crate::{Failed, cargo_program, run};

/// Where the book is written, as `docs/book.toml` says.
const PLACE: &str = "target/book";

/// mdBook, which is a program of its own and no part of this one.
const VERSION: &str = "0.5.2";

/// Where it is installed, once.
const TOOLS: &str = "target/tools";

/// Builds the book and checks its links.
pub fn book() -> Result<(), Failed> {
    let mdbook = Path::new(TOOLS).join("bin").join(format!("mdbook{}", std::env::consts::EXE_SUFFIX));
    if !is_version(&mdbook) {
        eprintln!("xtask: installing mdBook {VERSION} into {TOOLS}");
        let options = ["install", "mdbook", "--locked", "--no-default-features", "--quiet"];
        run(Command::new(cargo_program())
            .args(options)
            .args(["--version", VERSION, "--root", TOOLS])
            .env("CARGO_TARGET_DIR", Path::new(TOOLS).join("build")))?;
    }
    run(Command::new(&mdbook).args(["build", "docs"]))?;
    let dead = dead_links(Path::new(PLACE)).map_err(|error| {
        eprintln!("xtask: cannot read {PLACE}: {error}");
        Failed
    })?;
    for sentence in &dead {
        eprintln!("xtask: {sentence}");
    }
    if dead.is_empty() {
        eprintln!("xtask: wrote {PLACE}/index.html; every link in it leads somewhere");
        Ok(())
    } else {
        Err(Failed)
    }
}

fn is_version(mdbook: &Path) -> bool {
    let output = Command::new(mdbook).arg("--version").output();
    output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(VERSION))
}

/// A sentence for every link to a file or a heading that is not there. Links to other sites are not
/// followed: they would make a check of this book depend on them.
fn dead_links(folder: &Path) -> std::io::Result<Vec<String>> {
    let pages: HashMap<PathBuf, String> = html_files(folder)?;
    let anchors: HashMap<&Path, HashSet<&str>> =
        pages.iter().map(|(path, html)| (path.as_path(), values(html, "id").collect())).collect();
    let mut dead = vec![];
    for (page, html) in &pages {
        // Its links are those of the chapters, from another folder.
        if page.ends_with("print.html") || page.ends_with("404.html") || page.ends_with("toc.html") {
            continue;
        }
        let links = values(html, "href").chain(values(html, "src"));
        for link in links.filter(|link| !link.contains("://") && !link.starts_with("data:")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => page.clone(),
                file => joined(page.parent().unwrap_or(folder), file),
            };
            let there = if target.is_dir() { target.join("index.html").is_file() } else { target.is_file() };
            let known = anchors.get(target.as_path()).is_none_or(|ids| ids.contains(anchor));
            if !there || !(anchor.is_empty() || known) {
                dead.push(format!("{}: the link {link} leads nowhere", page.display()));
            }
        }
    }
    dead.sort();
    Ok(dead)
}

/// A path with `..` taken out.
fn joined(folder: &Path, link: &str) -> PathBuf {
    let mut path = folder.to_owned();
    for part in Path::new(&link.replace("%20", " ")).components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            Component::CurDir => {}
            part => path.push(part),
        }
    }
    path
}

fn html_files(folder: &Path) -> std::io::Result<HashMap<PathBuf, String>> {
    let mut found = HashMap::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(html_files(&path)?);
        } else if path.extension().is_some_and(|ending| ending == "html") {
            let html = std::fs::read_to_string(&path)?;
            found.insert(path, html);
        }
    }
    Ok(found)
}

/// The values of an attribute, wherever it is.
fn values<'a>(html: &'a str, attribute: &str) -> impl Iterator<Item = &'a str> {
    let pattern = format!(" {attribute}=\"");
    let found: Vec<usize> = html.match_indices(&pattern).map(|(at, _)| at + pattern.len()).collect();
    found.into_iter().filter_map(move |start| html[start..].split('"').next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_links_are_found() {
        let folder = std::env::temp_dir().join(format!("collegial-book-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("part")).unwrap();
        std::fs::write(
            folder.join("index.html"),
            r#"<a href="part/one.html#there">1</a> <a href="part/one.html#not">2</a> <img src="gone.svg"/> <a href="https://a.b">3</a>"#,
        )
        .unwrap();
        std::fs::write(
            folder.join("part/one.html"),
            r##"<h1 id="there">x</h1> <a href="../index.html">up</a> <a href="#there">here</a>"##,
        )
        .unwrap();
        let dead = dead_links(&folder).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(dead.len(), 2, "{dead:?}");
        assert!(dead[0].contains("gone.svg") && dead[1].contains("one.html#not"), "{dead:?}");
    }
}
