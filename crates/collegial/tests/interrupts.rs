//! Signals in the middle of long work: heard within a second or so, with what is done kept.
#![cfg(target_os = "linux")]

mod program;

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use collegial_experiments::synthetic;
use program::run;

/// Waits until a process catches SIGINT and has computed for a second since.
fn wait_until_at_work(process: u32) {
    let read = |name: &str| std::fs::read_to_string(format!("/proc/{process}/{name}")).unwrap_or_default();
    let catches = || {
        let status = read("status");
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).map(str::trim);
        // Signal 2 is the second bit.
        mask.and_then(|mask| u64::from_str_radix(mask, 16).ok()).is_some_and(|mask| mask & 2 != 0)
    };
    // The 14th field, the 12th after the name in brackets, is the time in ticks of a hundredth of a
    // second.
    let ticks = || -> u64 {
        let stat = read("stat");
        let mut fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        fields.nth(11).and_then(|ticks| ticks.parse().ok()).unwrap_or(0)
    };
    let start = Instant::now();
    let mut begun = None;
    while begun.is_none_or(|begun| ticks() < begun + 100) {
        assert!(start.elapsed().as_secs() < 120, "it did not begin to compute in two minutes");
        if begun.is_none() && catches() {
            begun = Some(ticks());
        }
        std::thread::yield_now();
    }
}

/// Starts the program, sends it Ctrl-C when it is at work, and gives what it left, and how long it
/// took to hear.
fn interrupted(line: &str) -> (Output, Duration) {
    let child = Command::new(env!("CARGO_BIN_EXE_collegial"))
        .args(line.split(' '))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until_at_work(child.id());
    let start = Instant::now();
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    (output, start.elapsed())
}

/// Ctrl-C in the middle of a long fit: the draws so far are fitted, printed and saved, and the exit
/// code is 130.
#[test]
fn an_interrupt_keeps_what_was_drawn() {
    let directory = tempfile::tempdir().unwrap();
    let saved = directory.path().join("draws.json").display().to_string();
    let line = "fit bottleneck-256 --widths 64,128,256 --trials 100000000 --json";
    let (output, _) = interrupted(&format!("{line} --out {saved}"));
    assert!(String::from_utf8_lossy(&output.stdout).contains("\"complete\": false"));
    assert!(run(&format!("merge {saved}")).contains("alpha ="));
}

/// Ctrl-C in the middle of one kernel, which would take hours: the program ends by itself.
#[test]
fn an_interrupt_is_heard_inside_a_kernel() {
    let (output, _) = interrupted("ntk resnext29-1x64d --count 64 --trace --classes 1000");
    assert!(output.stdout.is_empty());
}

/// How long draws take is said when the first ones are done; it once was not said at all.
#[test]
fn the_time_of_many_draws_is_said_first() {
    let (output, _) = interrupted("ntk fc4-100 --draws 3000000");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.starts_with("to come: ") && said.contains(" more draws, about "), "{said}");
}

/// Memory counts against the limits of the process, not what the machine has: it once was an abort.
#[test]
fn limits_of_the_process_are_kept() {
    for limit in ["-v", "-d"] {
        let line = format!("ulimit {limit} 1500000; exec \"$0\" ntk fc3-20000 --count 2 --threads 1");
        let program = env!("CARGO_BIN_EXE_collegial");
        let output = Command::new("bash").args(["-c", &line, program]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{limit}: {said}");
        assert!(said.contains("of memory, but"), "{limit}: {said}");
    }
}

/// A training holds the optimiser's state and the bytes of a checkpoint beside the network: it once
/// passed the check of the network alone, and was aborted at its first checkpoint.
#[test]
fn the_limits_of_a_process_count_for_all_of_a_training() {
    let place = tempfile::tempdir().unwrap();
    synthetic::write_digits(&place.path().join("data"), 20, 10, 1).unwrap();
    let train = "train fc3-3000 --data data --epochs 1 --set batch=10 --threads 1 --quiet --out run";
    let under = |limit: &str| {
        let line = format!("ulimit {limit}; exec \"$0\" {train}");
        let mut shell = Command::new("bash");
        shell.args(["-c", &line, env!("CARGO_BIN_EXE_collegial")]).current_dir(place.path()).output().unwrap()
    };
    for limit in ["-v 150000", "-v 250000", "-v 400000", "-d 400000"] {
        let output = under(limit);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{limit}: {said}");
        assert!(said.contains("training needs ") && said.contains("a checkpoint, but "), "{limit}: {said}");
    }
    let output = under("-v 1200000");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Draws of a second or two, 500 of which make a round: it once was only heard between rounds. The
/// time allowed is that of a few draws on a machine with much else to do.
#[test]
fn an_interrupt_is_heard_between_draws_of_an_absurd_width() {
    let module = "fit bottleneck-16000000 --inputs 60000 --outputs 60000 --widths 10,16000000";
    for how in ["--trials 1000", "--precision 0.0001"] {
        let (_, waited) = interrupted(&format!("{module} {how}"));
        assert!(waited < Duration::from_secs(30), "{how}: {waited:?}");
    }
}

/// What would last for hours, or does not fit, is refused before it begins.
#[test]
fn absurd_sizes_are_refused_beforehand() {
    let module = "fit bottleneck-16000000 --inputs 60000 --outputs 60000 --widths 10,16000000";
    for (line, reason) in [
        (format!("{module} --pooled"), "multiplications, more than the sampler takes"),
        (format!("{module} --image 60000 --pooled"), "more than the sampler takes (1100)"),
        ("search fc3-16000000".into(), "16000000 widths to look at, more than a search takes"),
        ("ntk fc3-20 --count 1000000000".into(), "a kernel between 1000000000 inputs needs"),
        ("ntk fc3-20 --draws 1000000000000".into(), "draws of a kernel between 2 inputs need"),
        ("ntk fc3-16000000".into(), "of memory, but"),
        ("export fc3-16000000 --to onnx --out never.onnx".into(), "of memory, but"),
    ] {
        let text = run(&line);
        assert!(text.contains("exit 2") && text.contains(reason), "{text}");
    }
}
