//! Plans and their jobs from the outside: what any scheduler sees.

mod planned;

use std::process::Stdio;
use std::time::Duration;

use planned::{Bench, read};
use serde_json::Value;

const VALIDATE: [&str; 9] =
    ["validate", "fc3-12", "--data", "data", "--designs", "3", "--epochs", "2", "--dual"];

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

/// What a file says, a failure's sentence among them, cannot move the cursor or rename the window.
#[test]
fn control_characters_do_not_reach_stdout() {
    let bench = Bench::new();
    let plan = ["sweep", "fc3-8", "--data", "data", "--epochs", "1", "--runs", "1", "--plan", "p\u{1b}[2J"];
    let planned = bench.run(&plan);
    assert!(planned.status.success(), "{}", String::from_utf8_lossy(&planned.stderr));
    let directory = bench.path("p\u{1b}[2J");
    let part = bench.json(&["status", "p\u{1b}[2J"]);
    assert_eq!(part["waiting"], 1);
    let plan: Value = serde_json::from_slice(&read(&directory.join("plan.json"))).unwrap();
    let part = plan["jobs"][0]["part"].as_str().unwrap();
    std::fs::create_dir(directory.join("failed")).unwrap();
    let sentence = "no\u{1b}]0;title\u{7}\rline\nof \u{9b}2J";
    std::fs::write(directory.join("failed").join(format!("{part}.txt")), sentence).unwrap();
    let trained = ["train", "fc3-8", "--data", "data", "--epochs", "1", "--out", "r\u{1b}[31m"];
    for words in [&trained[..], &["status", "p\u{1b}[2J"], &["gather", "p\u{1b}[2J"]] {
        let output = bench.run(words);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{words:?}");
        for bytes in [planned.stdout.clone(), output.stdout, output.stderr] {
            let text = String::from_utf8(bytes).unwrap();
            let hidden = text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t'));
            assert_eq!(hidden, None, "{words:?}: {text:?}");
        }
    }
    let shown = String::from_utf8(bench.run(&["status", "p\u{1b}[2J"]).stdout).unwrap();
    assert!(shown.contains("failed: no\\u{1b}]0;title\\u{7}\\rline of \\u{9b}2J\n"), "{shown}");
}

/// `gather`'s page tells how far the jobs are, with what failed and why, whatever can be said yet.
#[test]
fn gathered_pages_show_the_status() {
    let bench = Bench::new();
    let plan =
        ["sweep", "fc3-8", "fc3-2x4", "--data", "data", "--epochs", "1", "--runs", "2", "--plan", "plan"];
    assert_eq!(bench.json(&plan)["jobs"], 4);
    let page = |name: &str| String::from_utf8(read(&bench.path("plan").join(name))).unwrap();
    std::fs::rename(bench.path("data"), bench.path("elsewhere")).unwrap();
    assert_eq!(bench.run(&["job", "plan", "3"]).status.code(), Some(2));
    std::fs::rename(bench.path("elsewhere"), bench.path("data")).unwrap();
    assert_eq!(bench.run(&["gather", "plan"]).status.code(), Some(1));
    let jobs = page("jobs.html");
    assert!(jobs.contains("Nothing can be said yet"), "{jobs}");
    assert!(
        jobs.contains("0 of 4 jobs are done, 0 running, 0 stopped on the way, 1 failed, 3 waiting."),
        "{jobs}"
    );
    assert!(jobs.contains("Jobs that failed") && jobs.contains("cannot"), "{jobs}");
    // All networks of the first repetition.
    assert!(bench.run(&["job", "plan", "0-1"]).status.success());
    assert_eq!(bench.run(&["gather", "plan"]).status.code(), Some(1));
    let some = page("sweep.html");
    assert!(some.contains("2 of 4 jobs are done") && some.contains("1 failed"), "{some}");
    assert!(some.contains("Missing: 2-3.") && some.contains("fc3-2x4"), "{some}");
    assert!(bench.run(&["job", "plan", "0-3"]).status.success());
    assert!(bench.run(&["gather", "plan"]).status.success());
    let all = page("sweep.html");
    assert!(!all.contains("jobs are done") && all.contains("fc3-2x4"), "{all}");
}

/// The pages and data of a figure, by jobs in any order.
#[test]
fn a_figure_by_jobs_has_the_bytes_of_one_process() {
    let bench = Bench::new();
    let figure = ["reproduce", "fig4", "--scale", "smoke"];
    let whole = bench.run(&[&figure[..], &["--out", "whole"]].concat());
    assert!(whole.status.success(), "{}", String::from_utf8_lossy(&whole.stderr));
    let planned = bench.json(&[&figure[..], &["--plan", "plan"]].concat());
    let count = planned["jobs"].as_u64().unwrap() as usize;
    assert!(count >= 8, "{planned}");
    for index in (0..count).rev() {
        let output = bench.run(&["job", "plan", &index.to_string()]);
        assert!(output.status.success(), "{index}: {}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(bench.json(&["gather", "plan"])["complete"], true);
    let mut compared = 0;
    for folder in ["", "fig4"] {
        for entry in std::fs::read_dir(bench.path("whole").join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                let other = bench.path("plan").join(folder).join(path.file_name().unwrap());
                assert!(read(&path) == read(&other), "{}", path.display());
                compared += 1;
            }
        }
    }
    assert!(compared > 8, "{compared} files");
}

/// A pilot is planned first, and what it asks for after it is finished.
#[test]
fn a_plan_grows_when_its_pilot_is_finished() {
    let bench = Bench::new();
    let plan = [&VALIDATE[..8], &["--max-runs", "5", "--decide", "0.01", "--plan", "plan"]].concat();
    let pilot = bench.json(&plan);
    assert_eq!(pilot["jobs"], 9);
    assert!(bench.run(&["job", "plan", "0-8"]).status.success());
    assert!(matches!(bench.run(&["gather", "plan"]).status.code(), Some(0 | 1)));
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

/// A part's file with another result, and the checksum of the whole.
fn forged(content: &[u8], change: impl Fn(&mut Value)) -> Vec<u8> {
    use collegial_core::checksum;
    let mut file: Value = serde_json::from_slice(content).unwrap();
    change(&mut file["result"]);
    file["checksum"] = checksum::BLANK.into();
    let mut bytes = serde_json::to_vec(&file).unwrap();
    checksum::seal(&mut bytes, 0..64);
    bytes
}

/// Whatever is wrong with a part, `gather` names it, counts it as missing, and trains nothing.
#[test]
fn parts_that_cannot_be_used_are_named_and_missing() {
    let bench = Bench::new();
    let plan =
        ["sweep", "fc3-8", "fc3-2x4", "--data", "data", "--epochs", "1", "--runs", "2", "--plan", "plan"];
    assert_eq!(bench.json(&plan)["jobs"], 4);
    assert!(bench.run(&["job", "plan", "0-3"]).status.success());
    let complete = bench.json(&["gather", "plan"]);
    assert_eq!(complete["complete"], true);
    let plan: Value = serde_json::from_slice(&read(&bench.path("plan/plan.json"))).unwrap();
    let file = |job: usize| {
        bench.path("plan/parts").join(format!("{}.json", plan["jobs"][job]["part"].as_str().unwrap()))
    };
    let (whole, other) = (read(&file(2)), read(&file(0)));

    for (content, expected) in [
        (other, "of another name or of other settings"),
        (whole[..whole.len() / 2].to_vec(), "the file of the result is broken"),
        (forged(&whole, |result| result["test_errors"][0] = (-0.5).into()), "a test error is -0.5"),
        (forged(&whole, |result| result["test_errors"][0] = Value::Null), "the result is broken"),
        (forged(&whole, |result| result["seed"] = 77.into()), "its seed is 77"),
    ] {
        std::fs::write(file(2), &content).unwrap();
        let output = bench.run(&["gather", "plan", "--json"]);
        assert_eq!(output.status.code(), Some(1), "{expected}");
        let gathered: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(gathered["status"]["missing"], serde_json::json!([2]), "{expected}");
        let failed = &gathered["status"]["failed"][0];
        let said = failed["sentence"].as_str().unwrap();
        assert!(said.contains(expected) && said.contains(".json"), "{said}");
        assert_eq!(failed["index"], 2);
        assert!(read(&file(2)) == content, "gather left the file as it was: {expected}");
        // One repetition is whole, and the answer says so.
        let runs = |network: &Value| network["test_errors"].as_array().unwrap().len();
        let networks = gathered["answer"]["networks"].as_array().unwrap();
        assert!(networks.iter().all(|network| runs(network) == 1), "{expected}: {networks:?}");
    }
    // Its job does it again.
    assert!(bench.run(&["job", "plan", "2"]).status.success());
    assert_eq!(bench.json(&["gather", "plan"]), complete);
}

/// A plan that lists fewer jobs than its request has is not complete without the others.
#[test]
fn a_plan_that_leaves_out_a_training_is_refused() {
    let bench = Bench::new();
    let plan =
        ["sweep", "fc3-8", "fc3-2x4", "--data", "data", "--epochs", "1", "--runs", "2", "--plan", "plan"];
    assert_eq!(bench.json(&plan)["jobs"], 4);
    assert!(bench.run(&["job", "plan", "0-3"]).status.success());
    let path = bench.path("plan/plan.json");
    let mut shorter: Value = serde_json::from_slice(&read(&path)).unwrap();
    let job = shorter["jobs"].as_array_mut().unwrap().pop().unwrap();
    std::fs::remove_file(bench.path("plan/parts").join(format!("{}.json", job["part"].as_str().unwrap())))
        .unwrap();
    shorter["checksum"] = collegial_core::checksum::BLANK.into();
    let mut bytes = serde_json::to_vec(&shorter).unwrap();
    collegial_core::checksum::seal(&mut bytes, 0..64);
    std::fs::write(&path, bytes).unwrap();
    let refused = bench.run(&["gather", "plan"]);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("does not list the training of fc3-2x4 with seed 1"), "{said}");
    assert!(!bench.path("plan/sweep.csv").exists());
    assert_eq!(bench.json(&plan)["jobs"], 4);
    assert!(bench.run(&["job", "plan", "3"]).status.success());
    assert_eq!(bench.json(&["gather", "plan"])["complete"], true);
}

/// Neither in a request nor in a plan: their list alone would take all memory.
#[test]
fn trainings_without_end_are_refused() {
    let bench = Bench::new();
    let data = ["--data", "data", "--epochs", "1"];
    for (words, expected) in [
        (&["train", "fc3-8", "--runs", "4000000000"][..], "it must be at most 20000"),
        (&["sweep", "fc3-8", "fc3-9", "--runs", "10001"], "20002 trainings; take at most 20000"),
        (&["sweep", "fc3-8", "--runs", "4000000000", "--plan", "plan"], "take at most 20000"),
        (&["validate", "fc3-12", "--runs", "4000000000", "--plan", "plan"], "take at most 20000"),
    ] {
        let refused = bench.run(&[words, &data].concat());
        let said = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(expected), "{words:?}: {said}");
    }
}

/// Data that changed after the jobs were done: their results are of other data, and none is used.
#[test]
fn results_of_other_data_are_missing() {
    let bench = Bench::new();
    let plan = ["sweep", "fc3-8", "--data", "data", "--epochs", "1", "--runs", "1", "--plan", "plan"];
    bench.json(&plan);
    assert!(bench.run(&["job", "plan", "0"]).status.success());
    collegial_experiments::synthetic::write_digits(&bench.path("data"), 200, 60, 1).unwrap();
    let output = bench.run(&["gather", "plan"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("of other settings or data than the plan's request has now"), "{said}");
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

/// Links in a plan that came from elsewhere do not decide what is overwritten.
#[test]
#[cfg(unix)]
fn links_in_a_plan_are_replaced_or_refused() {
    use std::os::unix::fs::symlink;
    let bench = Bench::new();
    let plan = ["sweep", "fc3-8", "--data", "data", "--epochs", "1", "--runs", "1", "--plan", "plan"];
    assert!(bench.run(&plan).status.success());
    assert!(bench.run(&["job", "plan", "0"]).status.success());
    let precious = bench.path("precious");
    std::fs::write(&precious, "kept").unwrap();
    for name in ["sweep.html", "sweep.csv", "sweep.json"] {
        symlink(&precious, bench.path("plan").join(name)).unwrap();
    }
    assert!(bench.run(&["gather", "plan"]).status.success());
    assert_eq!(read(&precious), b"kept");
    assert!(read(&bench.path("plan/sweep.csv")).starts_with(b"model"));

    std::fs::remove_dir_all(bench.path("plan/parts")).unwrap();
    std::fs::create_dir(bench.path("elsewhere")).unwrap();
    symlink(bench.path("elsewhere"), bench.path("plan/parts")).unwrap();
    let refused = bench.run(&["job", "plan", "0"]);
    let sentence = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{sentence}");
    assert!(sentence.contains("symbolic link"), "{sentence}");
    assert_eq!(std::fs::read_dir(bench.path("elsewhere")).unwrap().count(), 0);
}

/// Nor do they decide what is shown or removed.
#[test]
#[cfg(unix)]
fn links_in_a_plan_show_and_remove_nothing() {
    use std::os::unix::fs::symlink;
    let bench = Bench::new();
    let plan = ["sweep", "fc3-8", "--data", "data", "--epochs", "1", "--runs", "1", "--plan", "plan"];
    assert!(bench.run(&plan).status.success());
    let plan: Value = serde_json::from_slice(&read(&bench.path("plan/plan.json"))).unwrap();
    let precious = format!("elsewhere/{}.txt", plan["jobs"][0]["part"].as_str().unwrap());
    std::fs::create_dir(bench.path("elsewhere")).unwrap();
    std::fs::write(bench.path(&precious), "a secret").unwrap();
    let check = |verb: &[&str], code: i32| {
        let output = bench.run(verb);
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert_eq!(output.status.code(), Some(code), "{verb:?}: {said}");
        assert!(said.contains("symbolic link") && !said.contains("secret"), "{verb:?}: {said}");
        assert_eq!(read(&bench.path(&precious)), b"a secret", "{verb:?}");
    };
    std::fs::remove_dir(bench.path("plan/parts")).unwrap();
    for folder in ["failed", "parts"] {
        symlink(bench.path("elsewhere"), bench.path("plan").join(folder)).unwrap();
        for verb in [&["status", "plan"][..], &["job", "plan", "0"], &["gather", "plan"]] {
            check(verb, 2);
        }
        std::fs::remove_file(bench.path("plan").join(folder)).unwrap();
    }
    std::fs::create_dir(bench.path("plan/failed")).unwrap();
    symlink(bench.path(&precious), bench.path(&precious.replace("elsewhere", "plan/failed"))).unwrap();
    check(&["status", "plan"], 0);
    check(&["gather", "plan"], 1);
    assert!(bench.run(&["job", "plan", "0"]).status.success());
    assert_eq!(read(&bench.path(&precious)), b"a secret");
}

/// What a job keeps while it trains is a directory of its own, and a link of its name no way out of
/// the plan.
#[test]
#[cfg(unix)]
fn the_run_of_a_job_is_no_link() {
    let bench = Bench::new();
    let plan = ["sweep", "fc3-8", "--data", "data", "--epochs", "1", "--runs", "1", "--plan", "plan"];
    assert!(bench.run(&plan).status.success());
    let text = read(&bench.path("plan/plan.json"));
    let plan: Value = serde_json::from_slice(&text).unwrap();
    let run = format!("plan/parts/{}.run", plan["jobs"][0]["part"].as_str().unwrap());
    std::fs::create_dir(bench.path("elsewhere")).unwrap();
    std::fs::create_dir_all(bench.path("plan/parts")).unwrap();
    std::os::unix::fs::symlink(bench.path("elsewhere"), bench.path(&run)).unwrap();
    let refused = bench.run(&["job", "plan", "0"]);
    let sentence = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{sentence}");
    assert!(sentence.contains("symbolic link") && sentence.lines().count() == 1, "{sentence}");
    assert_eq!(std::fs::read_dir(bench.path("elsewhere")).unwrap().count(), 0);
}

/// A lock that is a link is not truncated.
#[test]
#[cfg(unix)]
fn a_lock_that_is_a_link_is_refused() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("run")).unwrap();
    std::fs::write(bench.path("precious"), "kept").unwrap();
    std::os::unix::fs::symlink(bench.path("precious"), bench.path("run/lock")).unwrap();
    let train = ["train", "fc3-8", "--data", "data", "--epochs", "1", "--out", "run", "--resume"];
    let refused = bench.run(&train);
    assert_eq!(refused.status.code(), Some(2), "{}", String::from_utf8_lossy(&refused.stderr));
    assert_eq!(read(&bench.path("precious")), b"kept");
}
