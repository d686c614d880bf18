//! Every item at smoke scale: verdicts as snapshots, pages, and runs that go on where they were.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use collegial_core::{Monitor, Silent};
use collegial_experiments::Context as Sweep;
use collegial_experiments::reproduce::{
    Context, Error, Report, ResultCache, Scale, item, reproduce, write_index, write_report,
};

/// Runs an item into a directory.
fn run(name: &str, directory: &Path, monitor: &dyn Monitor) -> Result<Report, Error> {
    let cache = ResultCache::open(directory.join("parts"))?;
    let command = "collegial reproduce NAME --scale smoke";
    let context = Context {
        scale: Scale::Smoke,
        data: None,
        records: Some(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../research")),
        command,
        sweep: Sweep::new(0, &cache, monitor),
    };
    let report = reproduce(item(name)?, &context)?;
    write_report(directory, &report)?;
    Ok(report)
}

/// Sentence, verdict and comparisons as one text.
fn verdicts(name: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let report = run(name, directory.path(), &Silent).unwrap();
    let read =
        |ending: &str| std::fs::read_to_string(directory.path().join(format!("{name}.{ending}"))).unwrap();
    assert!(read("html").contains(&report.title), "{name}.html");
    assert!(read("md").contains(&report.title) && read("md").contains(&report.command), "{name}.md");
    assert!(!report.fails(), "{name}: {:?}", report.differs().collect::<Vec<_>>());
    let (verdict, sentence) = (report.summary.words(), &report.outcome.sentence);
    format!("{}\n{verdict}: {sentence}\n\n{}", report.title, report.table().to_text())
}

macro_rules! snapshots {
    ($($test:ident: $name:expr;)+) => {
        $(#[test]
        fn $test() {
            insta::assert_snapshot!(verdicts($name));
        })+
    };
}

snapshots! {
    fig2: "fig2";
    fig3: "fig3";
    fig_alpha: "fig-alpha";
    group_widths: "group-widths";
    prediction: "prediction";
    table1: "table1";
    table2: "table2";
    table3: "table3";
    table4: "table4";
    table5: "table5";
    evidence: "evidence";
    fig4_recorded: "fig4-recorded";
}

#[test]
fn what_the_paper_prints_looks_different_from_what_was_counted() {
    let directory = tempfile::tempdir().unwrap();
    run("table5", directory.path(), &Silent).unwrap();
    let read =
        |ending: &str| std::fs::read_to_string(directory.path().join(format!("table5.{ending}"))).unwrap();
    let (markdown, html) = (read("md"), read("html"));
    assert!(markdown.contains("| 13,775,178 | *13.8* | 4.186 | *4.19* | *4.08* |"), "{markdown}");
    assert!(html.contains("<i>4.08</i>") && html.contains("copied from the paper"), "{html}");
}

/// Stops after so many questions, and remembers what was said.
struct Impatient {
    left: AtomicUsize,
    said: Mutex<Vec<String>>,
}

impl Impatient {
    fn after(questions: usize) -> Self {
        Self { left: AtomicUsize::new(questions), said: Mutex::default() }
    }
}

impl Monitor for Impatient {
    fn progress(&self, _share: f64, _state: Option<&str>) {}
    fn say(&self, sentence: &str) {
        self.said.lock().unwrap().push(sentence.to_owned());
    }
    fn stopped(&self) -> bool {
        let left = |left: usize| left.checked_sub(1);
        self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, left).is_err()
    }
}

/// Names and times of the parts' files.
fn parts(directory: &Path) -> Vec<(String, SystemTime)> {
    let entries = std::fs::read_dir(directory.join("parts")).unwrap().map(Result::unwrap);
    let mut parts: Vec<_> = entries
        .map(|entry| {
            (entry.file_name().into_string().unwrap(), entry.metadata().unwrap().modified().unwrap())
        })
        .collect();
    parts.sort();
    parts
}

fn without_time(report: &Report) -> serde_json::Value {
    let mut json = report.to_json();
    json["seconds"] = 0.into();
    json
}

#[test]
fn a_second_run_computes_nothing_and_says_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let first = run("fig2", directory.path(), &Silent).unwrap();
    let before = parts(directory.path());
    assert_eq!(before.len(), 3);
    let second = run("fig2", directory.path(), &Silent).unwrap();
    assert_eq!(parts(directory.path()), before);
    assert_eq!(without_time(&first), without_time(&second));
}

#[test]
fn a_stopped_run_keeps_its_parts_and_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    // A part asks before and after it computes: the first is finished, the second is dropped.
    let stopped = run("fig2", directory.path(), &Impatient::after(3)).unwrap_err();
    assert!(stopped.is_interruption());
    let kept = parts(directory.path());
    assert_eq!(kept.len(), 1);
    assert!(!directory.path().join("fig2.html").exists());
    let resumed = run("fig2", directory.path(), &Silent).unwrap();
    assert!(parts(directory.path()).contains(&kept[0]), "the finished part was not computed again");
    let fresh = tempfile::tempdir().unwrap();
    assert_eq!(without_time(&run("fig2", fresh.path(), &Silent).unwrap()), without_time(&resumed));
}

#[test]
fn a_broken_part_is_said_and_computed_again() {
    let directory = tempfile::tempdir().unwrap();
    let first = run("fig2", directory.path(), &Silent).unwrap();
    let (name, _) = &parts(directory.path())[0];
    std::fs::write(directory.path().join("parts").join(name), "{\"part\": ").unwrap();
    let listener = Impatient::after(usize::MAX);
    let second = run("fig2", directory.path(), &listener).unwrap();
    assert_eq!(without_time(&first), without_time(&second));
    let said = listener.said.into_inner().unwrap();
    assert!(said.len() == 1 && said[0].contains(name) && said[0].contains("computing it again"), "{said:?}");
}

#[test]
fn the_index_links_every_page() {
    let directory = tempfile::tempdir().unwrap();
    let reports = ["fig3", "table5"].map(|name| run(name, directory.path(), &Silent).unwrap());
    write_index(directory.path(), &reports, &[], Scale::Smoke, "collegial reproduce fig3 table5").unwrap();
    let html = std::fs::read_to_string(directory.path().join("index.html")).unwrap();
    let markdown = std::fs::read_to_string(directory.path().join("index.md")).unwrap();
    for name in ["fig3", "table5"] {
        assert!(
            html.contains(&format!("href=\"{name}.html\"")) && markdown.contains(&format!("({name}.md)"))
        );
    }
    // Whatever Markdown links to is there.
    let page = std::fs::read_to_string(directory.path().join("fig3.md")).unwrap();
    for target in page.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
        assert!(directory.path().join(target).is_file(), "{target}");
    }
}

#[test]
fn an_unknown_item_is_refused_with_what_there_is() {
    let said = item("fig9").err().unwrap().to_string();
    assert!(said.contains("fig9") && said.contains("table5"), "{said}");
}
