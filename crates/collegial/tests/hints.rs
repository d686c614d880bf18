//! What an answer says to do next can be done: every printed command is run.

use std::path::{Path, PathBuf};
use std::process::Command;

fn collegial(place: &Path, words: &[&str]) -> String {
    let mut program = Command::new(env!("CARGO_BIN_EXE_collegial"));
    let output = program.current_dir(place).args(words).arg("--quiet").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "collegial {}: {said}", words.join(" "));
    String::from_utf8(output.stdout).unwrap()
}

/// The commands below `next: `; a line that ends with a backslash goes on.
fn commands(text: &str) -> Vec<String> {
    let Some((_, next)) = text.split_once("next: ") else { return vec![] };
    let lines = next.replace("\\\n", " ");
    let commands = lines.lines().map(str::trim).filter_map(|line| line.strip_prefix("collegial "));
    commands.map(|line| line.split(" draws ").next().unwrap().to_owned()).collect()
}

fn specs() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/specs");
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|ending| ending == "toml")).collect()
}

#[test]
fn every_hint_is_a_command_that_works() {
    let place = tempfile::tempdir().unwrap();
    let names = "resnet50 resnext29-1x128d resnext38-1x64d resnext50-32x4d regnet_x_400mf seresnet50 fc6-100 bottleneck-128 \
                 bottleneck-2x32_48d";
    let specs = specs().into_iter().map(|path| path.display().to_string());
    let (mut asked, mut exported) = (0, 0);
    for model in names.split_whitespace().map(str::to_owned).chain(specs) {
        asked += 1;
        for command in commands(&collegial(place.path(), &["search", &model])) {
            let words: Vec<&str> = command.split_whitespace().collect();
            if words[0] == "export" {
                collegial(place.path(), &words);
                exported += 1;
            } else {
                // Draws of whole networks take minutes.
                let whole = [&["collegial"], &words[..]].concat();
                collegial::program::understood(&whole).unwrap_or_else(|why| panic!("{command}: {why}"));
            }
        }
    }
    assert_eq!(asked, 14);
    assert!(exported >= 11, "only {exported} exports were offered");
}
