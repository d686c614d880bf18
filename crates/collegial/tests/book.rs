//! The book in `docs/`: every command in it is run, and every link leads somewhere.
//!
//! Of a block ```` ```console ```` the lines that begin with `$ ` are run in order, and the lines
//! below a command must be parts of its output, in that order. Blocks of TOML or CSV whose first
//! line is `# NAME` are files that later commands of the chapter find under that name. A small data
//! set in `data` and a network for it in `small.toml` are there too.

use std::path::{Path, PathBuf};
use std::process::Command;

use collegial_arch::{Activation, Spec, Stem};
use collegial_testing::{NETWORK, write_data};

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// Name and text of every page in the book's folders.
fn pages() -> Vec<(String, String)> {
    let folders = [docs(), docs().join("reference")];
    let entries = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let paths = entries.map(|entry| entry.unwrap().path());
    let pages = paths.filter(|path| path.extension().is_some_and(|ending| ending == "md"));
    let named = |path: PathBuf| {
        let name = path.strip_prefix(docs()).unwrap().to_string_lossy().into_owned();
        (name, std::fs::read_to_string(path).unwrap())
    };
    pages.map(named).collect()
}

/// Fenced blocks: language and content.
fn blocks(text: &str) -> Vec<(String, String)> {
    let mut blocks: Vec<(String, String)> = vec![];
    let mut inside = false;
    for line in text.lines() {
        match (line.strip_prefix("```"), inside) {
            (Some(language), false) => {
                blocks.push((language.trim().to_owned(), String::new()));
                inside = true;
            }
            (Some(_), true) => inside = false,
            (None, true) => {
                let content = &mut blocks.last_mut().unwrap().1;
                content.push_str(line);
                content.push('\n');
            }
            (None, false) => {}
        }
    }
    blocks
}

/// Runs the commands of a block; gives how many there were, or what is not as written.
fn run(block: &str, place: &Path) -> Result<usize, String> {
    let (mut printed, mut count) = (String::new(), 0);
    for line in block.lines().map(str::trim_end) {
        if let Some(command) = line.strip_prefix("$ ") {
            printed = output(command, place)?;
            count += 1;
        } else if let Some((_, rest)) = printed.split_once(line.trim_start()) {
            // Lines come in the order of the page.
            printed = rest.to_owned();
        } else {
            return Err(format!("{line:?} is not in\n{printed}"));
        }
    }
    if count == 0 { Err(format!("no line begins with `$ `:\n{block}")) } else { Ok(count) }
}

/// What a command prints.
fn output(command: &str, place: &Path) -> Result<String, String> {
    let Some(words) = command.strip_prefix("collegial ") else {
        return Err(format!("{command}: only `collegial` can be run"));
    };
    let mut program = Command::new(env!("CARGO_BIN_EXE_collegial"));
    let words = words.split_whitespace();
    let output = program.args(words).current_dir(place).output().unwrap();
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("{command}: {}", String::from_utf8_lossy(&output.stderr)))
    }
}

#[test]
fn every_command_of_the_book_runs() {
    let mut count = 0;
    for (page, text) in pages() {
        let place = tempfile::tempdir().unwrap();
        write_data(&place.path().join("data"), 60, 20);
        std::fs::write(place.path().join("small.toml"), NETWORK).unwrap();
        for (language, content) in blocks(&text) {
            match (language.as_str(), content.split_once('\n')) {
                ("console", _) => {
                    count += run(&content, place.path()).unwrap_or_else(|why| panic!("{page}: {why}"));
                }
                ("toml" | "csv", Some((first, rest))) if first.starts_with("# ") => {
                    std::fs::write(place.path().join(&first[2..]), rest).unwrap();
                }
                _ => {}
            }
        }
    }
    assert!(count > 20, "only {count} commands were found");
}

/// A block that is not as the program prints it is noticed.
#[test]
fn blocks_can_fail() {
    let place = tempfile::tempdir().unwrap();
    let run = |block: &str| run(block, place.path());
    let right = "$ collegial info resnext29-47x8d\nresnext29-47x8d: 13,528,810 parameters\n";
    assert_eq!(run(right), Ok(1));
    let wrong = [
        ("$ collegial info resnext29-47x8d\n13,528,811 parameters\n", "\"13,528,811 parameters\" is not in"),
        ("$ collegial info resnext29-47x8d\n13,528,810 parameters\nbn1\n", "\"bn1\" is not in"),
        ("$ collegial info resnet-of-nobody\n", "collegial info resnet-of-nobody: "),
        ("$ collegiate info resnext29-47x8d\n", "only `collegial` can be run"),
        ("collegial info resnext29-47x8d\n", "is not in"),
        ("", "no line begins with"),
    ];
    for (block, why) in wrong {
        let found = run(block).expect_err(block);
        assert!(found.contains(why), "{block}: {found}");
    }
}

/// A block in no language, or in one that is misspelt, would be tested by nothing.
#[test]
fn every_block_is_in_a_language_that_is_tested() {
    // Python's blocks are tested by python/tests/test_written_python.py.
    let known = ["console", "csv", "python", "rust", "sh", "text", "toml"];
    for (page, text) in written() {
        for (language, content) in blocks(&text) {
            assert!(known.contains(&language.as_str()), "{page}: a block in {language:?}:\n{content}");
        }
    }
}

/// The README's Rust is the code between the marks.
#[test]
fn the_readmes_rust_runs() -> Result<(), Box<dyn std::error::Error>> {
    // README
    use collegial_search::DesignSearch;
    let answer = DesignSearch::new("resnext29-1x128d".parse()?).run()?;
    assert_eq!(answer.primal.design.to_string(), "66x6d");
    // end
    let readme = std::fs::read_to_string(docs().join("../README.md"))?;
    let shown: Vec<String> =
        blocks(&readme).into_iter().filter(|block| block.0 == "rust").map(|block| block.1).collect();
    let (_, rest) = include_str!("book.rs").split_once("    // README\n").ok_or("no first mark")?;
    let (run, _) = rest.split_once("    // end\n").ok_or("no last mark")?;
    assert_eq!(shown, [run.replace("    ", "")]);
    Ok(())
}

/// The targets of `[text](target)`, outside code.
fn links(text: &str) -> Vec<String> {
    let mut outside = String::new();
    let mut inside = false;
    for line in text.lines() {
        if line.starts_with("```") {
            inside = !inside;
        } else if !inside {
            outside.push_str(line);
            outside.push('\n');
        }
    }
    let target = |part: &str| part.split_once(')').map(|(target, _)| target.to_owned());
    outside.split("](").skip(1).filter_map(target).collect()
}

#[test]
fn every_link_of_the_book_leads_somewhere() {
    let mut pages = pages();
    let readme = std::fs::read_to_string(docs().join("../README.md")).unwrap();
    pages.push(("../README.md".into(), readme));
    for (page, text) in pages {
        let folder = docs().join(&page).parent().unwrap().to_owned();
        for link in links(&text).into_iter().filter(|link| !link.contains("://")) {
            let file = link.split('#').next().unwrap_or_default();
            assert!(file.is_empty() || folder.join(file).exists(), "{page}: {link}");
        }
    }
}

/// Files that the book names as the place of a formula are there.
#[test]
fn every_source_that_the_book_names_exists() {
    for (page, text) in pages() {
        if page == "architecture.md" {
            continue;
        }
        let quoted = text.split('`').skip(1).step_by(2);
        for path in
            quoted.filter(|quoted| quoted.starts_with("crates/") && !quoted.contains(char::is_whitespace))
        {
            assert!(docs().join("..").join(path).exists(), "{page}: {path}");
        }
    }
}

/// The reference has an example of every kind of spec, with all the keys that its kind has.
#[test]
fn every_kind_of_spec_has_an_example_with_all_its_keys() {
    let text = std::fs::read_to_string(docs().join("reference.md")).unwrap();
    let mut kinds = vec![];
    for (language, content) in blocks(&text) {
        if language != "toml" {
            continue;
        }
        let spec = Spec::from_toml(&content).unwrap_or_else(|error| panic!("{content}\n{error}"));
        let document: serde_json::Value = serde_json::to_value(&spec).unwrap();
        let missing =
            document.as_object().unwrap().keys().find(|key| !content.contains(&format!("{key} = ")));
        assert_eq!(missing, None, "{content}");
        kinds.push(document["kind"].as_str().unwrap().to_owned());
    }
    kinds.sort();
    assert_eq!(kinds, ["bottleneck", "fully-connected", "regnet", "resnext", "sequence", "wide-resnet"]);
}

/// The reference names every activation and every stem as specs write them.
#[test]
fn every_activation_and_stem_is_in_the_reference() {
    let text = std::fs::read_to_string(docs().join("reference.md")).unwrap();
    let activations = Activation::ALL.map(|activation| serde_json::to_string(&activation).unwrap());
    let stems = Stem::ALL.map(|stem| serde_json::to_string(&stem).unwrap());
    for name in activations.iter().chain(&stems) {
        assert!(text.contains(name), "{name}");
    }
}

/// Commands in running text, in the README's blocks and under the reproduction's pages, which are not
/// run, are at least ones that the program understands.
#[test]
fn every_command_that_is_written_down_is_understood() {
    let (mut count, mut made) = (0, 0);
    for (page, text) in written() {
        for command in commands(&text) {
            let words: Vec<&str> = command.split_whitespace().collect();
            collegial::program::understood(&words).unwrap_or_else(|why| panic!("{page}: {command}: {why}"));
            count += 1;
            made += usize::from(text.contains("Made by"));
        }
    }
    assert!(count > 100 && made > 20, "only {count} commands were found, {made} on pages that one made");
}

/// The book, the README and the pages of the reproduction.
fn written() -> Vec<(String, String)> {
    let read = |path: PathBuf| (path.display().to_string(), std::fs::read_to_string(&path).unwrap());
    let folder = std::fs::read_dir(docs().join("reproduction")).unwrap();
    let paths = folder.map(|entry| entry.unwrap().path());
    let reproduction = paths.filter(|path| path.extension().is_some_and(|ending| ending == "md"));
    let others =
        reproduction.chain([docs().join("../README.md"), docs().join("../examples/specs/README.md")]);
    pages().into_iter().chain(others.map(read)).collect()
}

/// What is quoted as, or indented or prompted like, a whole command: a verb and something behind it.
/// Forms with placeholders for what is no word of their kind (`I/N`, a verb) are none.
fn commands(text: &str) -> Vec<String> {
    let quoted = text.split('`').skip(1).step_by(2).map(str::to_owned);
    let lines = text.lines().map(str::trim_start);
    let typed = lines.map(|line| line.strip_prefix("$ ").unwrap_or(line).to_owned());
    let all =
        quoted.chain(typed).map(|command| command.split(" # ").next().unwrap_or_default().trim().to_owned());
    let whole =
        all.filter(|command| command.starts_with("collegial ") && command.split_whitespace().count() > 2);
    let forms = ["...", "I/N", "collegial help"];
    let plain = |command: &String| {
        !command.contains(['[', '…', '|', '>', '\n']) && !forms.iter().any(|form| command.contains(form))
    };
    whole.filter(plain).collect()
}

/// The specs to start from are read, counted and, where there is something to split, searched.
#[test]
fn every_example_spec_is_taken() {
    let folder = docs().join("../examples/specs");
    let mut count = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "toml") {
            continue;
        }
        let verbs: &[&str] = if path.ends_with("basic-block.toml") { &["info"] } else { &["info", "search"] };
        for verb in verbs {
            let mut program = Command::new(env!("CARGO_BIN_EXE_collegial"));
            let output = program.arg(verb).arg(&path).arg("--json").output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        count += 1;
    }
    assert_eq!(count, 5);
}
