//! The table of `docs/cluster.md`, line by line: what happens when something goes wrong.

mod planned;

use std::process::Stdio;
use std::time::{Duration, Instant};

use collegial_experiments::jobs::Plan;
use planned::{Bench, read};
use serde_json::Value;

/// One network that trains for long enough to be killed.
const LONG: [&str; 10] =
    ["sweep", "fc3-64", "--data", "data", "--epochs", "60", "--runs", "1", "--set", "batch=20"];

fn long(end: [&'static str; 2]) -> Vec<&'static str> {
    [&LONG[..], &end].concat()
}

/// A worker that is killed, or whose node is lost, leaves a checkpoint; nobody holds its lock, and
/// the job goes on from there to the bytes of one process.
#[test]
fn a_killed_worker_s_job_goes_on_from_its_checkpoint() {
    let bench = Bench::new();
    let whole = bench.json(&long(["--out", "whole"]));
    bench.json(&long(["--plan", "plan"]));
    let mut worker = bench.command(&["job", "plan", "0"]).stdout(Stdio::null()).spawn().unwrap();
    let begun = || {
        let checkpoints = |run: std::fs::DirEntry| std::fs::read_dir(run.path()).into_iter().flatten();
        let runs = std::fs::read_dir(bench.path("plan/parts")).into_iter().flatten().map(Result::unwrap);
        let mut names = runs.flat_map(checkpoints).map(|entry| entry.unwrap().file_name());
        names.any(|name| name.to_string_lossy().starts_with("checkpoint-"))
    };
    let start = Instant::now();
    while !begun() {
        assert!(start.elapsed() < Duration::from_secs(60), "the job does not begin");
    }
    worker.kill().unwrap();
    worker.wait().unwrap();
    assert_eq!(bench.json(&["status", "plan"])["stopped"], 1);
    assert!(bench.run(&["job", "plan", "0"]).status.success());
    assert_eq!(bench.json(&["gather", "plan"])["answer"], whole);
}

/// One host has no room; its job is told as failed, and another host finishes it.
#[test]
#[cfg(unix)]
fn a_disk_that_is_full_on_one_host_costs_its_job_only() {
    let bench = Bench::new();
    let sweep = |end: [&'static str; 2]| {
        let words = ["sweep", "fc3-8", "fc3-64", "--data", "data", "--epochs", "1", "--runs", "1"];
        [&words[..], &end].concat()
    };
    let whole = bench.json(&sweep(["--out", "whole"]));
    bench.json(&sweep(["--plan", "plan"]));
    // Files may not grow beyond a few blocks: enough for a sentence, too little for a checkpoint.
    let full = std::process::Command::new("sh")
        .current_dir(bench.path(""))
        .args(["-c", "ulimit -f 8; exec \"$0\" job plan 1 --quiet --threads 1"])
        .arg(env!("CARGO_BIN_EXE_collegial"))
        .output()
        .unwrap();
    let sentence = String::from_utf8(full.stderr).unwrap();
    assert_eq!(full.status.code(), Some(2), "{sentence}");
    assert!(sentence.contains("cannot write") && sentence.lines().count() == 1, "{sentence}");
    let status = bench.json(&["status", "plan"]);
    assert!(status["failed"][0]["sentence"].as_str().unwrap().contains("cannot write"), "{status}");
    assert!(bench.run(&["job", "plan", "0-1"]).status.success());
    assert_eq!(bench.json(&["gather", "plan"])["answer"], whole);
}

/// Files are whole or not there, so that both write the same.
#[test]
fn two_gathers_at_once_write_the_same_files() {
    let bench = Bench::new();
    let plan =
        ["sweep", "fc3-8", "fc3-2x4", "--data", "data", "--epochs", "1", "--runs", "2", "--plan", "plan"];
    bench.json(&plan);
    assert!(bench.run(&["job", "plan", "0-3"]).status.success());
    let left = || ["sweep.json", "sweep.csv", "sweep.html"].map(|name| read(&bench.path("plan").join(name)));
    assert!(bench.run(&["gather", "plan"]).status.success());
    let expected = left();
    for _ in 0..5 {
        let spawn = || bench.command(&["gather", "plan"]).stdout(Stdio::null()).spawn().unwrap();
        let gathers = [spawn(), spawn(), spawn()];
        assert!(gathers.into_iter().all(|mut gather| gather.wait().unwrap().success()));
        assert!(left() == expected);
    }
}

/// The data, or what the program makes of the request, are not what they were.
#[test]
fn a_job_of_changed_data_or_of_a_changed_program_asks_to_plan_again() {
    let bench = Bench::new();
    let sweep = ["sweep", "fc3-8", "--data", "data", "--epochs", "1", "--runs", "1", "--plan", "plan"];
    bench.json(&sweep);
    let refused = || {
        let output = bench.run(&["job", "plan", "0"]);
        let sentence = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{sentence}");
        assert!(sentence.contains("the data or the program has changed; plan again"), "{sentence}");
    };
    let images = bench.path("data/train-images-idx3-ubyte");
    let before = read(&images);
    let mut after = before.clone();
    after[100] ^= 1;
    std::fs::write(&images, &after).unwrap();
    refused();
    std::fs::write(&images, &before).unwrap();
    assert!(bench.run(&["job", "plan", "0"]).status.success());
    // Another program gives a training's settings another name.
    let mut plan = Plan::<Value>::read(&bench.path("plan")).unwrap();
    plan.jobs[0].part.push('0');
    plan.write(&bench.path("plan")).unwrap();
    refused();
    assert_eq!(bench.json(&sweep)["finished"], 1, "planned again, what is finished counts");
}

/// Fused multiply-adds round once instead of twice: a cluster of different CPUs would mix bits.
#[test]
fn a_job_with_other_instructions_than_its_plan_is_refused() {
    let bench = Bench::new();
    let sweep = ["sweep", "fc3-8", "--data", "data", "--epochs", "2", "--runs", "2"];
    let with = |instructions: &str, words: &[&str]| {
        bench.command(words).env("COLLEGIAL_INSTRUCTIONS", instructions).output().unwrap()
    };
    let planned = with("portable", &[&sweep[..], &["--plan", "plan", "--json"]].concat());
    let planned: Value = serde_json::from_slice(&planned.stdout).unwrap();
    assert_eq!(planned["instructions"], "portable");
    let script = String::from_utf8(read(&bench.path("plan/array.sbatch"))).unwrap();
    assert!(script.contains("\nexport COLLEGIAL_INSTRUCTIONS=portable\n"), "{script}");
    let other = with("avx512", &["job", "plan", "0"]);
    // A CPU that has no others computes what was planned.
    if other.status.code() != Some(0) {
        let sentence = String::from_utf8(other.stderr).unwrap();
        assert_eq!(other.status.code(), Some(2), "{sentence}");
        assert!(sentence.contains("set COLLEGIAL_INSTRUCTIONS=portable"), "{sentence}");
        assert_eq!(sentence.lines().count(), 1, "{sentence}");
        let status = bench.json(&["status", "plan"]);
        assert!(status["failed"][0]["sentence"].as_str().unwrap().contains("portable"), "{status}");
    }
    // Planned again on another machine, it stays what its finished jobs were computed with.
    with("avx512", &[&sweep[..], &["--plan", "plan"]].concat());
    assert!(with("portable", &["job", "plan", "0-1"]).status.success());
    let whole = with("portable", &[&sweep[..], &["--out", "whole", "--json"]].concat()).stdout;
    let gathered = bench.json(&["gather", "plan"]);
    assert_eq!(gathered["answer"], serde_json::from_slice::<Value>(&whole).unwrap());
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
