//! The items that train, at the smoke scale on made-up images, and without data.

use collegial_core::Silent;
use collegial_experiments::reproduce::{
    Backends, Context, Engine, Parts, Report, Scale, Share, Summary, item, reproduce, write_report,
};

const ITEMS: [&str; 4] = ["fig4", "fig-cifar100", "fig-cifar10", "fig-dynamics"];

fn run(name: &str, scale: Scale, parts: &Parts) -> Report {
    let (command, share) = ("", Share::All);
    let context = Context {
        scale,
        seed: 1,
        data: None,
        parts,
        command,
        monitor: &Silent,
        share,
        engine: Engine::Native,
        backends: Backends::NATIVE,
    };
    reproduce(item(name).unwrap(), &context).unwrap()
}

#[test]
fn smoke_runs_claim_nothing_and_resume() {
    let root = tempfile::tempdir().unwrap();
    let parts = Parts::open(root.path().join("parts")).unwrap();
    for name in ITEMS {
        let report = run(name, Scale::Smoke, &parts);
        assert_eq!(report.summary, Summary::NotAtThisScale, "{name}: {:?}", report.outcome.comparisons);
        assert!(!report.outcome.figures.is_empty() && report.reduced.is_some(), "{name}");
        let again = run(name, Scale::Smoke, &parts);
        assert_eq!(report.outcome.data, again.outcome.data, "{name}");
        write_report(root.path(), &report).unwrap();
        assert!(root.path().join(format!("{name}.html")).is_file());
    }
}

#[test]
fn without_data_nothing_is_run() {
    let root = tempfile::tempdir().unwrap();
    let parts = Parts::open(root.path()).unwrap();
    for name in ITEMS {
        // The runs of Fig. 4 are kept with the program.
        let scales = if name == "fig4" { vec![Scale::Paper] } else { vec![Scale::Laptop, Scale::Paper] };
        for scale in scales {
            let report = run(name, scale, &parts);
            assert_eq!(report.summary, Summary::NotRun, "{name}");
            assert!(
                report
                    .outcome
                    .comparisons
                    .iter()
                    .all(|row| row.verdict.to_string().contains("no data: give a directory with"))
            );
        }
    }
}

#[test]
fn runs_by_the_papers_recipe_are_kept() {
    let root = tempfile::tempdir().unwrap();
    let report = run("fig4", Scale::Laptop, &Parts::open(root.path()).unwrap());
    let verdict = |what: &str| {
        let found = report.outcome.comparisons.iter().find(|row| row.what.starts_with(what)).unwrap();
        found.verdict.name()
    };
    assert_eq!(verdict("ntk, rate 1e-3: at equal cost"), "reproduced");
    assert_eq!(verdict("standard, rate 1e-3: at equal cost"), "undecided");
    assert_eq!(verdict("standard, rate 1e-3: at equal variance"), "differs");
}
