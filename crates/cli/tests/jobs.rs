//! Plans and their jobs from the outside: what any scheduler sees.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use collegial_trials::synthetic;
use serde_json::Value;

struct Bench {
    root: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        synthetic::write_digits(&root.path().join("data"), 200, 60, 0).unwrap();
        Self { root }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_collegial"));
        command.args(words).args(["--quiet", "--threads", "1"]).current_dir(self.root.path());
        command
    }

    fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    /// Runs, which must succeed, and reads what was printed.
    fn json(&self, words: &[&str]) -> Value {
        let output = self.run(&[words, &["--json"]].concat());
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

const VALIDATE: [&str; 9] =
    ["validate", "fc3-12", "--data", "data", "--designs", "3", "--epochs", "2", "--dual"];

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Jobs in another order, some of them twice, one killed on its way: the bytes of one process.
#[test]
fn jobs_leave_what_one_process_leaves() {
    let bench = Bench::new();
    let whole = bench.run(&[&VALIDATE[..], &["--runs", "2", "--out", "whole"]].concat());
    // On noise the prediction may even be contradicted, which is exit 1.
    assert!(matches!(whole.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&whole.stderr));
    let planned = bench.json(&[&VALIDATE[..], &["--runs", "2", "--plan", "plan"]].concat());
    let count = planned["jobs"].as_u64().unwrap() as usize;
    assert_eq!((count, &planned["finished"]), (10, &0.into()), "{planned}");
    let bill = &planned["bill"];
    let lines = bill["lines"].as_array().unwrap();
    let jobs: u64 = lines.iter().map(|line| line["jobs"].as_u64().unwrap()).sum();
    let seconds: f64 = lines.iter().map(|line| line["seconds"].as_f64().unwrap()).sum();
    assert_eq!((jobs, bill["jobs"].as_u64().unwrap()), (10, 10), "{bill}");
    assert!((bill["seconds"].as_f64().unwrap() / seconds - 1.0).abs() < 1e-12, "{bill}");
    for line in lines {
        // Two epochs of one step each, and what testing takes.
        let one = line["seconds"].as_f64().unwrap() / line["jobs"].as_f64().unwrap();
        assert!(one > 2.0 * line["seconds_per_step"].as_f64().unwrap(), "{line}");
    }
    let nothing = bench.run(&["gather", "plan"]);
    assert_eq!(nothing.status.code(), Some(1));
    let killed = bench.command(&["job", "plan", "0"]).stdout(Stdio::null()).spawn();
    let mut killed = killed.unwrap();
    std::thread::sleep(Duration::from_millis(30));
    killed.kill().unwrap();
    killed.wait().unwrap();
    for index in (0..count).rev().chain([0, count - 1]) {
        let output = bench.run(&["job", "plan", &index.to_string()]);
        assert!(output.status.success(), "{index}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let status = bench.json(&["status", "plan"]);
    assert_eq!((&status["done"], &status["missing"]), (&planned["jobs"], &Value::Array(vec![])));
    let gathered = bench.json(&["gather", "plan"]);
    assert_eq!(gathered["complete"], true);
    for file in ["validation.json", "primal.svg", "primal.csv", "dual.csv"] {
        assert_eq!(read(&bench.path("whole").join(file)), read(&bench.path("plan").join(file)), "{file}");
    }
    // Two gathers at once write the same files whole.
    let spawn = || bench.command(&["gather", "plan"]).stdout(Stdio::null()).spawn().unwrap();
    let two = [spawn(), spawn()];
    assert!(two.into_iter().all(|mut gather| gather.wait().unwrap().success()));
    assert_eq!(read(&bench.path("whole/validation.json")), read(&bench.path("plan/validation.json")));
}

/// A pilot is planned first, and what it asks for after it is finished.
#[test]
fn a_plan_grows_when_its_pilot_is_finished() {
    let bench = Bench::new();
    let plan = [&VALIDATE[..8], &["--max-runs", "5", "--decide", "0.01", "--plan", "plan"]].concat();
    let pilot = bench.json(&plan);
    assert_eq!(pilot["jobs"], 9);
    assert!(bench.run(&["job", "plan", "0-8"]).status.success());
    let whole = bench.json(&plan);
    assert_eq!((&whole["jobs"], &whole["finished"]), (&15.into(), &9.into()));
    let some = bench.run(&["gather", "plan", "--json"]);
    assert_eq!(some.status.code(), Some(1), "six jobs are missing");
    let some: Value = serde_json::from_slice(&some.stdout).unwrap();
    assert_eq!(
        (&some["answer"]["runs"], some["status"]["missing"].as_array().unwrap().len()),
        (&3.into(), 6)
    );
    assert!(some["answer"]["sentence"].as_str().unwrap().starts_with("of 15 trainings 9 are finished; "));
}

/// A job that fails leaves its sentence, and is run again when what was wrong is mended.
#[test]
fn failures_are_told_and_forgotten() {
    let bench = Bench::new();
    let plan =
        ["sweep", "fc3-8", "fc3-2x4", "--data", "data", "--epochs", "1", "--runs", "1", "--plan", "plan"];
    assert_eq!(bench.json(&plan)["jobs"], 2);
    std::fs::rename(bench.path("data"), bench.path("elsewhere")).unwrap();
    let failed = bench.run(&["job", "plan", "1"]);
    assert_eq!(failed.status.code(), Some(2));
    let status = bench.json(&["status", "plan"]);
    let sentence = status["failed"][0]["sentence"].as_str().unwrap();
    assert!(sentence.contains("data"), "{sentence}");
    assert_eq!((&status["failed"][0]["index"], &status["waiting"]), (&1.into(), &1.into()));
    std::fs::rename(bench.path("elsewhere"), bench.path("data")).unwrap();
    assert!(bench.run(&["job", "plan", "0-1"]).status.success());
    assert_eq!(bench.json(&["status", "plan"])["done"], 2);
    let gathered = bench.json(&["gather", "plan"]);
    assert_eq!(gathered["answer"]["networks"].as_array().unwrap().len(), 2);
}

/// Another worker's job is left to it; the second says who has it.
#[test]
fn a_job_is_done_by_one_worker_at_a_time() {
    let bench = Bench::new();
    let plan = ["sweep", "fc3-64", "--data", "data", "--epochs", "400", "--runs", "1", "--plan", "plan"];
    bench.json(&plan);
    let mut first = bench.command(&["job", "plan", "0"]).stdout(Stdio::null()).spawn().unwrap();
    let start = Instant::now();
    while bench.json(&["status", "plan"])["running"] != 1 {
        assert!(start.elapsed() < Duration::from_secs(60), "the job does not start");
    }
    let second = bench.run(&["job", "plan", "0"]);
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(second.status.code(), Some(2));
    let sentence = String::from_utf8(second.stderr).unwrap();
    assert!(sentence.contains(&first.id().to_string()), "{sentence}");
    let status = bench.json(&["status", "plan"]);
    assert_eq!((&status["stopped"], status["failed"].as_array().unwrap().len()), (&1.into(), 0));
}

#[test]
fn what_cannot_be_planned_is_said_in_one_sentence() {
    let bench = Bench::new();
    let sweep = |model| ["sweep", model, "--data", "data", "--epochs", "1", "--runs", "1", "--plan", "plan"];
    bench.json(&sweep("fc3-8"));
    for (words, expected) in [
        (&sweep("fc3-9")[..], "another request"),
        (&["reproduce", "fig3", "--plan", "other"], "no jobs to plan"),
        (&["job", "plan", "1"], "there is no job 1; the plan has 1"),
        (&["job", "plan", "2-1"], "7, or 0-9"),
        (&["job", "data", "0"], "holds no plan"),
        (&["status", "nowhere"], "holds no plan"),
        (&["gather", "nowhere"], "holds no plan"),
    ] {
        let output = bench.run(words);
        let sentence = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {sentence}");
        assert!(sentence.contains(expected), "{words:?}: {sentence}");
    }
}
