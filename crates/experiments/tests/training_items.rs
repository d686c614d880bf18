//! The items that train, at the smoke scale on made-up images, and without data.

use collegial_core::Silent;
use collegial_experiments::Context as Sweep;
use collegial_experiments::reproduce::{
    Context, Error, Report, ResultCache, Scale, Summary, item, reproduce, write_report,
};

const ITEMS: [&str; 4] = ["fig4", "fig-cifar100", "fig-cifar10", "fig-dynamics"];

fn run(name: &str, scale: Scale, cache: &ResultCache) -> Report {
    try_run(name, scale, cache).unwrap()
}

fn try_run(name: &str, scale: Scale, cache: &ResultCache) -> Result<Report, Error> {
    let context =
        Context { scale, data: None, records: None, command: "", sweep: Sweep::new(1, cache, &Silent) };
    reproduce(item(name)?, &context)
}

#[test]
fn smoke_runs_claim_nothing_and_resume() {
    let root = tempfile::tempdir().unwrap();
    let cache = ResultCache::open(root.path().join("parts")).unwrap();
    for name in ITEMS {
        let report = run(name, Scale::Smoke, &cache);
        assert_eq!(report.summary, Summary::NotAtThisScale, "{name}: {:?}", report.outcome.comparisons);
        assert!(!report.outcome.figures.is_empty() && report.reduced.is_some(), "{name}");
        let again = run(name, Scale::Smoke, &cache);
        assert_eq!(report.outcome.data, again.outcome.data, "{name}");
        write_report(root.path(), &report).unwrap();
        assert!(root.path().join(format!("{name}.html")).is_file());
    }
}

#[test]
fn without_data_they_say_what_to_give() {
    let root = tempfile::tempdir().unwrap();
    let cache = ResultCache::open(root.path()).unwrap();
    for name in ITEMS {
        for scale in [Scale::Laptop, Scale::Paper] {
            let error = try_run(name, scale, &cache).unwrap_err();
            let said = error.to_string();
            assert!(error.is_missing_input() && said.starts_with(&format!("{name} trains on ")), "{said}");
            assert!(said.contains("as data"), "{said}");
        }
    }
}

#[test]
fn without_records_they_say_what_to_give() {
    let root = tempfile::tempdir().unwrap();
    let cache = ResultCache::open(root.path()).unwrap();
    for name in ["fig4-recorded", "prediction", "evidence"] {
        let error = try_run(name, Scale::Laptop, &cache).unwrap_err();
        let said = error.to_string();
        assert!(error.is_missing_input(), "{said}");
        assert_eq!(
            said,
            format!("{name} judges kept records: give the folder research of the repository as records")
        );
    }
}
