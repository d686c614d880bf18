//! The items that train, at the smoke scale on made-up images, and without data.

use collegial_reproduce::{Context, Parts, Report, Scale, Summary, item, reproduce, write_report};
use collegial_stats::Silent;

const ITEMS: [&str; 4] = ["fig4", "fig-cifar100", "fig-cifar10", "fig-dynamics"];

fn run(name: &str, scale: Scale, parts: &Parts) -> Report {
    let context = Context { scale, seed: 1, data: None, parts, monitor: &Silent };
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
        for scale in [Scale::Laptop, Scale::Paper] {
            let report = run(name, scale, &parts);
            assert_eq!(report.summary, Summary::NotRun, "{name}");
            assert!(report.outcome.comparisons.iter().all(|row| row.verdict.to_string().contains("--data")));
        }
    }
}
