//! `--engine torch` imports the installed package, and nothing from the directory where it is started.
#![cfg(unix)]

use std::path::Path;
use std::process::{Command, Output};

use collegial_experiments::synthetic;

/// A package `collegial` that says where it is from.
fn write_package(folder: &Path, content: &str) {
    std::fs::create_dir_all(folder.join("collegial")).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    let module = format!("__version__ = '{version}'\n{content}\n");
    std::fs::write(folder.join("collegial/__init__.py"), module).unwrap();
    std::fs::write(folder.join("collegial/__main__.py"), "print('the installed package')\n").unwrap();
}

/// Needs `python3`, without any package: the one that is found is made here.
#[test]
fn a_folder_where_it_is_started_is_not_imported() {
    let root = tempfile::tempdir().unwrap();
    let (place, package) = (root.path().join("place"), root.path().join("installed"));
    std::fs::create_dir(&place).unwrap();
    synthetic::write_digits(&place.join("data"), 40, 20, 1).unwrap();
    write_package(&package, "");
    let run = |words: &[&str], path: &str| -> Output {
        let mut program = Command::new(env!("CARGO_BIN_EXE_collegial"));
        program.args(words).current_dir(&place).env("COLLEGIAL_PYTHON", "python3").env("PYTHONPATH", path);
        program.output().unwrap()
    };
    let plan =
        "sweep fc3-8 --data data --epochs 1 --runs 1 --engine torch --seconds-per-step 0.1 --plan plan";
    let planned = run(&plan.split(' ').collect::<Vec<_>>(), "");
    assert!(planned.status.success(), "{}", String::from_utf8_lossy(&planned.stderr));
    // Only now, as if the plan had come with it.
    write_package(&place, "open('executed', 'w').close()");
    let plain = Command::new("python3").args(["-c", "import collegial"]).current_dir(&place).output();
    assert!(plain.expect("python3 runs").status.success());
    assert!(std::fs::remove_file(place.join("executed")).is_ok(), "the folder is found without care");
    let installed = package.to_str().unwrap();
    let train = "train fc3-8 --data data --epochs 1 --engine torch --out run";
    for words in [train, "job plan 0"] {
        let words: Vec<&str> = words.split(' ').collect();
        for path in [format!(":{installed}"), format!("{installed}:"), format!("/nowhere::{installed}")] {
            let output = run(&words, &path);
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(!place.join("executed").exists(), "PYTHONPATH={path} {words:?}: {said}");
            assert_eq!(output.status.code(), Some(0), "PYTHONPATH={path} {words:?}: {said}");
            assert_eq!(output.stdout, b"the installed package\n", "PYTHONPATH={path} {words:?}");
            assert!(said.contains(installed), "{said}");
        }
        // Without any other part whatever is installed is asked, or there is nothing.
        for path in ["", ":", "::"] {
            run(&words, path);
            assert!(!place.join("executed").exists(), "PYTHONPATH={path:?} {words:?}");
        }
        // One that was named is the user's choice.
        run(&words, ".");
        assert!(std::fs::remove_file(place.join("executed")).is_ok(), "{words:?}");
    }
}
